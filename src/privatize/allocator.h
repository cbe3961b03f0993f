// A program that brings its own allocator: malloc and its relatives (tcmalloc, jemalloc and the like,
// linked statically), or operator new and delete.
//
// Shared libraries allocate by the functions of image 0, and what they allocate the program frees, and
// the other way round; an allocator that finds memory by state of its own would find another image's.
// So a process has one allocator: in images the first bytes of these functions become a jump to those
// of image 0. Its counters are the process's therefore (docs/hazards.md). It costs an image the pages of
// code that are written to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "privatize/elf_module.h"

namespace fgmpi::privatize {

/// Offsets of the allocator's functions that the program defines. None of those that are too short
/// for a jump: they cannot do more than call another.
std::vector<uintptr_t> own_allocator(const ElfModule& program);

/// x86-64: jmp *0(%rip), and the address behind it.
constexpr size_t kJumpBytes = 14;
void write_jump(char* at, uintptr_t target);

}  // namespace fgmpi::privatize
