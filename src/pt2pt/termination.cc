// The algorithm of termination.h, and the class that connects it with this process.
#include "pt2pt/termination.h"

#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/hash.h"
#include "base/strings.h"
#include "pt2pt/buffer_limit.h"
#include "pt2pt/deadlock.h"
#include "pt2pt/engine.h"
#include "pt2pt/lost.h"
#include "pt2pt/message_decider.h"

namespace fgmpi::pt2pt {
namespace {

constexpr size_t kChunk = 1000;  ///< bytes of a report in one notice

/// The kind of a notice, in its lowest bits. For a report and the request for it, the number of the
/// wave is above.
enum Word : uint64_t {
  kAsk = 1,
  kAnswer,
  kCollect,
  kPart,
  kLastPart,
  kEnd,
  kGiveWay,
  kMark,
  kWordMask = 0xff
};
constexpr int kWaveBit = 8;

uint64_t word_of_wave(Word word, uint32_t wave) { return word | uint64_t{wave} << kWaveBit; }

}  // namespace

Detection::Fingerprint Detection::fingerprint() const {
  const DetectionSite::TrafficCounts c = site_->counts();
  return {c.frames_sent - notices_sent_, c.frames_received - notices_received_, c.switches};
}

/// Handles new entries of site_->lost(): gives up the current wave, which assumed that the lost
/// processes would answer.
void Detection::check_for_losses() {
  const std::vector<uint32_t>& lost = site_->lost();
  if (__builtin_expect(known_losses_ == lost.size(), 1)) return;
  lost_.resize(processes_);
  marks_.resize(processes_);
  for (; known_losses_ < lost.size(); ++known_losses_) {
    const uint32_t process = lost[known_losses_];
    if (process >= processes_) continue;  // a process of another job
    lost_[process] = true;
    --left_;
    losses_ += mix(process, 1);  // a sum: the order of the losses does not matter
  }
  while (asking_ < processes_ && lost_[asking_]) ++asking_;
  answered_ = marked_ = 0;
  ++wave_;  // answers to the last wave are too late
  missing_ = 0;
  judged_ = true;
  second_due_ = collecting_ = reported_ = false;
  parked_since_ = -1;
}

template <class F>
void Detection::for_others(F&& f) const {
  for (uint32_t p = 0; p < processes_; ++p)
    if (p != me_ && !is_lost(p)) f(p);
}

void Detection::send_word(uint32_t process, uint64_t word, const void* data, size_t bytes) {
  ++notices_sent_;
  site_->send(process, word, data, bytes);
}

void Detection::send_to_others(uint64_t word, const void* data, size_t bytes) {
  for_others([&](uint32_t p) { send_word(p, word, data, bytes); });
}

/// Handles an answer, in the process that asks.
void Detection::add_answer(const WaveAnswer& a) {
  if (a.wave != wave_ || a.losses != losses_ || missing_ == 0) return;
  all_same_ = all_same_ && a.same;
  others_ = others_ || a.others;
  sent_ += a.sent;
  received_ += a.received;
  --missing_;
}

/// True when the question assumes the losses that are recorded here, too.
bool Detection::is_asked() const {
  return asked_.wave != 0 && asked_.losses == losses_ && asked_.from == asking_;
}

bool Detection::all_have_marked() const {
  bool all = true;
  for_others([&](uint32_t p) { all = all && marks_[p] == asked_; });
  return all;
}

/// Answers the question, if one waits. `now`: a fingerprint made when nothing was deferred.
/// REQUIRES: this process has been passive since.
void Detection::answer_if_asked(const Fingerprint& now) {
  if (!is_asked()) return;
  if (some_are_lost()) {
    if (marked_ != asked_.wave) send_to_others(kMark, &asked_, sizeof asked_);
    marked_ = asked_.wave;
    if (!all_have_marked()) return;
  }
  const uint32_t wave = std::exchange(asked_.wave, 0);
  const bool same = wave == answered_ + 1 && answered_ > 0 && now == last_;
  answered_ = wave;
  last_ = now;
  const WaveAnswer answer{losses_, wave, same, site_->others(), now.sent, now.received};
  asks() ? add_answer(answer) : send_word(asking_, kAnswer, &answer, sizeof answer);
}

void Detection::start_wave(const Fingerprint& now) {
  ++wave_;
  missing_ = left_;
  all_same_ = true;
  others_ = false;
  sent_ = received_ = 0;
  second_due_ = judged_ = false;
  asked_ = {losses_, wave_, me_};
  const WaveQuestion question = asked_;
  answer_if_asked(now);
  send_to_others(kAsk, &question, sizeof question);
  if (missing_ == 0) news_ = true;  // no other process is left: judge() is due
}

void Detection::send_report(uint32_t to, uint32_t wave) {
  const std::string text = site_->local_report();
  size_t at = 0;
  for (; text.size() - at > kChunk; at += kChunk)
    send_word(to, word_of_wave(kPart, wave), text.data() + at, kChunk);
  send_word(to, word_of_wave(kLastPart, wave), text.data() + at, text.size() - at);
}

void Detection::finish_report() {
  parts_[me_] = site_->local_report();
  const Verdict verdict = site_->judge(parts_, others_);
  collecting_ = false;
  reported_ = verdict == Verdict::kJobEnds || verdict == Verdict::kReported;
  parked_since_ = -1;
  if (verdict == Verdict::kGivesWay) {
    send_to_others(kGiveWay, nullptr, 0);
    site_->give_way();
  }
  if (verdict != Verdict::kJobEnds) return;
  over_ = true;
  send_to_others(kEnd, nullptr, 0);
}

void Detection::collect() {
  collecting_ = true;
  missing_ = left_ - 1;
  parts_.assign(processes_, "");
  complete_.assign(processes_, false);
  if (missing_ == 0) return finish_report();
  send_to_others(word_of_wave(kCollect, wave_), nullptr, 0);
}

/// Handles a piece of a process's report, in the process that asks.
void Detection::receive_part(uint32_t from, uint32_t wave, bool last, const void* data,
                             size_t bytes) {
  if (!collecting_ || from == me_ || complete_[from] || parts_[from].size() + bytes > kMostPart)
    return site_->refused();
  if (wave != wave_) return;  // asked for before a loss
  parts_[from].append(static_cast<const char*>(data), bytes);
  complete_[from] = last;
  if (last && --missing_ == 0) finish_report();
}

void Detection::on_notice(uint32_t from, uint64_t word, const void* data, size_t bytes) {
  ++notices_received_;
  news_ = *watched_ = true;
  check_for_losses();
  if (from >= processes_) return site_->refused();
  const auto wave = static_cast<uint32_t>(word >> kWaveBit);
  if (is_lost(from) && word != kEnd) return;
  switch (word & kWordMask) {
    case kAsk:
    case kMark: {
      WaveQuestion q;
      if (bytes != sizeof q || (word == kAsk && asks())) return site_->refused();
      memcpy(&q, data, bytes);
      if (word == kAsk) {
        if (q.from != from) return site_->refused();
        asked_ = q;
      } else {
        marks_.resize(processes_);
        marks_[from] = q;
      }
      return;
    }
    case kAnswer: {
      WaveAnswer a;
      if (bytes != sizeof a || !asks()) return site_->refused();
      memcpy(&a, data, bytes);
      return add_answer(a);
    }
    case kCollect:
      return send_report(from, wave);
    case kPart:
    case kLastPart:
      return receive_part(from, wave, (word & kWordMask) == kLastPart, data, bytes);
    case kEnd:
      over_ = true;
      return;
    case kGiveWay:
      return asks() || from != asking_ ? site_->refused() : site_->give_way();
    default:
      return site_->refused();
  }
}

/// Decides in the asking process, when it is passive, whether to start a wave.
void Detection::coordinate() {
  if (reported_ || collecting_) return;
  *watched_ = true;
  if (wave_ > 0 && missing_ > 0) return;  // the other processes have not all answered
  const Fingerprint f = fingerprint();
  if (second_due_) return start_wave(f);
  due_reported_ = false;
  if (parked_since_ < 0 || !(f == parked_as_)) {
    parked_since_ = site_->now_ns();
    parked_as_ = f;
    return;
  }
  if (site_->now_ns() - parked_since_ < kPatience) return;
  start_wave(f);
}

/// Evaluates a complete wave: a deadlock, worth a second wave, or to be tried later.
void Detection::judge() {
  if (judged_ || missing_ > 0) return;
  judged_ = true;
  const bool nothing_under_way = some_are_lost() || sent_ == received_;
  if (all_same_ && nothing_under_way) return collect();
  second_due_ = !all_same_ && nothing_under_way && fingerprint() == last_;
  if (!second_due_) parked_since_ = -1;  // patience starts anew
}

bool Detection::on_passive() {
  if (over_) return true;
  check_for_losses();
  answer_if_asked(fingerprint());
  if (asks()) {
    judge();
    coordinate();
  }
  return over_;
}

bool Detection::due() {
  if (news_) {
    news_ = false;
    if (!asks() || reported_) *watched_ = false;
    return true;
  }
  if (!(fingerprint() == parked_as_)) {
    *watched_ = false;  // active again: the clock is not read until the process is parked again
    return true;
  }
  if (due_reported_ || missing_ > 0 || site_->now_ns() - parked_since_ < kPatience) return false;
  return due_reported_ = true;
}

namespace {

Verdict judge(const Report& report, bool others) {
  if (report.past_limit > 0) {
    report_limit_once();
    return Verdict::kGivesWay;
  }
  if (others || deadlock_action() == DeadlockAction::kOff) return Verdict::kCheckAgain;
  print(report);
  return deadlock_action() == DeadlockAction::kAbort ? Verdict::kJobEnds : Verdict::kReported;
}

bool g_connected_to_others = false;  ///< other jobs may send something
uint64_t g_connection_changes = 0;   ///< how often g_connected_to_others has changed

class ThisProcess final : public DetectionSite {
 public:
  TrafficCounts counts() const override {
    return {g_engine.frames_sent(), g_engine.frames_received(),
            sched::switch_count() + g_connection_changes};
  }
  bool others() const override { return g_connected_to_others; }
  int64_t now_ns() const override { return fgmpi::now_ns(); }
  const std::vector<uint32_t>& lost() const override { return lost_processes(); }
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
    for (uint32_t p : lost()) all.lines.emplace_back("", process_failed(p).what());
    for (size_t p = 0; p < parts.size(); ++p)
      if (!is_lost(static_cast<uint32_t>(p)) && !all.add_bytes(parts[p].data(), parts[p].size()))
        all.lines.emplace_back("", format("process %zu: its part cannot be read", p));
    return pt2pt::judge(all, others);
  }
  void give_way() override { pull_past_limit(); }
};

ThisProcess g_site;
Detection g_detection(&g_site, 0, 1, &g_detecting);

}  // namespace

