// Ranks that go from one process of a host to another while the job runs (fgmpi_give_rank,
// base/checkpoint_link.h).
//
//   home A                          | memory file of A: slot | slot of R | slot | |
//   process B, which R visits       |                 mapped at the same addresses |
//
// R's stack, image, heap and what the library keeps for its program are in its slot, so a move
// copies nothing: A forgets where R's stack pointer was, and B goes on there. B maps A's file when
// the first rank of A comes, and the program's code into R's slot when R first comes; both stay, so
// that later moves make no mapping. In A the slot stays mapped, too. The system allows a process
// only so many mappings (vm.max_map_count): an eighth of these is left to all else, and a rank for
// which B has none left is refused (prepare_visit()).
//
// What is outside of the slot goes along: the rank's unfinished lines of output, handlers of
// signals, streams (in the C library's list of all), descriptors (rank_descriptors.h). A rank stays
// where it is while it has threads, children, a timer, a locale or a protection of memory of its
// own, or has loaded a library; so do all while ranks of the process have threads. Both processes
// must have their code, and their working folder, at the same place; locks of files (fcntl) belong
// to a process, and stay.
//
// Numbers: a visitor's is behind those of the process's ranks, and another one at each visit.
//
// Thread rule: the scheduler's thread. Nothing here switches, but a rank that is given away is
// left.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/checkpoint_link.h"
#include "proclet-sched/sched.h"

namespace fgmpi::privatize {

struct Image;

/// Called once, before ranks run, where their slots are in files.
void prepare_for_visitors();
/// The slot of the running rank.
checkpoint::RankSlot slot_of_running_rank();
/// Maps the slot of a rank that may come, so that a later fgmpi_take_rank() makes no mapping.
/// Returns nullptr, or why the rank cannot come; the words hold until the next call. REQUIRES:
/// called on the stack with which the process began.
const char* prepare_visit(const checkpoint::RankSlot& rank);
/// The image of a visitor.
Image* image_of_visitor(uint32_t index);
/// A slot that is in a memory file.
struct SlotInFile {
  char* at = nullptr;
  size_t bytes = 0;
  int file = -1;
  uint64_t offset = 0;  ///< in the file
};
/// Finds the slot of a rank of this process, or of a visitor; false: it has none in a file.
bool find_slot_in_file(const sched::Proclet* rank, SlotInFile* out);
/// The program of the running rank is about to have what only this process would have, such as a
/// mapping of a file: a visitor goes home before. False, with a line: it cannot. Changes no errno.
/// May switch.
bool bring_home(const char* for_what);
/// The program of the running rank is about to have what keeps it where it is: a thread, a child, a
/// timer, a library. A visitor goes home before, if it can; else it stays where it is, and cannot
/// call MPI_Finalize until it has given that up. Changes no errno. May switch.
void try_to_bring_home();
/// The running rank is about to end: a visitor goes home. Where it cannot, the process ends, with a
/// line and this status, or 1 in place of 0. May switch.
void take_home_to_end(int status);

}  // namespace fgmpi::privatize
