// Prefetching for proclets that become ready together.
// Thread rule: inside; nothing here switches.
#pragma once

#include "proclet-sched/sched.h"

namespace fgmpi::sched {

/// Prefetches what a proclet a few places behind in the run queue will use first: its descriptor,
/// the part of its stack on which it is parked, and its rank's state. For proclets that became
/// ready together and run shortly one after the other, in such numbers that their memory is not in
/// the caches. Always in line: the compiler drops a call of a function without effects.
[[gnu::always_inline]] inline void prefetch_ready() {
  // Memory answers within the time of some switches. The descriptors on the way have been
  // prefetched by the calls before.
  constexpr int kAhead = 3;
  constexpr size_t kLine = 64, kLinesOfStack = 8;
  const Proclet* p = detail::g_hot.head;
  for (int i = 0; i < kAhead && p; ++i) p = p->next;
  if (!p) return;
  const auto* stack = static_cast<const char*>(p->context);
#pragma GCC unroll 8
  for (size_t line = 0; line < kLinesOfStack; ++line) __builtin_prefetch(stack + line * kLine, 1);
  __builtin_prefetch(p->rank_state, 1);
  const auto* next = reinterpret_cast<const char*>(p->next);
  for (size_t at = 0; at < sizeof(Proclet); at += kLine) __builtin_prefetch(next + at, 1);
}

}  // namespace fgmpi::sched
