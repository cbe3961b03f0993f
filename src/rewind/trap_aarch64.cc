// 64-bit Arm: the kernel cannot trap the system calls of a thread yet, so nothing is recorded.

#include "base/raw_call.h"
#include "rewind/counter.h"
#include "rewind/rules.h"
#include "rewind/signals.h"
#include "rewind/special_calls.h"
#include "rewind/trap.h"

extern "C" long fgmpi_rewind_direct_call(long number, long a, long b, long c, long d, long e,
                                         long f) {
  return fgmpi::raw_call(number, a, b, c, d, e, f);
}

namespace fgmpi::rewind {

long g_recorded_pid = 0;
void stand_in(long) {}
bool is_placed_call(long) { return false; }

const char* start_trap() { return "runs can be recorded on x86-64 only"; }
long set_fault_action(const void*, void*) { return 0; }
void continue_trap() {}
void stop_trap() {}
volatile uint64_t g_waiting_signals = 0;
void pass_signals(ucontext_t*) {}
void pass_signals_at_event() {}
void return_from_handler(ucontext_t*) {}

}  // namespace fgmpi::rewind
