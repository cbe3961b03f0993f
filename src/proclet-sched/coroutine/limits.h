// What the system leaves to this process: mappings, address space, memory. It is checked before
// ranks are made, so that an error can say how many ranks would fit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::sched {

/// The limit on mappings of this system (vm.max_map_count), or the kernel's default where that
/// cannot be read.
int64_t max_map_count();
/// Mappings that this process has now.
int64_t mappings_in_use();
/// Mappings left for heaps, large allocations and libraries loaded later.
constexpr int64_t kSpareMappings = 2000;
/// Mappings that images of ranks will still need, and that guards of stacks must leave
/// free. One thread.
void add_promised_mappings(int64_t more);
int64_t promised_mappings();

/// Bytes of address space that the process may still reserve: RLIMIT_AS, else half of x86-64's.
uint64_t address_space_left();
/// Bytes of available memory: of the machine or of the tightest control group, whichever is less;
/// -1: unknown.
int64_t memory_left();

/// The largest number of ranks, at most `count`, whose stacks and `each` more bytes fit into
/// `room`. `stack_size` 0: the smallest that default_stack_size() gives.
uint32_t ranks_that_fit(uint64_t room, uint64_t each, uint32_t count, size_t stack_size);

}  // namespace fgmpi::sched
