// ConnectionDecider: decides in which order ranks come to ports and published names (src/explore).
//
// A process has one only under mpiexec -explore and -replay. Its ranks then connect with each other
// as inside.h describes, and ask the decider for each step whose order another rank can observe.
// Only inside.cc calls it.
//
// Thread rule: one thread. Nothing here switches unless its comment says so.
#pragma once

#include <string_view>

#include "comm/comm.h"

namespace fgmpi::dynamic {

/// What a rank is about to do with a port or a published name. The order of two accesses to the
/// same end of a port, or to the same name, can be observed unless both only read the name.
struct ConnectionAccess {
  enum Use : uint8_t { kConnect, kAccept, kReadName, kChangeName };
  Use use = kConnect;
  std::string_view name;              ///< of the port, or the published one
  const uint64_t* changes = nullptr;  ///< counts the changes of a name; nullptr for a port
};

class ConnectionDecider {
 public:
  virtual ~ConnectionDecider() = default;
  /// Parks until the decider lets this access happen. The caller makes the access before it parks
  /// again. May switch.
  virtual void await_connection(const ConnectionAccess& access, const sched::WaitSite* site) = 0;
  /// These two record an edge between ranks that connect: what a rank did before its
  /// record_connection_source() comes before what another one does after its
  /// record_connection_target() with the same id.
  virtual void record_connection_source(comm::ContextId id) = 0;
  virtual void record_connection_target(comm::ContextId id) = 0;
  /// Records that other processes take part in an operation, which the decider cannot decide.
  virtual void record_undecided() = 0;
};

/// nullptr in all processes but those of mpiexec -explore and -replay.
extern ConnectionDecider* g_connection_decider;

}  // namespace fgmpi::dynamic
