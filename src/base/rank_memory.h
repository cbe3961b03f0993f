// The memory by which the program of a rank lives, where ranks have slots (FGMPI_HEAP=rank): what
// has to be saved, and put to the same addresses, for the rank to go on in another process.
//
//   slot   | guard | stack, from the stack pointer of a waiting rank up | image | heap | mappings
//
// Images of libraries that a rank has loaded while it ran lie among its mappings, and so does that
// of the program of a spawned rank.
//
// The library (libmpich) defines the function, which preloaded libraries call. Ranges are whole
// pages, in ascending order, with all that the rank may ever have written. Most of their pages were
// never written: WrittenPages (written_pages.h) finds those that were.
//
// Thread rule: the scheduler's thread, also in the child of a fork. Nothing switches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi {

enum class RankMemoryPart : uint8_t {
  kStack,
  kImage,    ///< of the program, and of libraries of which each rank has its own variables
  kHeap,     ///< blocks of malloc, and what the heap knows of them
  kMapping,  ///< mappings of the program (mmap), but for shared ones
};

struct RankMemoryRange {
  char *low, *high;
  int protection;  ///< PROT_*
  RankMemoryPart part;
  /// A private mapping of a file: pages that the rank has not written have the file's bytes, or
  /// what the library writes to each new image. Other pages that were not written are zero.
  bool of_file;
};

using VisitRankMemory = void(uint32_t index, const RankMemoryRange& range, void* data);

}  // namespace fgmpi

/// Calls visit(index, range, data) for all memory of the ranks first .. first + count - 1 of this
/// process. Returns nullptr, or the reason why a rank has memory elsewhere: then nothing was
/// visited. Reads all mappings of the process once: a call for many ranks costs no more than one
/// for a single rank. The stack of a waiting rank that was packed is unpacked; areas of the running
/// rank that are swapped at switches (privatize/image/swap.h) are copied to where they are kept.
extern "C" __attribute__((visibility("default"))) const char* fgmpi_memory_of_ranks(
    uint32_t first, uint32_t count, fgmpi::VisitRankMemory* visit, void* data);
