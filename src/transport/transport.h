// Transports: carriers of frames (frames.h) that connect the processes of a job by addresses.
//
// Each process publishes the address of its transport through the launcher. The transport bit of a
// process's address-vector element picks the transport that carries its messages
// (src/ch4-av-rankmap). A new transport is one folder below this one (README.md); the registry
// (registry.h) makes those that a process uses.
//
// Thread rule: one thread per process; peers are other processes. Only close() may block.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "transport/frames.h"

namespace fgmpi::transport {

/// Where a transport delivers. `memory` may be nullptr where nothing is read or accessed.
struct Sinks {
  FrameSink* frames = nullptr;
  MemorySink* memory = nullptr;
};

class Transport : public FrameCarrier {
 public:
  /// Can this transport carry messages to the peer that published `address`? False for an
  /// address of another transport, of another host (shm), or in an unknown format. REQUIRES:
  /// open() was called.
  virtual bool reaches(const std::string& address) const = 0;

  /// Opens the transport and sets this process's address, which peers get: at most 200 printable
  /// bytes without spaces.
  virtual Status open(const Sinks& sinks, std::string* address) = 0;
  /// Introduces peer `process` by its published address. Called once for each peer, before the
  /// first send. Sets *local to the 63 bits for its address-vector element. Uses at most constant
  /// memory per peer.
  virtual Status add_peer(uint32_t process, const std::string& address, uint64_t* local) = 0;
  /// Called when all peers have been added and every process has reached this call (a fence lies
  /// between): names may be unlinked, and messages sent. `me`: the number that this process has
  /// for its peers.
  virtual void all_connected(uint32_t me) { (void)me; }

  /// How many frames were refused because they were malformed or came from a stranger.
  virtual uint64_t refused() const = 0;

  /// Flushes frames that were sent but may not have been received by the peer, then
  /// releases everything.
  virtual void close() = 0;
};

}  // namespace fgmpi::transport
