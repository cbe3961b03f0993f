// A program that brings its own allocator: malloc and its relatives (tcmalloc, jemalloc and the
// like, linked statically), or operator new and delete.
//
// Shared libraries call the allocator of image 0. Memory that they allocate may be freed by a
// rank's code, and the other way round, so an allocator with state of its own in each image would
// be asked to free memory that it does not know. Therefore a process has one allocator: in every
// other image, the first bytes of each of its functions are replaced by a jump to the same function
// of image 0. Statistics that the allocator keeps are then the process's, not a rank's
// (docs/hazards.md). Cost: each image has private copies of the pages of code that are changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "privatize/elf_module.h"

namespace fgmpi::privatize {

/// Offsets of the allocator's functions that the program defines. Functions shorter than a jump are
/// left out: they can only call another function of the list.
std::vector<uintptr_t> allocator_functions(const ElfModule& program);

/// Is it the name of such a function?
bool is_allocator_function(const char* name);

/// x86-64: jmp *0(%rip), and the address behind it.
constexpr size_t kJumpBytes = 14;
void write_jump(char* at, uintptr_t target);

}  // namespace fgmpi::privatize
