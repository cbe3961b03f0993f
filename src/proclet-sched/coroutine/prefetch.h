// Prefetching for proclets that become ready together.
// Thread rule: inside; nothing here switches.
#pragma once

#include "proclet-sched/sched.h"

namespace fgmpi::sched {

/// Prefetches what the proclet that runs after the next one will use first: its descriptor and the
/// part of its stack on which it is parked. For proclets that became ready together and run shortly
/// one after the other, in such numbers that their memory is not in the caches.
/// Always in line: the compiler drops a call of a function without effects.
[[gnu::always_inline]] inline void prefetch_ready() {
  const Proclet* next = detail::g_hot.head;
  const Proclet* later = next ? next->next : nullptr;
  if (!later) return;
  constexpr size_t kLine = 64, kLines = 8;
  const auto* stack = static_cast<const char*>(later->context);
  for (size_t line = 0; line < kLines; ++line) __builtin_prefetch(stack + line * kLine, 1);
  const auto* after = reinterpret_cast<const char*>(later->next);
  for (size_t at = 0; at < sizeof(Proclet); at += kLine) __builtin_prefetch(after + at, 1);
}

}  // namespace fgmpi::sched
