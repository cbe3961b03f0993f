// Messages of a rank on its communicators, by way: counted while a tool has started a performance
// variable of the communicator (tool_pvar.cc). Sends tell here what they tell events (events.h):
// nobody else pays for it.
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <cstdint>

#include "comm/comm.h"

namespace fgmpi::mpi {

enum class Way : uint8_t { kLocal, kShared, kNetwork };
inline constexpr int kWays = 3;
/// How messages reach a rank of MPI_COMM_WORLD; kNetwork where its process is not known or of
/// another job.
Way way_to(uint32_t world_rank);

namespace comm_messages {
/// Some communicator is counted.
bool counting();
/// A message to rank `dest` of the peer group, or one whose destination is not known (-1). Never
/// fails.
void count(const comm::Comm* comm, int dest, int64_t bytes);
}  // namespace comm_messages

}  // namespace fgmpi::mpi
