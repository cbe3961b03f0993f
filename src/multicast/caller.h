// MulticastCaller: a collective in this process, as multicast sees it. Collectives are in a layer
// above this one (src/coll), which makes a caller for the team that wants to multicast.
//
// The processes of the collective are numbered from 0, in an order on which all of them agree
// (team ranks). Both ends of a transfer have the same context id, tag and signature.
//
// Thread rule: one thread. A caller lives as long as the step of the collective that made it.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::multicast {

class MulticastCaller {
 public:
  virtual ~MulticastCaller() = default;
  /// Has the collective failed, here or elsewhere? Then nothing is sent or received for it.
  virtual bool failed() const = 0;
  /// The error with which it failed.
  virtual Status failure() const = 0;

  uint32_t count() const { return static_cast<uint32_t>(processes.size()); }
  uint32_t process(uint32_t team_rank) const { return processes[team_rank]; }

  const std::span<const uint32_t> processes;  ///< by team rank
  const uint32_t me;                          ///< team rank of this process
  const uint64_t ctx;                         ///< context id with its plane
  const int32_t tag;
  const pt2pt::Signature signature;  ///< of what all members must agree on
  const char* const call;            ///< name of the MPI call, for errors and reports

 protected:
  MulticastCaller(std::span<const uint32_t> its_processes, uint32_t its_team_rank, uint64_t context,
                  int32_t its_tag, pt2pt::Signature its_signature, const char* name)
      : processes(its_processes),
        me(its_team_rank),
        ctx(context),
        tag(its_tag),
        signature(its_signature),
        call(name) {}
};

}  // namespace fgmpi::multicast
