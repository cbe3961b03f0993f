// Deadlock: the report of this process (deadlock.cc), and the detection over several processes
// (termination.cc).
#pragma once

#include <cstdint>

#include "pt2pt/report.h"

namespace fgmpi::pt2pt {

enum class DeadlockAction : uint8_t { kAbort, kReport, kOff };
/// The setting FGMPI_DEADLOCK, in the order of the table of settings.
DeadlockAction deadlock_action();

/// True when every parked proclet of this process waits for something that only MPI can bring, and
/// at least one proclet is parked.
bool all_wait_for_mpi();

/// Makes the report of this process: who waits for what.
Report local_report();
/// Prints the report to stderr.
void print(const Report& report);

/// Sets up the detection of this process and checks FGMPI_DEADLOCK. REQUIRES: the address vector
/// is complete.
void start_detection();
/// True when this process asks the others and has been parked for long enough: all_parked() is to
/// be called again.
bool detection_due();
/// A process of the job has failed.
void detection_learns_of_loss();
/// Set when all_parked() found something under way. The scheduler asks again when progress() has
/// moved something. What a transport delivers during a spin does not count as moved: with this flag
/// progress() returns true once nothing is under way any more.
extern bool g_ask_again;
/// Is detection_due() to be called by every poll?
[[gnu::visibility("hidden")]] extern bool g_detecting;

}  // namespace fgmpi::pt2pt