bool g_detecting = false;

void start_detection() {
  (void)deadlock_action();  // a bad value of FGMPI_DEADLOCK ends the process now, not at a deadlock
  g_detecting = false;
  g_detection = Detection(&g_site, g_engine.me(), g_av.processes(), &g_detecting);
  set_notice_handler(kNoticeDeadlock,
                     [](uint32_t from, uint64_t word, const void* data, size_t bytes) {
                       g_detection.on_notice(from, word, data, bytes);
                     });
}

void detection_learns_of_loss() { g_detection.on_loss(); }
bool detection_due() { return g_detection.due(); }  // called by every poll while g_detecting

bool g_ask_again = false;

void set_connected_to_others(bool connected) {
  // Ranks that have waited since before may be deadlocked now.
  g_ask_again |= g_connected_to_others && !connected;
  g_connection_changes += g_connected_to_others != connected;
  g_connected_to_others = connected;
}

namespace {
/// Does a rank wait for something from outside of MPI (a file, a thread of the program)? A decision
/// that did not wait for it would find other choices in the next execution. The wait is limited to
/// kPatienceWithOutside, since what is awaited may depend on the decision.
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

void (*g_tool_parked)() = nullptr;
void (*g_tool_stuck)() = nullptr;
}  // namespace

bool all_parked() {
  if (g_message_decider && g_message_decider->waits_for_outside() && outside_is_awaited()) {
    g_ask_again = true;
    return false;
  }
  if (g_message_decider && g_message_decider->all_parked()) return false;
  if (g_detection.over()) return true;
  g_ask_again = !quiet();
  if (g_ask_again || !all_wait_for_mpi()) return false;
  if (g_tool_stuck) {
    g_tool_stuck();
    if (!all_wait_for_mpi()) return false;
  }
  if (g_av.processes() > 1) return g_detection.on_passive();
  const Verdict verdict = judge(local_report(), g_connected_to_others);
  if (verdict == Verdict::kGivesWay) pull_past_limit();
  return verdict == Verdict::kJobEnds;
}

void set_tool_parked(void (*parked)(), void (*stuck)()) {
  g_tool_parked = parked;
  g_tool_stuck = stuck;
}

bool parked_beside_timers() {
  return g_message_decider && !g_message_decider->waits_for_outside() &&
         g_message_decider->all_parked();
}

bool (*parked_hook())() {
  if (!g_tool_parked) return all_parked;
  return [] {
    g_tool_parked();
    return all_parked();
  };
}

int64_t sleep_limit() {
  constexpr int64_t kLook = 10'000'000;  // sleep at most so long while the decider waits
  if (g_message_decider && g_ask_again) return kLook;
  return g_detecting ? Detection::kPatience / 4 : -1;
}

}  // namespace fgmpi::pt2pt
