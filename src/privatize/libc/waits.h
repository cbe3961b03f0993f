// Declarations that the files with interposed waiting functions share (waits.cc, thread_waits.cc,
// outside_*.cc and others).
//
// Thread rule: any thread.
#pragma once

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <type_traits>

#include "privatize/image/images.h"
#include "privatize/internal.h"
#include "privatize/load/guests.h"
#include "proclet-sched/threads/blocking.h"

namespace fgmpi::privatize {

/// A function of the C library, looked up at its first call. `otherwise` stands in for one that
/// older C libraries lack.
template <class F>
class Real;
template <class R, class... A>
class Real<R(A...)> {
 public:
  constexpr explicit Real(const char* name, R (*otherwise)(A...) = nullptr)
      : name_(name), otherwise_(otherwise) {}
  // The address needs no order: the C library's code has been there since the program's start.
  R operator()(A... arguments) {
    auto* function = function_.load(std::memory_order_relaxed);
    if (__builtin_expect(!function, 0)) function = find();
    return function(arguments...);
  }
  /// Looks the function up now.
  void prepare() { find(); }

 private:
  [[gnu::noinline, gnu::cold]] R (*find())(A...) {
    auto* function = next_symbol<R(A...)>(name_);
    if (!function) function = otherwise_;
    function_.store(function, std::memory_order_relaxed);
    return function;
  }

  const char* name_;
  R (*otherwise_)(A...);
  std::atomic<R (*)(A...)> function_{nullptr};
};

/// True where a rank calls on the scheduler's thread, in a process of several ranks: other ranks
/// can run while it waits.
inline bool on_proclet_among_others() {
  return (g_mode == ImageMode::kImages || g_mode == ImageMode::kShared || g_has_guests) &&
         on_proclet();
}

/// Lets other ranks run for at least *pause nanoseconds, but not beyond `until` where that is
/// given. Doubles *pause, up to kLongestPause: callers are loops that try again after each pause,
/// and begin with kFirstPause. Leaves errno unchanged. May switch.
inline constexpr int64_t kFirstPause = 20'000, kLongestPause = 1'000'000;
void let_others_run(int64_t* pause, clockid_t clock = CLOCK_MONOTONIC,
                    const timespec* until = nullptr);
/// Has the clock come to that time?
bool is_over(clockid_t clock, const timespec* until);

/// Has another thread call f() while other ranks run. Where no thread can be started, the caller's
/// thread calls f(). Returns f()'s result; leaves errno unchanged. May switch. REQUIRES: f() uses
/// no memory that holds the rank's data only while the rank runs (swap.h).
template <class F>
auto wait_on_other_thread(const char* call, F&& f) {
  struct FunctionCall {
    std::remove_reference_t<F>* function;
    decltype(f()) result;
  } data{&f, {}};
  const int saved_errno = errno;
  bool called;
  {
    sched::SwitchingCall inside;
    called = sched::call_on_other_thread(
        call,
        [](void* p) {
          auto* c = static_cast<FunctionCall*>(p);
          c->result = (*c->function)();
        },
        &data);
  }
  if (!called) data.result = f();
  errno = saved_errno;
  return data.result;
}

/// wait_on_other_thread() for a function that reports an error by a negative result: errno is
/// then f()'s.
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

/// True for a thread-local variable of the program or of a private library: its value is at this
/// address only while its rank runs.
bool is_thread_local(const void* address);

/// The pthread functions for mutexes whose owner is a thread in the kernel, called by a rank among
/// others: robust mutexes, and those with priorities (PTHREAD_PRIO_*). Where the C library would
/// wait, the rank tries again after a while, and other ranks run meanwhile. `until` on `clock`: the
/// time limit; nullptr: none. Locking may switch.
int lock_thread_mutex(pthread_mutex_t* m, clockid_t clock, const timespec* until);
int try_thread_mutex(pthread_mutex_t* m);
int unlock_thread_mutex(pthread_mutex_t* m);
/// A wait for a condition variable with such a mutex. The wait ends after a while, whether the
/// variable was signalled or not: POSIX allows that. May switch.
int wait_with_thread_mutex(pthread_mutex_t* m, clockid_t clock, const timespec* until);

}  // namespace fgmpi::privatize
