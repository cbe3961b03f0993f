// Messages of a rank on its communicators, by way, counted while a tool has started a performance
// variable of the communicator (tool_pvar.cc). Sends count here where they raise events (events.h):
// without a tool this costs nothing.
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <cstdint>

#include "comm/comm.h"

namespace fgmpi::mpi {

enum class MessageWay : uint8_t { kLocal, kShared, kNetwork };
inline constexpr int kWays = 3;
/// How messages reach a rank of MPI_COMM_WORLD; kNetwork where the rank's process is unknown or of
/// another job.
MessageWay way_to(uint32_t world_rank);

namespace comm_messages {
/// True while messages of a communicator are counted.
bool counting();
/// Counts a message to rank `dest` of the peer group; -1 for an unknown destination. Never fails.
void count(const comm::Comm* comm, int dest, int64_t bytes);
}  // namespace comm_messages

}  // namespace fgmpi::mpi
