// Polling, spinning and sleeping over all sources.

#include "transport/idle.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/raw_call.h"
#include "base/relax_cpu.h"
#include "base/settings.h"
#include "base/stand_still.h"

namespace fgmpi::transport {
namespace {

constexpr int64_t kTick = kSecond;
/// A yield that takes longer (ns) has let another process run.
constexpr int64_t kContended = 4'000;
/// The shortest spin (ns) that grows again after contention.
constexpr int64_t kLeastSpin = 1'000;
/// Polls, or the time (ns) of polls, before the core is yielded. Polls of sockets are system calls,
/// which take a hundred times as long as those of shared memory.
constexpr int kPollsPerYield = 64, kPollsPerClock = 4;
constexpr int64_t kBetweenYields = 3'000;
/// How often (ns) a source is polled that has no descriptor to sleep on.
constexpr int64_t kPollInterval = 1'000'000;
/// After this many wake-ups in a row that were early and brought nothing, the descriptors are ready
/// without cause, and sleeping on them would waste the core. (A large message that arrives in
/// pieces causes some tens.)
constexpr int kMostSpurious = 100;
/// One such wake-up in this time (ns) asleep is not counted: it may be due to a signal of
/// the program.
constexpr int64_t kSpuriousInterval = 1'000'000;
constexpr int64_t kLeastRegardless = 1'000'000;  ///< ns
constexpr int kMostDoublings = 5;                ///< of it

/// Waits until a descriptor of `epoll` is ready, or the time is over.
void wait_for_event(int epoll, int64_t timeout_ns) {
  static bool has_pwait2 = true;  // kernels since 5.11
  epoll_event events[8];
  if (has_pwait2) {
    const timespec timeout = to_timespec(timeout_ns);
    // The call is made by its number, since glibc has a function for it only from 2.35 on.
    const long ready = raw_call(SYS_epoll_pwait2, epoll, reinterpret_cast<long>(events), 8,
                                reinterpret_cast<long>(&timeout));
    if (ready >= 0 || ready == -EINTR) return;
    has_pwait2 = false;  // also where a container forbids it, whatever it answers
  }
  const int64_t ms = add_time(timeout_ns, 999'999) / 1'000'000;
  epoll_wait(epoll, events, 8, static_cast<int>(std::min<int64_t>(ms, INT32_MAX)));
}

}  // namespace

Idle::Idle(std::vector<WaitSource*> sources) : sources_(std::move(sources)) {
  longest_spin_ = spin_ = settings::number(settings::kSpin) * 1000;
  next_tick_ = now_ns() + kTick;
  if (sources_.size() == 1 && sources_[0]->wait_fd() < 0) own_sleep_ = sources_[0]->own_sleep();
  if (!own_sleep_) sleep_on_descriptors();
}

void Idle::sleep_on_descriptors() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event wake{};
  wake.events = EPOLLIN;
  if (wake_fd_ < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_fd_, &wake)) all_wake_ = false;
  for (WaitSource* source : sources_) sleep_on_descriptor_of(source);
}

void Idle::sleep_on_descriptor_of(WaitSource* source) {
  int fd = source->use_wait_fd();
  epoll_event event{};
  event.events = EPOLLIN;
  if (fd < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event)) all_wake_ = false;
}

void Idle::add(WaitSource* source) {
  // Another thread may sleep on the old set of sources.
  interrupt();
  sources_.push_back(source);
  own_sleep_ = nullptr;
  if (epoll_ < 0)
    sleep_on_descriptors();
  else
    sleep_on_descriptor_of(source);
}

Idle::~Idle() {
  if (wake_fd_ >= 0) close(wake_fd_);
  if (epoll_ >= 0) close(epoll_);
}

bool Idle::poll() {
  bool any = false;
  for (WaitSource* source : sources_) any |= source->poll();
  return any;
}

/// Polls until something arrived (true), `limit` has passed, or other processes want the core.
/// Adapts the next spin.
bool Idle::spin(int64_t start, int64_t limit) {
  int64_t now = start;
  while (now - start < limit) {
    for (int i = 0; i < kPollsPerYield; ++i) {
      if (poll()) {
        spin_ = std::min(longest_spin_, spin_ + spin_ / 4);
        return true;
      }
      relax_cpu();
      if (i % kPollsPerClock == kPollsPerClock - 1 && now_ns() - now > kBetweenYields) break;
    }
    // There is no yield at the end of a spin: on a busy machine it lasts as long as the time slices
    // of others, and a sleep ends when the message arrives.
    const int64_t before = now_ns();
    if (before - start >= limit) return false;
    auto* close_gate = close_gate_;
    if (open_gate_) open_gate_();
    sched_yield();
    if (close_gate) close_gate();
    if (clear_interrupt()) return true;
    now = now_ns();
    if (now - before < kContended) continue;
    spin_ = kLeastSpin;
    return poll();
  }
  return false;
}

