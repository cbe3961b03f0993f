// Who runs, for reports of crashes and internal errors. The answer is based on addresses, which
// cannot be overwritten, and not on the contents of memory, which can.
//
// A rank's number is the position of its Proclet among the descriptors. A pointer that is no such
// position belongs to no rank. What a descriptor contains (number, kind, stack) must agree with its
// position; otherwise memory of the library has been overwritten. Which proclet runs, and its last
// call, are in the library's static memory (Hot, last_call.h). The stack pointer confirms it: where
// the recorded proclet is none, the owner of the stack is the one that ran last.
//
// Thread rule: the scheduler's thread, or one that is about to end the process. Nothing allocates
// or locks. What is in the heap (helpers, spawned ranks) may be destroyed too: callers survive a
// fault in here (src/privatize/libc/crash.cc).
#pragma once

#include <cstddef>
#include <cstdint>

#include "proclet-sched/sched.h"

namespace fgmpi::sched {

struct Identity {
  enum Who : uint8_t {
    kNobody,  ///< the host stack, between two proclets: the rank is the one that ran last
    kRank,
    kHelper,   ///< of the rank, or of an unknown one
    kThread,   ///< a thread of a rank
    kUnknown,  ///< memory names a proclet that does not exist
  } who = kNobody;
  bool has_rank = false;
  uint32_t rank = 0;  ///< the rank's number in this process
  /// The library's data about its proclets contradict each other.
  bool damaged = false;
};

/// Identifies `p`; where `p` is no proclet, the one on whose stack the pointer is
/// (nullptr: unknown).
Identity identify(const Proclet* p, const void* stack_pointer);

/// Identifies the calling thread.
Identity identify_caller(const void* stack_pointer);

/// Writes words such as "rank 3" or "a helper of rank 3", with the rank's number in MPI_COMM_WORLD.
constexpr size_t kMostIdentityWords = 96;
void name_identity(const Identity& identity, char* words, size_t size);

/// The last MPI call of the running proclet; nullptr: none, or unknown (another thread has
/// called since).
const char* last_call();

/// True for an address in the pages beside the descriptors. These pages stop a write past the
/// memory before or after the descriptors.
bool is_guard_of_descriptors(const void* address);

/// Writes words such as "rank 3 ran last, its last call was MPI_Recv", and whether memory has been
/// overwritten. For end_hooks.h.
void describe_caller(char* words, size_t size);

}  // namespace fgmpi::sched
