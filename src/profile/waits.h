// The peers for which a parked rank waits, as another thread can see them.
//
// The library describes each rank's wait (pt2pt/sites.h) on stacks that may be gone a moment later.
// So this file never dereferences such data. It copies the data by process_vm_readv, as from
// another process, which fails where there is no memory. A copy may mix two successive waits; then
// one sample is wrong. Thread rule: one thread. Nothing here acquires a lock or calls MPI.
#pragma once

#include <unistd.h>

#include <cstdint>

#include "base/process_memory.h"
#include "profile/recorder.h"

namespace fgmpi::report {

struct Awaited {
  /// As RankRecord::peer: a world rank to send to, or with kIsSource one to receive from.
  int32_t peer = kNoPeer;
  /// Ranks whose messages have arrived while it waits for another one's; at most kMostOthers.
  int others = 0;
};

class Waits {
 public:
  static constexpr int kMostOthers = 6, kMostRequests = 32;

  Waits();
  /// Does the library have the layout that this file expects, and does the system allow reading?
  bool readable() const { return readable_; }
  /// The wait of the rank with this index in the process, which is parked at `site` in the call
  /// that its record names.
  Awaited of(int32_t local, uint64_t site, const RankRecord& rank);

 private:
  template <class T>
  bool read(uint64_t address, T* out) {
    return memory_.read(address, out, sizeof *out);
  }
  int others(int32_t local, uint64_t receive);
  int32_t first_incomplete(uint64_t requests, size_t count, bool any_ends_it);

  ProcessMemory memory_{getpid()};  ///< the sampler's process; a child by fork() has no sampler
  bool readable_ = false;
};

}  // namespace fgmpi::report
