// Connections between jobs: one intercommunicator over what two sides bring (MPI-4.0 sections 11.8
// and 11.10.4).
//
//   side A                                                     side B
//   processes --card--> process of the root                    the same
//                       | map of A's members, id drawn  <----> map of B's members, id drawn
//   processes <--both maps, the smaller id--|                  the same: each adds the other job, if it is new
//   processes --fine--> process of the root                    the same
//                       | all is fine here              <----> all is fine here
//   processes <--go on--|                                      the same: the intercommunicator is made
//
// A map begins with the id that its side has drawn. A rank of a spawned job that ends before it
// calls MPI_Init says the id 0 and its number: the spawn has failed.
//
// Whatever fails on the way fails the call at all members of both sides, with the words of who
// found it; then nothing stays behind.
// Thread rule: one thread; all may switch.
#pragma once

#include <memory>
#include <string>

#include "comm/comm.h"
#include "dynamic/conversation.h"
#include "dynamic/spawn.h"

namespace fgmpi::dynamic {

/// How a side comes to its conversation with the other one.
enum class Way { kAccept, kConnect, kJoin, kSpawn };
struct ConnectArguments {
  Way way;
  const char* call;
  std::string port;  ///< kAccept, kConnect: significant at the root
  int fd = -1;       ///< kJoin
  /// kSpawn: what to start, at the root; and the outcome of each rank, at all members.
  const std::vector<Command>* commands = nullptr;
  std::vector<int>* codes = nullptr;
};
/// Errors: MPI_ERR_PORT (port, time over, the other side failed), MPI_ERR_COMM (members in common).
Status connect(comm::Comm* comm, int root, const ConnectArguments& arguments, comm::Comm** out);

/// Seconds that connect() waits to be accepted: MPIR_CVAR_CH4_COMM_CONNECT_TIMEOUT. Errors:
/// MPI_ERR_OTHER for nonsense.
Status connect_timeout(int64_t* seconds);

/// Names the own job; the same in all of its processes (a hash of what process 0 published at the
/// start), or drawn.
void name_own_job(const std::string& published);

/// All ranks of this process have ended: the other jobs are told, connections closed.
void finish();

}  // namespace fgmpi::dynamic