bool Idle::arm_all() {
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i]->arm()) continue;
    for (size_t j = 0; j < i; ++j) sources_[j]->disarm();
    return false;
  }
  return true;
}

void Idle::disarm_all() {
  for (WaitSource* source : sources_) source->disarm();
}

void Idle::block(int64_t timeout_ns) {
  ++kernel_sleeps_;
  // close_gate_ is read before the sleep: the process may end, and this object with it, while
  // another thread of it sleeps here.
  auto* close_gate = close_gate_;
  if (open_gate_) open_gate_();
  if (own_sleep_)
    own_sleep_->sleep(timeout_ns);
  else
    wait_for_event(epoll_, all_wake_ ? timeout_ns : std::min(timeout_ns, kPollInterval));
  if (close_gate) close_gate();
}

/// The store and the wake-up pair with arming and the load before the sleep (seq_cst): either the
/// sleeper sees the flag, or the wake-up finds it armed.
void Idle::interrupt() {
  interrupted_.store(true);
  const uint64_t one = 1;
  if (own_sleep_) own_sleep_->interrupt();
  // A full counter is readable, too.
  else if (wake_fd_ >= 0 && write(wake_fd_, &one, sizeof one) < 0)
    return;
}

bool Idle::empty_wake_fd() {
  uint64_t count;
  return wake_fd_ >= 0 && read(wake_fd_, &count, sizeof count) > 0;
}

bool Idle::clear_interrupt() {
  if (__builtin_expect(!interrupted_.load(std::memory_order_relaxed), 1)) return false;
  interrupted_.store(false);
  empty_wake_fd();
  return true;
}

/// Sleeps by the clock, whatever the descriptors show: longer after more spurious wake-ups. No
/// provider is known to need it.
void Idle::sleep_regardless(int64_t at_most_ns) {
  ++kernel_sleeps_;
  const int64_t longer = kLeastRegardless
                         << std::clamp(spurious_ - kMostSpurious, 0, kMostDoublings);
  stand_still(std::min(longer, at_most_ns));
}

/// Sleeps once, until `deadline` at most, and polls what ended the sleep. True: something arrived,
/// or a source refused to be slept on. Then the caller must retry what there was no room for: no
/// poll reports room that arm() has found.
bool Idle::sleep_once(int64_t* now, int64_t deadline) {
  const int64_t start = *now;
  int64_t until = INT64_MAX;
  const bool armed = arm_all();
  if (armed) {
    until = std::min(deadline, std::max(next_tick_, start + 1000));
    for (WaitSource* source : sources_)
      until = std::min(until, add_time(start, source->longest_sleep()));
    if (!interrupted_.load()) block(until - start);
    disarm_all();
  }
  const bool any = poll();
  *now = now_ns();
  if (clear_interrupt()) return true;
  const int64_t early = *now < until, expected = (*now - start) / kSpuriousInterval;
  // The descriptor is written after the flag: this write may belong to an interrupt() for which an
  // earlier sleep() has returned already.
  if (early && !any && empty_wake_fd()) return true;
  spurious_ = any ? 0 : static_cast<int>(std::max<int64_t>(0, spurious_ + early - expected));
  if (spurious_ >= kMostSpurious) {
    sleep_regardless(deadline - *now);
    *now = now_ns();
  }
  return any || !armed;
}

bool Idle::tick(int64_t now) {
  if (now < next_tick_) return false;
  next_tick_ = now + kTick;
  bool any = false;
  for (WaitSource* source : sources_) any |= source->tick();
  return any;
}

void Idle::sleep(int64_t timeout_ns) {
  int64_t start = now_ns(), now = start;
  // The tick also runs when all waits are short: it ends retries for room at a peer that is lost.
  if (tick(now)) return;
  int64_t deadline = timeout_ns < 0 ? INT64_MAX : add_time(start, timeout_ns);
  // However short the spin has become, each wait first polls kPollsPerYield times, or
  // for kBetweenYields: otherwise it could never grow again. Not where the core would be
  // lost meanwhile.
  if (core_demand_.is_high(start)) {
    spin_ = 0;
  } else if (longest_spin_ > 0 && spurious_ < kMostSpurious) {
    if (spin(start, std::min(std::max(spin_, kLeastSpin), deadline - start))) return;
    spin_ = std::max(spin_, kLeastSpin);
    now = now_ns();
  }
  while (now < deadline) {
    if (sleep_once(&now, deadline) || tick(now)) return;
  }
}

}  // namespace fgmpi::transport
