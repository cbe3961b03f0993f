// Programs that bring their own allocator: malloc and its relatives (tcmalloc, jemalloc and the
// like, linked statically), or operator new and delete.
//
// Shared libraries call the allocator of image 0. A rank's code may free memory that they have
// allocated, and the other way round. An allocator with state of its own in each image would then
// be asked to free memory that it has not allocated. Therefore a process has one allocator: in
// every other image, the first bytes of each of its functions are replaced by a jump to the same
// function of image 0. The allocator's statistics are then those of the process, not of a rank
// (docs/hazards.md). Cost: each image has private copies of the pages of code that are changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "privatize/image/elf_module.h"

namespace fgmpi::privatize {

/// Offsets of the allocator's functions that the program defines. Functions shorter than a jump are
/// left out: they can only call another function of the list.
std::vector<uintptr_t> allocator_functions(const ElfModule& program);

/// True for the names of the functions that an allocator may define.
bool is_allocator_function(const char* name);

/// Finds the library that defines malloc, unless that is the program or the C library, whose own
/// locks are not interposed, and the libraries that it calls in the middle of its work, such as
/// libunwind. Called once, before ranks run.
void find_allocator_modules();
/// True for code in one of these libraries. Waits there must not switch: an allocator has state for
/// each thread, and its caller, perhaps this library, may be in the middle of an operation.
/// Allocates nothing.
bool in_allocator(const void* address);

}  // namespace fgmpi::privatize
