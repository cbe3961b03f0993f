// Snapshots of a repeated run, by fork, and stops at events.
//
// Thread rule: the scheduler's thread, as an event begins.
#pragma once

#include <cstdint>

#include "rewind/control.h"

namespace fgmpi::rewind {

/// Follows mpiexec's first order.
void begin_serving(const ControlOrder& order);

/// Takes a snapshot where one is due, and waits where the process is to stop. Returns in other
/// processes than the one that called it, too.
void check_event();

/// Sends a report, with a descriptor where `fd` is not negative. A process that nobody listens to
/// ends.
void send_report(const ControlReport& report, int fd = -1);

}  // namespace fgmpi::rewind

// What a debugger sets and where it stops: src/info/gdb/fgmpi-gdb.py.
extern "C" {
/// The event at which the process stops next.
[[gnu::visibility("default")]] extern volatile uint64_t fgmpi_rewind_stop_at;
/// An event from which on check_event() has something to do: at most the one above.
[[gnu::visibility("default")]] extern uint64_t fgmpi_rewind_check_at;
/// 1: a debugger is attached, and stops the process itself.
[[gnu::visibility("default")]] extern volatile uint32_t fgmpi_rewind_debugged;
/// Called where a debugged process is to stop; does nothing.
[[gnu::visibility("default")]] void fgmpi_rewind_stopped();
}
