// Deadlock: the report of this process (deadlock.cc), and the detection over several processes
// (termination.cc).
#pragma once

#include <cstdint>

#include "pt2pt/report.h"

namespace fgmpi::pt2pt {

enum class DeadlockAction : uint8_t { kAbort, kReport, kOff };
/// FGMPI_DEADLOCK, in the order of the table of settings.
DeadlockAction deadlock_action();

/// Every parked proclet of this process waits for something that only MPI can bring, and one does.
bool all_wait_for_mpi();

/// Who waits in this process.
Report local_report();
/// To stderr.
void print(const Report& report);

/// Sets up the detection of this process (after the address vector is known); checks
/// FGMPI_DEADLOCK.
void start_detection();
/// The detecting process has been parked for long enough to ask the others: all_parked() is to be
/// called again.
bool detection_due();
/// A process of the job has failed.
void detection_learns_of_loss();
/// all_parked() found something on its way. The scheduler asks again when progress() has moved
/// something, and what a transport delivers while it spins is none of that: progress() says so once
/// nothing is on its way any more.
extern bool g_ask_again;

}  // namespace fgmpi::pt2pt
