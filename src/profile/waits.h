// Whom a parked rank waits for, as a thread beside it can see.
//
// The library keeps where each rank waits (pt2pt/sites.h), on stacks that may be gone a moment
// later. So nothing of it is touched: it is copied by process_vm_readv, as from another process,
// which fails where there is nothing. What is copied may be half of one wait and half of the next;
// a sample may then be wrong, not more. Thread rule: one thread. Nothing here takes a lock or calls
// MPI.
#pragma once

#include <unistd.h>

#include <cstdint>

#include "profile/recorder.h"

namespace fgmpi::report {

struct Awaited {
  /// As RankRecord::peer: a world rank to send to, or with kIsSource one to receive from.
  int32_t peer = kNoPeer;
  /// Ranks whose messages lie there while it waits for another one's, up to kMostOthers.
  int others = 0;
};

class Waits {
 public:
  static constexpr int kMostOthers = 6, kMostRequests = 32;

  Waits();
  /// The library has the layout that this one knows, and the system allows it.
  bool readable() const { return readable_; }
  /// Of the rank with this index in the process, which is parked at `site` in a call that its
  /// record tells.
  Awaited of(int32_t local, uint64_t site, const RankRecord& rank);

 private:
  template <class T>
  bool read(uint64_t address, T* out) {
    return read_bytes(address, out, sizeof *out);
  }
  bool read_bytes(uint64_t address, void* out, size_t bytes);
  int others(int32_t local, uint64_t receive);
  int32_t first_incomplete(uint64_t requests, size_t count, bool any_ends_it);

  pid_t process_ = getpid();  ///< the sampler's, of which a child by fork() has none
  bool readable_ = false;
};

}  // namespace fgmpi::report
