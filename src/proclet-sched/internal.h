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

// ranks.cc
/// The number of the rank whose proclet lies there, or -1.
int64_t rank_at(const Proclet* p);
/// Whether what is kept of the rank agrees with its number.
bool rank_is_sound(uint32_t index);
/// Whether the only rank is a caller that goes on on its own stack (adopt_caller).
bool caller_is_adopted();
/// Whether the address is beside the descriptors, where nobody may write.
bool beside_descriptors(const void* address);

// leave.cc
/// The proclet on which a rank that leave_for() has made leave its stack goes on with its end;
/// nullptr for others.
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
/// The number of the helper whose proclet lies there, or -1.
int64_t helper_at(const Proclet* p);
/// Whether what is kept of it agrees with its number. REQUIRES: it has that number.
bool helper_is_sound(const Proclet* p, uint32_t number);
Proclet* helper_of_address(const void* address, bool* in_guard);
/// Parks a helper that has nothing to do; it is in no queue afterwards. May switch.
void park_idle_helper(Proclet* self);

}  // namespace fgmpi::sched
