// What the files of this module share and nobody else uses.
#pragma once

#include "proclet-sched/sched.h"

namespace fgmpi::sched {

/// Puts a proclet behind all others in the run queue (the random policy: among them).
void make_runnable(Proclet* p);
const Options& options();
/// From now on switches look at the leaver's canary.
void require_canary_checks();

char* stack_top(const Proclet* p);
bool stack_intact(const Proclet* p);
/// Gives the pages of a finished rank's stack back.
void discard_stack(const Proclet* rank);

// leave.cc
/// The proclet on which a rank that leave_for() has made leave its stack goes on with its end; nullptr for others.
Proclet* end_of(const Proclet* rank);
/// Such a proclet finishes: so does the one that has left.
void end_of_left_rank(const Proclet* end);
/// Whether this is one.
bool is_end(const Proclet* p);

// helpers.cc
[[noreturn]] void helper_main(Proclet* self);
char* helper_stack_top(const Proclet* p);
bool helper_stack_intact(const Proclet* p);
/// Bytes of their stacks that were written.
uint64_t written_by_helpers();
/// A trimmer (sched.h): gives back what idle helpers have not needed since the last call.
bool trim_helpers();
Proclet* helper_of_address(const void* address, bool* in_guard);
/// Parks a helper that has nothing to do; it is in no queue afterwards. May switch.
void park_idle_helper(Proclet* self);

}  // namespace fgmpi::sched
