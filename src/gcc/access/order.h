// How the wrappers of threads.cc, openmp.cc and the atomic operations tell the checker what orders
// the threads of a rank.
//
// Thread rule: any thread.
#pragma once

#include "gcc/access/look.h"

namespace fgmpi::access {

/// Is there a checker that wants to know? Searches for it the first time.
[[gnu::visibility("hidden")]] bool has_order();
/// Passes the event to the checker. REQUIRES: has_order().
[[gnu::visibility("hidden")]] uint64_t tell(Sync what, const volatile void* object,
                                            uint64_t value = 0);

/// The strand is about to wait at `object`, in a function that cannot be told of deadlocks. Waits
/// in the checker until what it awaits may have come, where that is possible: then true.
inline bool await(Sync what, const volatile void* object, const void* place, int threads = 0) {
  if (!has_order() || !tell(what, object, await_value(place, threads))) return false;
  tell(Sync::kAwait, object);
  return true;
}

/// Awaits the threads or tasks of a parallel region, which may take each other's tasks meanwhile: a
/// thread that was to execute one waits again if there is none left.
inline void await_region(Sync what, const volatile void* object, const void* place, int threads) {
  while (await(what, object, place, threads)) {
  }
}

/// Tells at its end that what strands await at an object may have come.
class WakesAfterwards {
 public:
  explicit WakesAfterwards(const volatile void* object) : object_(object) {}
  ~WakesAfterwards() { tell(Sync::kWake, object_); }

 private:
  const volatile void* object_;
};

/// Passes on an atomic operation of a rank with several threads.
inline void tell_atomic(Sync what, const volatile void* at, int order) {
  if (__builtin_expect(g_view.threads, 0)) tell(what, at, static_cast<uint64_t>(order & 0xffff));
}

}  // namespace fgmpi::access
