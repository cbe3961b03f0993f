// Where the blocks of the program's heap begin, as the wrappers of gcc/access tell: a bit for each
// 16 bytes of address space, in leaves that are made when they are first needed. The allocator
// itself tells how long a block is. Thread rule: any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::check {

struct HeapBlock {
  const char *low = nullptr, *high = nullptr;
};

/// A block begins here; earlier ones in its bytes were freed unseen.
void add_heap_block(const void* block, size_t bytes);
void remove_heap_block(const void* block);
/// The block that holds the address; empty where none is known.
HeapBlock heap_block_of(const void* address);

}  // namespace fgmpi::check
