// Ports and names of an explored process: connections between its own ranks, in the order that the
// explorer chooses (connection_decider.h).
//
// An exploration forks its process, and cannot fork anything outside the process. So an explored
// process opens no sockets: only its own ranks can use its ports and published names. Callers of a
// port are accepted in the order in which they come, and acceptors there are served in the order
// in which they come. Those orders, and the order of publishing a name and looking it up, are
// choices: each port and name is a memory of its own that is accessed, and accesses to the same
// memory conflict.
//
//   connect: its turn at the callers of the port ----.   both wait for each other, and each
//   accept:  its turn at the acceptors of the port --'-> gets the other side's group and id
//
// Thread rule: one thread. Invariant: where a side waits at a port, no side waits there for it.
#pragma once

#include <string>

#include "base/status.h"
#include "ch4-av-rankmap/rankmap.h"
#include "comm/comm.h"

namespace fgmpi::dynamic::inside {

/// True if this process is explored.
bool is_on();

/// Opens a port. Its name contains the number of the port among those of the running rank, and is
/// the same in every execution.
std::string open_port();
/// Closes a port. A side that waits to connect there gets an error. Errors: MPI_ERR_PORT.
Status close_port(const std::string& name);

/// What a side learns about the other one.
struct Met {
  RankMap remote;
  comm::ContextId id;  ///< of the intercommunicator
  /// The id that the other side has drawn, and with which it has called record_order_source().
  comm::ContextId theirs;
};
/// Waits at a port for the other side. `own`: the id that this side has drawn. May switch. Errors:
/// MPI_ERR_PORT (no such port, or closed meanwhile), MPI_ERR_COMM (members in common).
Status meet(const std::string& port, bool accepts, const RankMap& group, comm::ContextId own,
            const char* call, Met* out);

/// As in names.h. May switch.
Status publish_name(const std::string& service, const std::string& port);
Status unpublish_name(const std::string& service);
Status lookup_name(const std::string& service, std::string* port);

/// These two record for the explorer that what the running rank has done so far comes before what
/// another rank does after its record_order_target() with the same id. They do nothing in a process
/// that is not explored, and never switch.
void record_order_source(comm::ContextId id);
void record_order_target(comm::ContextId id);
/// Records for the explorer that other processes take part in an operation. REQUIRES: is_on().
/// Never switches.
void record_undecided();

}  // namespace fgmpi::dynamic::inside
