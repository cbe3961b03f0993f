// What the files that interpose waiting functions share (waits.cc, thread_waits.cc).
//
// Thread rule: any thread.
#pragma once

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <type_traits>

#include "privatize/guests.h"
#include "privatize/images.h"
#include "privatize/internal.h"
#include "proclet-sched/blocking.h"

namespace fgmpi::privatize {

/// A function of the C library, found when it is first called.
template <class F>
class Real;
template <class R, class... A>
class Real<R(A...)> {
 public:
  constexpr explicit Real(const char* name) : name_(name) {}
  R operator()(A... arguments) {
    auto* function = function_.load(std::memory_order_relaxed);
    if (__builtin_expect(!function, 0)) function = find();
    return function(arguments...);
  }

 private:
  [[gnu::noinline, gnu::cold]] R (*find())(A...) {
    auto* function = next_symbol<R(A...)>(name_);
    function_.store(function, std::memory_order_relaxed);
    return function;
  }

  const char* name_;
  std::atomic<R (*)(A...)> function_{nullptr};
};

/// A rank of several calls, on the scheduler's thread: others can run while it waits.
inline bool on_proclet_among_others() {
  return (g_mode == Mode::kImages || g_mode == Mode::kShared || g_has_guests) && on_proclet();
}

/// Other ranks run, for *pause nanoseconds at least, but not beyond `until` where that is given.
/// *pause doubles, up to a millisecond: for loops that look whether they can go on. Begin with
/// kFirstPause. Keeps errno. May switch.
inline constexpr int64_t kFirstPause = 20'000, kLongestPause = 1'000'000;
void let_others_run(int64_t* pause, clockid_t clock = CLOCK_MONOTONIC,
                    const timespec* until = nullptr);

/// Has another thread call f() while others run; here, where no thread is to be had. Keeps errno.
/// May switch. REQUIRES: what f() uses does not lie in memory that is a rank's only while it runs.
template <class F>
auto wait_on_other_thread(const char* call, F&& f) {
  struct Call {
    std::remove_reference_t<F>* function;
    decltype(f()) result;
  } data{&f, {}};
  const int kept = errno;
  bool called;
  {
    sched::SwitchingCall inside;
    called = sched::call_on_other_thread(
        call,
        [](void* p) {
          auto* c = static_cast<Call*>(p);
          c->result = (*c->function)();
        },
        &data);
  }
  if (!called) data.result = f();
  errno = kept;
  return data.result;
}

/// The same for a function that says by a negative result that errno has changed.
struct WithErrno {};
inline constexpr WithErrno kWithErrno;
template <class F>
auto wait_on_other_thread(const char* call, F&& f, WithErrno) {
  int error = 0;
  const auto result = wait_on_other_thread(call, [&] {
    auto r = f();
    if (r < 0) error = errno;
    return r;
  });
  if (result < 0) errno = error;
  return result;
}

/// A variable of the program that is at its address only while its rank runs.
bool is_thread_local(const void* address);

/// Mutexes that the kernel knows by the thread that has locked them: robust ones, and those with
/// priorities (PTHREAD_PRIO_*). As the pthread functions, for a rank among others: where one would
/// wait, it looks again after a while, and other ranks run meanwhile. `clock` and `until`: when the
/// wait is over; nullptr: never. May switch.
int lock_thread_mutex(pthread_mutex_t* m, clockid_t clock, const timespec* until);
int try_thread_mutex(pthread_mutex_t* m);
int unlock_thread_mutex(pthread_mutex_t* m);
/// A wait for a condition variable with such a mutex: it ends after a while, as POSIX allows,
/// whether signalled or not.
int wait_with_thread_mutex(pthread_mutex_t* m, clockid_t clock, const timespec* until);

}  // namespace fgmpi::privatize
