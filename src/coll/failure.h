// Failures of collectives that span processes. A member whose data has another length than the
// others', or any other error in one process, ends the collective with an error in every process
// that is still in it. Its messages under way are dropped, so that the next collective works.
//
// How a disagreement is found. Messages of level two carry a signature of what all members must
// agree on (pt2pt.h), mostly the bytes of the whole vector: members with other lengths choose other
// algorithms, whose messages must not match those of this one. A disagreement is found when
//   - a message arrives for which there is no receive, and its collective is open here, or was
//     completed lately, with another signature;
//   - this process has been idle for a while although a collective is open: it compares again the
//     messages for which there was no receive, and asks the other processes to compare signatures.
//     One that has another signature answers with it, and the collective fails where it began. That
//     finds disagreements in which every process waits for a message of another one.
//
// How all processes learn of it. The first process that finds the error sends a notice to all
// others. Each of these does the same when it receives its first notice, whether it is in the
// collective, has completed it or has yet to begin it (then the collective fails as it begins).
// Notices do not overtake messages: after the notice of a process, no message of the collective
// comes from it. When the notices of all processes have come and this process has concluded the
// collective, its entry is removed. In a collective over the tree of a system-ranked communicator,
// "all others" are a process's parent and children there. The exception is a process whose members
// have called different collectives: it informs all others, and then every process does.
//
// A collective is identified by its communicator's context id (with the round, if it is persistent)
// and its number. While nothing fails, a collective costs one entry in a list and one in a ring of
// those completed last.
//
// Thread rule: one thread; nothing here switches. Handlers run inside poll.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "comm/comm.h"
#include "comm/meeting.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::coll {

/// A collective that is running in this process, on one team (team.h). An object is in a list while
/// it exists.
class OpenTeam {
 public:
  /// `comm`: the communicator's shared part in this process. `agreed`: a number that must be the
  /// same in all processes; its hash is the signature. A group within one process is not entered
  /// into the list.
  OpenTeam(comm::SharedComm* comm, uint64_t ctx, int32_t tag, uint64_t agreed, const char* call);
  OpenTeam(const OpenTeam&) = delete;
  OpenTeam& operator=(const OpenTeam&) = delete;
  ~OpenTeam();

  bool failed() const { return failed_; }
  /// The error with which it failed.
  Status failure() const;

  comm::SharedComm* const shared;  ///< nullptr: not in the list
  const uint64_t ctx;
  const int32_t tag;
  const pt2pt::Signature signature;
  const char* const call;
  int32_t serial = 0;  ///< a number that no other open team of this process has
  OpenTeam *next = nullptr, *prev = nullptr;  ///< base/list.h

 private:
  friend class Failures;
  bool failed_ = false;
};

/// Ends a collective in this process with its result, *status. Called once, by the member that acts
/// for all. The other processes are notified of an error. Where the data has come but the
/// collective has failed meanwhile, *status becomes that error: perhaps no other process is left in
/// it.
void conclude_between(comm::SharedComm* shared, const comm::Meeting* meeting, Status* status);
inline void conclude(comm::SharedComm* shared, const comm::Meeting* meeting, Status* status) {
  if (shared->processes > 1 || shared->inter) conclude_between(shared, meeting, status);
}

/// Registers the handlers. Idempotent.
void init_failures();

/// The number of a collective in the tags of its messages, and the bits that are not the number.
inline constexpr int kNumberBit = 7;
inline constexpr int32_t kNotNumber = (1 << kNumberBit) - 1;
/// The bit that is set, on a system-ranked communicator, when the collective goes over its tree.
inline constexpr int32_t kOverTree = 2;

/// Compares the signature that another process has sent by multicast with that of the collective
/// here, open or completed lately. The collective fails if they differ. Where it is completed here,
/// the communicator's next one fails, too.
void compare_signature(uint64_t ctx, int32_t tag, pt2pt::Signature signature, uint32_t process);

/// Called while the process is idle. If it has been idle for long, asks the other processes to
/// compare signatures. Returns the ns after which this must be called again at the latest (-1:
/// no limit).
int64_t compare_signatures_when_idle();

}  // namespace fgmpi::coll
