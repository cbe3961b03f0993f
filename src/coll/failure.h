// Failures of collectives that span processes. A member whose data has another length than the
// others', or any other error in one process, ends the collective with an error in every process
// that is still in it; what it has on its way is dropped, so that the next collective works.
//
// How a disagreement is found. Messages of level two carry a signature of what all members must
// agree on (pt2pt.h), mostly the bytes of the whole vector: other lengths choose other algorithms,
// whose messages must not be taken for each other.
//   - A message comes that no receive has taken, and its collective is open here, or was completed
//     lately, with another signature.
//   - Nothing has moved in this process for a while and a collective is open: its messages are
//     looked through again, and the other processes are asked to compare signatures. So also those
//     disagreements are found in which every process waits for another one's message.
//
// How it is told. The first process that knows tells all others in one notice each, and so does
// each of these when it learns of it, whether it is in the collective, has completed it or has yet to
// begin it (then it fails as it begins). Notices do not overtake messages: after that of a process,
// no message of the collective comes from there. When all have come and this process is done with
// the collective, it forgets about it.
//
// A collective is named by its communicator's context id (with the round, if it is persistent) and
// its number. Costs nothing while nothing fails but one entry in a list and in a ring of the last
// completed.
//
// Thread rule: one thread; nothing here switches. Handlers run inside poll.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "comm/comm.h"
#include "comm/meeting.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::coll {

/// An open collective as one team of processes in it (team.h); in a list while it lives.
class OpenTeam {
 public:
  /// `own`: the communicator's part here. The signature stands for `agreed`, which must be the same
  /// in all processes. Of a group that lives in this process alone, nothing is kept.
  OpenTeam(comm::SharedComm* own, uint64_t ctx, int32_t tag, uint64_t agreed, const char* call);
  OpenTeam(const OpenTeam&) = delete;
  OpenTeam& operator=(const OpenTeam&) = delete;
  ~OpenTeam();

  bool failed() const { return failed_; }
  /// Why it failed.
  Status failure() const;

  comm::SharedComm* const shared;  ///< nullptr: nothing is kept
  const uint64_t ctx;
  const int32_t tag;
  const pt2pt::Signature signature;
  const char* const call;
  OpenTeam *next = nullptr, *previous = nullptr;

 private:
  friend class Failures;
  bool failed_ = false;
};

/// The end of a collective in this process: to be called once by whoever acts for its members, with
/// the verdict. An error is told to the other processes.
void conclude_between(comm::SharedComm* shared, const comm::Meeting* meeting, const Status& status);
inline void conclude(comm::SharedComm* shared, const comm::Meeting* meeting, const Status& status) {
  if (shared->processes > 1 || shared->inter) conclude_between(shared, meeting, status);
}

/// Registers the handlers. Idempotent.
void init_failures();

/// The number of a collective in the tags of its messages, and the bits that are not the number.
inline constexpr int kNumberBit = 7;
inline constexpr int32_t kNotNumber = (1 << kNumberBit) - 1;
/// The bit that says, of a system-ranked communicator, that the collective goes over its tree.
inline constexpr int32_t kOverTree = 2;

/// The process is idle. Returns how long it may sleep at most, in ns (-1: no limit), before this is
/// to be called again.
int64_t look_for_disagreement();

}  // namespace fgmpi::coll
