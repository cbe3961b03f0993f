// Shared-memory transport between the processes of one host.
//
// Each process owns a segment (segment.h) with one ring (ring.h) for each process that has sent to
// it; the first send claims the ring. The receiver polls the next cell of each ring. A process that
// waits arms its doorbell (doorbell.h) and sleeps on a futex, or on a pipe when other transports
// have descriptors.
//
// Settings: FGMPI_SHM_CELLS, FGMPI_SHM_BULK (the ring of a pair of processes), FGMPI_SHM_CMA=on|off
// (reads of a peer's memory), FGMPI_SHM_READ_MIN (the fewest bytes that are read rather than sent
// as frames), FGMPI_SHM_PAST_CACHES=auto|on|off (how long payloads are written, stores.h),
// FGMPI_SHM_BACKING=memfd|shm. Thread rule: one thread. Only sleep() blocks. The first send to a
// peer makes a few system calls; later ones make none unless the receiver sleeps.
// Where many processes have sent to this one, only those that did so of late are looked at by each
// poll, and eight of the others in turn, so that a poll does not grow with the number of processes.
// Before a sleep, and after it, all are looked at.
// Invariants: a ring has one writer, the process named in its slot; frames that name another source
// are refused. A ring with an impossible frame is not read any more, and its writer is reported as
// failed.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "transport/shm/doorbell.h"
#include "transport/shm/segment.h"
#include "transport/transport.h"

namespace fgmpi::transport::shm {

/// What this process stores about a peer; the 63 bits in its address-vector element are this
/// object's address.
struct alignas(kLine) ShmPeer {
  RingWriter writer;                ///< has no room at all until connected
  SegmentHeader* header = nullptr;  ///< its segment, once connected or woken
  bool light = false;               ///< the pair needs no fences
  bool announced = false;           ///< the peer has been informed which slot is ours
  bool starving = false;            ///< a try_send was refused for lack of room
  bool gone = false;                ///< finished, or failed: frames to it are dropped
  bool no_reads = false;            ///< the kernel does not let this process read its memory
  bool sends = false;               ///< it is one of sources_
  uint32_t process = 0;
  Geometry geometry{};          ///< of its rings, as checked when connected
  int32_t pipe = -1;            ///< its wake-up pipe, opened when first rung
  SlotControl* slot = nullptr;  ///< set once connected
  void* ring = nullptr;
  SegmentName name;
};

/// A ring through which a peer sends to this process.
struct IncomingRing {
  RingReader reader;
  SlotControl* slot;
  ShmPeer* peer;
  bool broken = false;
  bool has_sent = true;  ///< since the last look at who sends (Shm::rest_quiet_sources)
};

class Shm final : public Transport, private MemoryReader, private OwnSleep, private SharedWaits {
 public:
  Shm();
  ~Shm() override { close(); }
  const char* name() const override { return "shm"; }
  Status open(const Sinks& sinks, std::string* address) override;
  bool reaches(const std::string& address) const override;
  Status add_peer(uint32_t process, const std::string& address, uint64_t* local) override;
  void all_connected(uint32_t) override { segment_.unlink(); }
  size_t max_payload() const override { return max_payload_; }
  bool try_send(uint32_t process, uint64_t peer, const Header& header, const void* payload,
                size_t length) override;
  char* try_reserve(uint32_t process, uint64_t peer, size_t length) override;
  void send_reserved(uint32_t process, uint64_t peer, const Header& header, size_t length) override;
  MemoryReader* memory_reader() override { return this; }
  bool reads_at_once() const override { return true; }
  SharedWaits* shared_waits() override { return this; }
  bool poll() override;
  bool arm() override;
  void disarm() override;
  int wait_fd() const override { return pipe_[0]; }
  int use_wait_fd() override;
  OwnSleep* own_sleep() override { return this; }
  bool tick() override;
  uint64_t refused() const override { return refused_; }
  void close() override;

 private:
  // MemoryReader
  ReadResult read(uint32_t process, uint64_t peer, uint64_t remote, void* local, size_t length,
                  uint64_t cookie) override;
  void expose(uint32_t process, uint64_t peer, size_t length) override;
  // SharedWaits
  void wake(uint64_t peer) override;
  bool sleeps(uint64_t peer) override;
  // OwnSleep
  void sleep(int64_t timeout_ns) override;
  void interrupt() override;

  bool slow_send(ShmPeer* peer, const Header& header, const void* payload, size_t length);
  Status map_doorbell(ShmPeer* peer, int* fd);
  bool has_doorbell(ShmPeer* peer);
  Status connect(ShmPeer* peer);
  void disconnect(ShmPeer* peer);
  bool drain(IncomingRing* source);
  bool poll_resting(size_t most);
  void rest_quiet_sources();
  void refuse(IncomingRing* source, const char* what);
  void wake_starving_sender(IncomingRing* source);
  bool adopt_sources();
  bool retry_starving();
  bool has_pending_work();
  void report_failures();
  bool check_gone(ShmPeer* peer);

  FrameSink* sink_ = nullptr;
  OwnSegment segment_;
  Geometry geometry_{};
  size_t max_payload_ = 0;
  /// First those that every poll looks at, since they have sent of late; then those that rest.
  std::vector<IncomingRing> sources_;
  size_t awake_sources_ = 0;
  size_t next_resting_ = 0;  ///< the place among those that rest at which the next poll goes on
  uint32_t polls_ = 0;       ///< since the last look at who sends
  bool poll_all_ = false;    ///< a sleep has ended: its cause may be in any ring
  uint32_t adopted_ = 0;     ///< slots examined so far
  std::vector<uint32_t> pending_;  ///< slots among them whose sender is not set yet
  std::vector<ShmPeer*> starving_;
  std::vector<std::pair<uint32_t, std::string>> failures_;  ///< to be reported by the next poll
  std::unordered_map<uint32_t, ShmPeer*> by_process_;
  std::vector<std::unique_ptr<ShmPeer>> peers_;
  size_t next_check_ = 0;
  uint64_t refused_ = 0;
  int pipe_[2] = {-1, -1};
  uint32_t bytes_due_ = 0;  ///< bytes in the pipe, or about to be written there by a ringing peer
  bool registered_ = false;
  bool reads_allowed_ = true;
  Stores::Rule rule_ = Stores::Rule::kMeasured;
  size_t least_read_ = 0;  ///< shorter messages are faster as frames
};

}  // namespace fgmpi::transport::shm
