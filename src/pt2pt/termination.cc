// When is a job of several processes deadlocked? Termination detection by counting, in two waves.
//
// A process is passive when all its proclets are parked for something that only MPI can bring, no
// timer runs, nothing is deferred or being pulled. Its fingerprint is <frames sent, frames
// received, switches made>: all three only grow, and any activity grows one of them (frames of the
// detection itself are left out).
//
// Process 0, once it has been passive for kPatience, asks everybody; a process answers when it is
// passive, with its fingerprint and whether that is the one of its answer to the wave before. When
// a wave has been answered, process 0, passive again, starts the second. If in the second all
// fingerprints are the same and the sums of frames sent and received are equal, then at the moment
// between the waves everybody was passive and nothing was on its way: a state that nothing can
// leave. So it is never reported falsely; and a wave over an active process just waits for it.
// Source: Mattern, "Algorithms for distributed termination detection", 1987 (the four-counter
// method).
//
// Thread rule: host stack; handlers run inside poll.

#include <ctime>

#include "base/clock.h"
#include "pt2pt/deadlock.h"
#include "pt2pt/engine.h"

namespace fgmpi::pt2pt {

namespace {

constexpr int64_t kPatience = 500'000'000;  ///< ns; jobs end long before they are asked
constexpr size_t kChunk = 1000;

enum Word : uint64_t { kAsk = 1, kAnswer, kCollect, kPart, kLastPart, kEnd };

struct Fingerprint {
  uint64_t sent = 0, received = 0, switches = 0;
  bool operator==(const Fingerprint&) const = default;
};

struct Answer {
  uint32_t wave;
  uint32_t same;
  uint64_t sent, received;
};

struct Detection {
  uint64_t notices_sent = 0, notices_received = 0;
  // Every process: the wave that waits for an answer, and the last answer.
  uint32_t asked = 0, answered = 0;
  Fingerprint last;
  bool news =
      false;  ///< a notice came, perhaps while this process slept: all_parked() is to look at it
  bool over = false;  ///< reported: the job ends
  // Process 0.
  uint32_t wave = 0;     ///< 0: none yet
  uint32_t missing = 0;  ///< answers to this wave
  bool all_same = false;
  uint64_t sent = 0, received = 0;
  bool judged = true;       ///< this wave's answers have been looked at
  bool second_due = false;  ///< the last wave is complete and worth another
  bool due_told = false;    ///< that patience has ended
  int64_t parked_since = -1;
  Fingerprint parked_as;
  bool collecting = false, reported = false;
  Report report;
  std::vector<std::string> texts;
};
Detection g;

Fingerprint fingerprint() {
  return {g_engine.frames_sent - g.notices_sent, g_engine.frames_received - g.notices_received,
          sched::switch_count()};
}

void tell(uint32_t process, Word word, const void* data, size_t bytes) {
  ++g.notices_sent;
  notify(process, kNoticeDeadlock, word, data, bytes);
}

void tell_others(Word word, const void* data, size_t bytes) {
  for (uint32_t p = 1; p < g_engine.processes; ++p) tell(p, word, data, bytes);
}

/// An answer came in (process 0).
void take(const Answer& a) {
  if (a.wave != g.wave || g.missing == 0) return;
  g.all_same = g.all_same && a.same;
  g.sent += a.sent;
  g.received += a.received;
  --g.missing;
}

/// REQUIRES: passive.
void answer(uint32_t wave) {
  Fingerprint f = fingerprint();
  Answer a{wave, wave == g.answered + 1 && g.answered > 0 && f == g.last, f.sent, f.received};
  g.answered = wave;
  g.last = f;
  g.asked = 0;
  if (g_engine.me == 0)
    take(a);
  else
    tell(0, kAnswer, &a, sizeof a);
}

void start_wave() {
  ++g.wave;
  g.missing = g_engine.processes;
  g.all_same = true;
  g.sent = g.received = 0;
  g.second_due = g.judged = false;
  tell_others(kAsk, &g.wave, sizeof g.wave);
  answer(g.wave);
}

void send_report() {
  std::string text = local_report().to_text();
  size_t at = 0;
  for (; text.size() - at > kChunk; at += kChunk) tell(0, kPart, text.data() + at, kChunk);
  tell(0, kLastPart, text.data() + at, text.size() - at);
}

void finish_report() {
  g.report = local_report();
  for (uint32_t p = 1; p < g_engine.processes; ++p) g.report.add_text(g.texts[p]);
  g.report.print();
  g.reported = true;
  g.collecting = false;
  if (deadlock_action() != DeadlockAction::kAbort) return;
  g.over = true;
  tell_others(kEnd, nullptr, 0);
}

void collect() {
  g.collecting = true;
  g.missing = g_engine.processes - 1;
  g.texts.assign(g_engine.processes, "");
  tell_others(kCollect, nullptr, 0);
}

void on_notice(uint32_t from, uint64_t word, const void* data, size_t bytes) {
  ++g.notices_received;
  g.news = g_engine.detecting = true;
  switch (word) {
    case kAsk:
      if (bytes == sizeof g.asked) memcpy(&g.asked, data, bytes);
      return;
    case kAnswer: {
      Answer a;
      if (bytes != sizeof a) return;
      memcpy(&a, data, bytes);
      return take(a);
    }
    case kCollect:
      return send_report();
    case kPart:
    case kLastPart:
      if (!g.collecting || from >= g.texts.size()) return;
      g.texts[from].append(static_cast<const char*>(data), bytes);
      if (word == kLastPart && --g.missing == 0) finish_report();
      return;
    case kEnd:
      g.over = true;
      return;
    default:
      return;
  }
}

/// Process 0 is passive: what next.
void coordinate() {
  if (g.reported || g.collecting) return;
  g_engine.detecting = true;
  if (g.wave > 0 && g.missing > 0) return;  // the others are being asked
  if (g.second_due) return start_wave();
  g.due_told = false;
  Fingerprint f = fingerprint();
  if (g.parked_since < 0 || !(f == g.parked_as)) {
    g.parked_since = now_ns();
    g.parked_as = f;
    return;
  }
  if (now_ns() - g.parked_since < kPatience) return;
  start_wave();
}

/// A wave is complete: a deadlock, worth a second wave, or to be tried later.
void judge() {
  if (g.judged || g.missing > 0) return;
  g.judged = true;
  if (g.all_same && g.sent == g.received) return collect();
  g.second_due = !g.all_same && g.sent == g.received && fingerprint() == g.last;
  if (!g.second_due) g.parked_since = -1;  // patience starts anew
}

}  // namespace

void start_detection() {
  (void)deadlock_action();  // nonsense in FGMPI_DEADLOCK is refused now, not when all first wait
  g = Detection();
  g_engine.detecting = false;
  set_notice_handler(kNoticeDeadlock, on_notice);
}

bool detection_due() {  // called by every poll while g_engine.detecting
  if (g.news) {
    g.news = false;
    if (g_engine.me != 0 || g.reported) g_engine.detecting = false;
    return true;
  }
  if (!(fingerprint() ==
        g.parked_as)) {  // active again: no more looks at the clock until it is parked again
    g_engine.detecting = false;
    return true;
  }
  if (g.due_told || g.missing > 0 || now_ns() - g.parked_since < kPatience) return false;
  return g.due_told = true;
}

bool all_parked() {
  if (g.over) return true;
  if (deadlock_action() == DeadlockAction::kOff || !quiet() || !all_wait_for_mpi()) return false;
  if (g_engine.processes == 1) {
    local_report().print();
    return deadlock_action() == DeadlockAction::kAbort;
  }
  if (g.asked) answer(g.asked);
  if (g_engine.me == 0) {
    judge();
    coordinate();
  }
  return g.over;
}

int64_t sleep_limit() { return g_engine.detecting ? kPatience / 4 : -1; }

}  // namespace fgmpi::pt2pt
