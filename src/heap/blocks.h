// Where each block of the ranks was allocated, for the search of leaks (leaks.h). Off unless the
// library asks for it: a block takes 24 bytes more, and each call a look-up.
//
// Addresses are stored inverted, so that a search for pointers does not find them here.
// Thread rule: any thread; a lock inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fgmpi::heap {

struct PlacedBlock {
  uintptr_t inverted;  ///< ~address
  size_t bytes;        ///< as the program asked
  const void* place;   ///< of the call
};

void add_block(const void* block, size_t bytes, const void* place);
void remove_block(const void* block);
/// All blocks in [low, high), by descending `inverted`: ascending addresses.
std::vector<PlacedBlock> blocks_between(uintptr_t low, uintptr_t high);

}  // namespace fgmpi::heap
