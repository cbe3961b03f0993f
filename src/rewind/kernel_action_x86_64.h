// The kernel's form of struct sigaction on x86-64. Thread rule: none.
#pragma once

#include <signal.h>

#include <cstdint>

namespace fgmpi::rewind {

struct KernelSignalAction {
  void (*handler)(int, siginfo_t*, void*);
  unsigned long flags;
  const void* restorer;
  uint64_t mask;
};
inline constexpr unsigned long kHasRestorer = 0x04000000;

extern "C" const char fgmpi_rewind_sigaction_return[];

/// Records the action of a signal as the program sees it (signal_calls_x86_64.cc).
void record_action(int signal, const KernelSignalAction& action);

}  // namespace fgmpi::rewind
