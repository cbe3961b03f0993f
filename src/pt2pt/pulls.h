// Pulls: rendezvous messages whose data this process, the receiver, is getting.
//
//   begin() --MemoryReader::read--> complete_read()     the bytes are here at once, or later
//           --kClear, kData... --> receive_data()       where they cannot be read, or the bytes of
//                                                       the sender are no row (no addr)
//
// Bytes for a receive buffer that is no row are read in pieces, and laid out piece by piece as they
// arrive: no memory is needed for the message. A reader that takes its time would need it, so there
// data frames are asked for.
//
// A pull that is complete acknowledges the message where the transport has read it, and completes
// its receive. Thread rule: one thread. Nothing here switches.
#pragma once

#include <cstdint>

#include "pt2pt/cookies.h"
#include "pt2pt/operation.h"
#include "pt2pt/pool.h"
#include "transport/remote_memory.h"

namespace fgmpi::pt2pt {

class Pulls {
 public:
  /// Gets the `size` bytes at `addr` of the process's message into the receive, which ends with an
  /// error where there is no memory or the process is lost. `cookie`: the sender's.
  void begin(RecvOp* op, const Envelope& from, uint32_t process, uint64_t cookie, uint64_t addr,
             uint64_t size);
  /// The transport has ended the read that begin() began. `name`: the number that begin() gave it.
  void complete_read(uint64_t name, Status status);
  /// Stores a data frame. A frame that no pull expects is dropped and counted.
  void receive_data(const transport::Header& h, const void* payload, size_t length);
  /// Ends, with the error of status(), the pulls for which is_meant(process, receive) is true.
  /// Reads of a transport are not ended: they end in complete_read().
  template <class F, class G>
  void fail(F&& is_meant, G&& status) {
    const auto meant = [&](const Pull* p) { return !p->reading && is_meant(p->process, *p->op); };
    for (uint64_t name : named_.find_all(meant)) fail_one(name, status());
  }
  /// Is nothing being pulled?
  bool empty() const { return named_.used() == 0; }
  /// A trimmer (proclet-sched/sched.h).
  bool trim() { return pool_.trim(); }

 private:
  struct Pull {
    RecvOp* op;
    uint64_t sender_cookie;
    uint64_t length, missing;
    uint32_t process;
    bool reading = false;  ///< complete_read() will be called
  };

  bool make(RecvOp* op, uint32_t process, uint64_t cookie, uint64_t n, Pull** out, uint64_t* name);
  transport::ReadResult read(const Pull& pull, uint64_t addr, uint64_t name);
  void complete(uint64_t name);
  void fail_one(uint64_t name, Status status);

  Cookies<Pull> named_;
  Pool<Pull> pool_;
};

}  // namespace fgmpi::pt2pt
