// Ports and names of an explored process (pt2pt/decider.h): connections between its own ranks.
//
// An exploration forks its process, and can fork nothing that other processes know of it. So such a
// process opens no sockets: its ports and published names are known to its own ranks only. Callers
// of a port are accepted in the order in which they come, and who accepts there is served in the
// order in which it comes. Those orders, and those of publishing a name and looking it up, are
// choices: each is an access to memory of its own, and accesses to the same memory conflict.
//
//   connect: its turn at the callers of the port ----.   both wait for each other, and each
//   accept:  its turn at the acceptors of the port --'-> takes the other side's group and id
//
// Thread rule: one thread. Invariant: who waits at a port has nobody to be met there.
#pragma once

#include <string>

#include "base/status.h"
#include "ch4-av-rankmap/rankmap.h"
#include "comm/comm.h"

namespace fgmpi::dynamic::inside {

/// Is this process explored?
bool is_on();

/// The name says which of its ports the running rank has opened, and is the same in every
/// execution.
std::string open_port();
/// Who waits there gets an error. Errors: MPI_ERR_PORT.
Status close_port(const std::string& name);

/// What a side learns of the other one.
struct Met {
  RankMap remote;
  comm::ContextId id;  ///< of the intercommunicator
  /// What the other side has drawn; what it did is told by that name (pt2pt/decider.h).
  comm::ContextId theirs;
};
/// Comes to a port and waits for somebody who comes to the other end. `own`: drawn by this side.
/// May switch. Errors: MPI_ERR_PORT (no such port, or closed meanwhile), MPI_ERR_COMM (members in
/// common).
Status meet(const std::string& port, bool accepts, const RankMap& group, comm::ContextId own,
            const char* call, Met* out);

/// As in names.h. May switch.
Status publish_name(const std::string& service, const std::string& port);
Status unpublish_name(const std::string& service);
Status lookup_name(const std::string& service, std::string* port);

}  // namespace fgmpi::dynamic::inside
