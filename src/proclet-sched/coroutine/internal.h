// What the files of this module share and no other module uses.
#pragma once

#include <vector>

#include "proclet-sched/sched.h"

namespace fgmpi::sched {

/// Puts a proclet behind all others in the run queue; under the random policy, among them.
void make_runnable(Proclet* p);
const Options& options();
/// From now on a switch checks the canary of the proclet that it leaves.
void require_canary_checks();

char* stack_top(const Proclet* p);
bool stack_intact(const Proclet* p);
/// Returns the pages of a finished rank's stack to the system.
void discard_stack(const Proclet* rank);

// ranks.cc
/// The number of the rank whose proclet is at this address, or -1.
int64_t rank_at(const Proclet* p);
/// True when the data of the rank agree with its number.
bool rank_is_sound(uint32_t index);
/// Finds numbers for `count` more ranks, if so many are left behind *first: the place of their
/// block.
std::vector<struct AddedRanks>::iterator find_room_for_ranks(uint32_t count, uint32_t* first);
/// True when the only rank is a caller that goes on on its own stack (adopt_caller).
bool caller_is_adopted();
/// True when the address is beside the descriptors, where nothing may write.
bool in_descriptor_guards(const void* address);

// leave.cc
/// The proclet on which a rank that has left its stack (leave_for()) goes on with its end; nullptr
/// for other ranks.
Proclet* end_of(const Proclet* rank);
/// Called when such a proclet finishes: the proclet that has left finishes, too.
void end_of_left_rank(const Proclet* end);
/// True when `p` is such a proclet.
bool is_end(const Proclet* p);

// helpers.cc
[[noreturn]] void helper_main(Proclet* self);
char* helper_stack_top(const Proclet* p);
bool helper_stack_intact(const Proclet* p);
/// Bytes of the helpers' stacks that were written.
uint64_t written_by_helpers();
/// A trimmer (sched.h): frees what idle helpers have not needed since the last call.
bool trim_helpers();
/// The number of the helper whose proclet is at this address, or -1.
int64_t helper_at(const Proclet* p);
/// True when the data of the helper agree with its number. REQUIRES: it has that number.
bool helper_is_sound(const Proclet* p, uint32_t number);
Proclet* helper_of_address(const void* address, bool* in_guard);
/// Parks a helper that has nothing to do; it is in no queue afterwards. May switch.
void park_idle_helper(Proclet* self);

}  // namespace fgmpi::sched
