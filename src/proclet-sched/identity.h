// Who runs, for reports of crashes and internal errors: judged by places, which cannot be
// overwritten, and not by what memory says, which can.
//
// A rank's number is the place of its Proclet among the descriptors; a pointer that is no place
// there is nobody's. What the descriptors say of themselves (numbers, kinds, stacks) must agree
// with their places: else memory of the library has been overwritten. Which proclet runs and what
// it has called last is in the library's static memory (Hot, last_call.h), and the stack pointer
// says it once more: where the proclet that should run is none, the stack's owner is the one that
// ran last.
//
// Thread rule: the scheduler's thread, or one that is about to end the process. Nothing allocates
// or locks. What is in the heap (helpers, spawned ranks) may be destroyed too: callers survive a
// fault in here (src/privatize/crash.cc).
#pragma once

#include <cstddef>
#include <cstdint>

#include "proclet-sched/sched.h"

namespace fgmpi::sched {

struct Identity {
  enum Who : uint8_t {
    kNobody,  ///< the host stack, between two proclets: the rank is the one that ran last
    kRank,
    kHelper,   ///< of the rank, or of one that cannot be told
    kThread,   ///< of a rank
    kUnknown,  ///< memory says that somebody runs who does not exist
  } who = kNobody;
  bool knows_rank = false;
  uint32_t rank = 0;  ///< in this process
  /// What the library keeps of its proclets contradicts itself.
  bool damaged = false;
};

/// Who `p` is, or who stands on the stack of that pointer (nullptr: unknown) where `p` is nobody.
Identity identify(const Proclet* p, const void* stack_pointer);

/// The same for the calling thread.
Identity identify_caller(const void* stack_pointer);

/// "rank 3", "a helper of rank 3", with the rank's number in MPI_COMM_WORLD.
constexpr size_t kMostIdentityWords = 96;
void name_identity(const Identity& identity, char* words, size_t size);

/// The MPI call that the running proclet has made last; nullptr: none, or it is not known (another
/// thread has called since).
const char* last_call();

/// True for an address in the pages beside the descriptors, which stop whoever writes past the
/// memory before or after them.
bool is_beside_descriptors(const void* address);

/// "rank 3 ran last, its last call was MPI_Recv", and whether memory has been overwritten: for
/// end_hooks.h.
void describe_caller(char* words, size_t size);

}  // namespace fgmpi::sched
