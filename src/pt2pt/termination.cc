// The algorithm of termination.h, and what connects it with this process.
#include "pt2pt/termination.h"

#include <cstring>

#include "base/clock.h"
#include "base/strings.h"
#include "pt2pt/buffer_limit.h"
#include "pt2pt/deadlock.h"
#include "pt2pt/decider.h"
#include "pt2pt/engine.h"

namespace fgmpi::pt2pt {
namespace {

constexpr size_t kChunk = 1000;  ///< bytes of a report in one notice

enum Word : uint64_t { kAsk = 1, kAnswer, kCollect, kPart, kLastPart, kEnd, kGiveWay };

}  // namespace

Detection::Fingerprint Detection::fingerprint() const {
  const DetectionSite::Counts c = site_->counts();
  return {c.frames_sent - notices_sent_, c.frames_received - notices_received_, c.switches};
}

void Detection::tell(uint32_t process, uint64_t word, const void* data, size_t bytes) {
  ++notices_sent_;
  site_->send(process, word, data, bytes);
}

void Detection::tell_others(uint64_t word, const void* data, size_t bytes) {
  for (uint32_t p = 1; p < processes_; ++p) tell(p, word, data, bytes);
}

/// An answer came in (process 0).
void Detection::take(const Answer& a) {
  if (a.wave != wave_ || missing_ == 0) return;
  all_same_ = all_same_ && a.same;
  others_ = others_ || a.others;
  sent_ += a.sent;
  received_ += a.received;
  --missing_;
}

/// REQUIRES: passive, nothing deferred.
Detection::Answer Detection::answer_to(uint32_t wave) {
  const Fingerprint f = fingerprint();
  const bool same = wave == answered_ + 1 && answered_ > 0 && f == last_;
  answered_ = wave;
  last_ = f;
  asked_ = 0;
  return {wave, same, site_->others(), f.sent, f.received};
}

void Detection::start_wave() {
  ++wave_;
  missing_ = processes_;
  all_same_ = true;
  others_ = false;
  sent_ = received_ = 0;
  second_due_ = judged_ = false;
  // Before the others are asked: some of these frames may be deferred.
  take(answer_to(wave_));
  tell_others(kAsk, &wave_, sizeof wave_);
}

void Detection::send_report() {
  const std::string text = site_->local_report();
  size_t at = 0;
  for (; text.size() - at > kChunk; at += kChunk) tell(0, kPart, text.data() + at, kChunk);
  tell(0, kLastPart, text.data() + at, text.size() - at);
}

void Detection::finish_report() {
  parts_[0] = site_->local_report();
  const Verdict verdict = site_->judge(parts_, others_);
  collecting_ = false;
  reported_ = verdict == Verdict::kJobEnds || verdict == Verdict::kReported;
  parked_since_ = -1;
  if (verdict == Verdict::kGivesWay) {
    tell_others(kGiveWay, nullptr, 0);
    site_->give_way();
  }
  if (verdict != Verdict::kJobEnds) return;
  over_ = true;
  tell_others(kEnd, nullptr, 0);
}

void Detection::collect() {
  collecting_ = true;
  missing_ = processes_ - 1;
  parts_.assign(processes_, "");
  complete_.assign(processes_, false);
  tell_others(kCollect, nullptr, 0);
}

/// A piece of a process's report came in (process 0).
void Detection::take_part(uint32_t from, bool last, const void* data, size_t bytes) {
  if (!collecting_ || from == 0 || from >= processes_ || complete_[from] ||
      parts_[from].size() + bytes > kMostPart)
    return site_->refused();
  parts_[from].append(static_cast<const char*>(data), bytes);
  complete_[from] = last;
  if (last && --missing_ == 0) finish_report();
}

void Detection::on_notice(uint32_t from, uint64_t word, const void* data, size_t bytes) {
  ++notices_received_;
  news_ = *watched_ = true;
  switch (word) {
    case kAsk:
      if (bytes != sizeof asked_ || me_ == 0) return site_->refused();
      memcpy(&asked_, data, bytes);
      return;
    case kAnswer: {
      Answer a;
      if (bytes != sizeof a || me_ != 0) return site_->refused();
      memcpy(&a, data, bytes);
      return take(a);
    }
    case kCollect:
      return send_report();
    case kPart:
    case kLastPart:
      return take_part(from, word == kLastPart, data, bytes);
    case kEnd:
      over_ = true;
      return;
    case kGiveWay:
      return me_ == 0 || from != 0 ? site_->refused() : site_->give_way();
    default:
      return site_->refused();
  }
}

/// Process 0 is passive: what next.
void Detection::coordinate() {
  if (reported_ || collecting_) return;
  *watched_ = true;
  if (wave_ > 0 && missing_ > 0) return;  // the others are being asked
  if (second_due_) return start_wave();
  due_told_ = false;
  const Fingerprint f = fingerprint();
  if (parked_since_ < 0 || !(f == parked_as_)) {
    parked_since_ = site_->now_ns();
    parked_as_ = f;
    return;
  }
  if (site_->now_ns() - parked_since_ < kPatience) return;
  start_wave();
}

/// A wave is complete: a deadlock, worth a second wave, or to be tried later.
void Detection::judge() {
  if (judged_ || missing_ > 0) return;
  judged_ = true;
  if (all_same_ && sent_ == received_) return collect();
  second_due_ = !all_same_ && sent_ == received_ && fingerprint() == last_;
  if (!second_due_) parked_since_ = -1;  // patience starts anew
}

bool Detection::on_passive() {
  if (over_) return true;
  if (asked_ && me_ != 0) {
    const Answer a = answer_to(asked_);
    tell(0, kAnswer, &a, sizeof a);
  }
  if (me_ == 0) {
    judge();
    coordinate();
  }
  return over_;
}

bool Detection::due() {
  if (news_) {
    news_ = false;
    if (me_ != 0 || reported_) *watched_ = false;
    return true;
  }
  if (!(fingerprint() == parked_as_)) {
    *watched_ = false;  // active again: no more looks at the clock until it is parked again
    return true;
  }
  if (due_told_ || missing_ > 0 || site_->now_ns() - parked_since_ < kPatience) return false;
  return due_told_ = true;
}

namespace {

Verdict judge(const Report& report, bool others) {
  if (report.past_limit > 0) {
    say_once_that_limit_gives_way();
    return Verdict::kGivesWay;
  }
  if (others || deadlock_action() == DeadlockAction::kOff) return Verdict::kLookAgain;
  print(report);
  return deadlock_action() == DeadlockAction::kAbort ? Verdict::kJobEnds : Verdict::kReported;
}

class ThisProcess final : public DetectionSite {
 public:
  Counts counts() const override {
    return {g_engine.frames_sent, g_engine.frames_received,
            sched::switch_count() + g_engine.connection_changes};
  }
  bool others() const override { return g_engine.connected_to_others; }
  int64_t now_ns() const override { return fgmpi::now_ns(); }
  void send(uint32_t process, uint64_t word, const void* data, size_t bytes) override {
    notify(process, kNoticeDeadlock, word, data, bytes);
  }
  void refused() override { refuse_notice(); }
  std::string local_report() const override {
    const std::vector<uint8_t> bytes = pt2pt::local_report().to_bytes();
    return {bytes.begin(), bytes.end()};
  }
  Verdict judge(const std::vector<std::string>& parts, bool others) override {
    Report all;
    for (size_t p = 0; p < parts.size(); ++p)
      if (!all.add_bytes(parts[p].data(), parts[p].size()))
        all.lines.emplace_back("", format("process %zu: its part cannot be read", p));
    return pt2pt::judge(all, others);
  }
  void give_way() override { take_in_past_limit(); }
};

ThisProcess g_site;
Detection g_detection(&g_site, 0, 1, &g_engine.detecting);

}  // namespace

void start_detection() {
  (void)deadlock_action();  // nonsense in FGMPI_DEADLOCK is refused now, not when all first wait
  g_engine.detecting = false;
  g_detection = Detection(&g_site, g_engine.me, g_av.processes(), &g_engine.detecting);
  set_notice_handler(kNoticeDeadlock,
                     [](uint32_t from, uint64_t word, const void* data, size_t bytes) {
                       g_detection.on_notice(from, word, data, bytes);
                     });
}

bool detection_due() { return g_detection.due(); }  // called by every poll while g_engine.detecting

bool g_ask_again = false;

namespace {
/// Does a rank wait for what comes from outside of MPI (a file, a thread of the program)? A decision that did not wait for it
/// would find other choices the next time. But not for ever: what comes may depend on the decision.
bool outside_is_awaited() {
  constexpr int64_t kPatienceWithOutside = kSecond;
  static uint64_t switches = 0;
  static int64_t since = 0;
  if (all_wait_for_mpi()) return false;
  if (switches != sched::switch_count()) {
    switches = sched::switch_count();
    since = now_ns();
  }
  return now_ns() - since < kPatienceWithOutside;
}
}  // namespace

bool all_parked() {
  if (g_decider && outside_is_awaited()) {
    g_ask_again = true;
    return false;
  }
  if (g_decider && g_decider->all_parked()) return false;
  if (g_detection.over()) return true;
  g_ask_again = !quiet();
  if (g_ask_again || !all_wait_for_mpi()) return false;
  if (g_av.processes() > 1) return g_detection.on_passive();
  const Verdict verdict = judge(local_report(), g_engine.connected_to_others);
  if (verdict == Verdict::kGivesWay) take_in_past_limit();
  return verdict == Verdict::kJobEnds;
}

int64_t sleep_limit() {
  constexpr int64_t kLook = 10'000'000;  // for a decision that waits
  if (g_decider && g_ask_again) return kLook;
  return g_engine.detecting ? Detection::kPatience / 4 : -1;
}

}  // namespace fgmpi::pt2pt
