// Connections between jobs: one intercommunicator over the groups of two sides (MPI-4.0 sections
// 11.8 and 11.10.4).
//
//   side A                                                     side B
//   processes --card--> process of the root                    the same
//                       | map of A's members, id drawn  <----> map of B's members, id drawn
//   processes <--both maps, the smaller id--|                  the same: each adds the other job if
//                                                              that is new
//   processes --fine--> process of the root                    the same
//                       | all is fine here              <----> all is fine here
//   processes <--go on--|                                      the same: makes the intercomm.
//
// A map begins with the id that its side has drawn. A rank of a spawned job that ends before it
// calls MPI_Init sends the id 0 and its number: then the spawn has failed.
//
// Any failure on the way fails the call at all members of both sides, with the error text of the
// process that found it; no state of the attempt remains.
// Thread rule: one thread; all functions may switch.
#pragma once

#include <memory>
#include <string>

#include "comm/comm.h"
#include "dynamic/conversation.h"
#include "dynamic/spawn.h"

namespace fgmpi::dynamic {

/// The way in which a side begins its conversation with the other one.
enum class ConnectionWay { kAccept, kConnect, kJoin, kSpawn };
struct ConnectArguments {
  ConnectionWay way;
  const char* call;
  std::string port;  ///< kAccept, kConnect: significant at the root
  int fd = -1;       ///< kJoin
  /// kSpawn: the programs to start, at the root; and the outcome of each rank, at all members.
  const std::vector<Command>* commands = nullptr;
  std::vector<int>* codes = nullptr;
};
/// Connects. Errors: MPI_ERR_PORT (port, time over, the other side failed), MPI_ERR_COMM (members
/// in common).
Status connect(comm::Comm* comm, int root, const ConnectArguments& arguments, comm::Comm** out);

/// The number of seconds that connect() waits to be accepted: MPIR_CVAR_CH4_COMM_CONNECT_TIMEOUT.
/// Errors: MPI_ERR_OTHER for a value that is not allowed.
Status connect_timeout(int64_t* seconds);

/// Sets the uid of the own job. It is the same in all of its processes (a hash of what process 0
/// published at the start), or drawn.
void set_own_job_uid(const std::string& published);

/// Called when all ranks of this process have ended: sends a bye to the other jobs and
/// closes connections.
void finish();

}  // namespace fgmpi::dynamic
