// Meeting: level one of every collective. The collocated members of a communicator arrive at a meeting with
// a description of their arguments; the last to arrive acts for all of them (it alone talks to other
// processes, as the process, and moves everybody's data), then releases the others.
//
//   member 0: Arrival{rank, args} --+
//   member 1: Arrival{rank, args} --+--> Meeting #sequence of the SharedComm --> last arrival acts
//   member 2: Arrival{rank, args} --+
//
// No messages, no copies of arguments: an Arrival lives on its member's stack (blocking) or in its request
// (nonblocking: then the act runs on a helper coroutine and completes the requests; the same code).
// Several meetings of one communicator may be open (nonblocking collectives): each has the sequence number
// that all members count in step (Comm::sequence).
//
// Thread rule: one thread. Invariants: a meeting closes when SharedComm::members have arrived; its act runs once.
// Used by src/comm (creation) and src/coll (everything else).
#pragma once

#include <cstdint>
#include <span>

#include "comm/comm.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::comm {

/// A collective's per-member arguments derive from this.
struct Arrival {
  Arrival* next = nullptr;  ///< chain of a meeting, in order of arrival until sorted
  Comm* comm = nullptr;
  int32_t rank = -1;
  sched::Proclet* proclet = nullptr;  ///< parked here until released; nullptr: nonblocking
  pt2pt::Request* request = nullptr;  ///< completed at release; nullptr: blocking
  bool released = false;
  Status status;                      ///< the act's verdict for this member
};

struct Meeting {
  uint32_t sequence = 0;
  uint32_t arrived = 0;
  uint8_t operation = 0;     ///< which collective the first arrival is in: a mismatch is an error, named
  const char* call = "";     ///< its name, for the deadlock report
  Arrival* arrivals = nullptr;
  Arrival* last = nullptr;
  Meeting* next = nullptr;   ///< open meetings of the same communicator
};

/// What to do once all collocated members are there. Runs on the last arriver's stack (blocking) or on a
/// helper; may switch. arrivals: chain in order of arrival, `count` long.
using Act = void (*)(SharedComm* shared, Meeting* meeting);

/// Joins the meeting of this member's next collective and returns when it has been released. May switch.
/// `operation`: a small code of the collective; members that meet with different codes get MPI_ERR_OTHER... all
/// named: "rank 3 is in MPI_Bcast, rank 0 in MPI_Barrier".
Status meet(Comm* comm, Arrival* mine, uint8_t operation, const char* call, Act act);

/// Nonblocking: the arrival lives in `request`, which completes when the act has run. Never switches.
Status meet_nonblocking(Comm* comm, Arrival* mine, uint8_t operation, const char* call, Act act,
                        pt2pt::Request* request);

}  // namespace fgmpi::comm
