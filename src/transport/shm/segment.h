// A process's shared segment: created by its owner, mapped piecewise by the peers that send to it.
//
//   SegmentHeader   identity, geometry, the doorbell            (3 lines)
//   SlotControl[]   for each sender: its identity, the credits  (kSlots x 2 lines)
//   rings[]         one for each sender, page aligned           (kSlots x ring_bytes())
//
// The segment is sparse: it uses memory only where a pair of processes has exchanged messages. It
// is a memfd that peers open as /proc/PID/fd/N: it never has a name in /dev/shm, however the job
// ends. Where that is refused it is a POSIX shared memory object of mode 0600 under an
// unpredictable name, unlinked as soon as all peers have mapped it or its owner has died. A peer
// verifies that it has the right segment by a 128-bit nonce that is only in the published address
// and in the segment. The size of a memfd is sealed, so that no peer can shrink it while it is
// mapped.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/page.h"
#include "base/status.h"
#include "transport/shm/guard.h"
#include "transport/shm/ring.h"

namespace fgmpi::transport::shm {

inline constexpr uint64_t kMagic = 0x33304d485347462eull;
inline constexpr uint32_t kSlots = 1024;

/// How a process sleeps: the values of SegmentHeader::armed.
enum Armed : uint32_t { kAwake = 0, kOnFutex = 1, kOnPipe = 2 };

struct SegmentHeader {
  uint64_t magic;
  uint64_t nonce[2];
  Geometry geometry;  ///< peers use open_peer(), which reads it once
  uint32_t slots;
  /// The owner, when it arms, makes senders' stores visible by itself (doorbell.h).
  uint32_t asymmetric;
  std::atomic<int32_t> pipe;     ///< write end of the wake-up pipe in the owner's table, or -1
  std::atomic<uint32_t> closed;  ///< the owner has finished in order
  alignas(kLine) std::atomic<uint32_t> armed;
  alignas(kLine) std::atomic<uint32_t> claimed;  ///< slots given to senders
};

/// kReady: the sender's fields are set. kFinished: the sender has left in order.
enum SlotState : uint32_t { kEmpty = 0, kReady = 1, kFinished = 2 };

struct SlotControl {
  Credits credits;  ///< written by the owner
  struct alignas(kLine) SlotSender {
    std::atomic<uint32_t> ready;  ///< a SlotState
    uint32_t process;
    int32_t pid;
    std::atomic<uint32_t> wants_room;
  } sender;
};
static_assert(sizeof(SlotControl) == 2 * kLine);

inline size_t control_bytes() {
  return page_up(sizeof(SegmentHeader) + kSlots * sizeof(SlotControl));
}
/// Bytes of the mapping of a ring: whole pages.
inline size_t ring_bytes(Geometry g) { return page_up(g.bytes()); }
inline size_t segment_bytes(Geometry g) { return control_bytes() + kSlots * ring_bytes(g); }
inline size_t ring_offset(Geometry g, uint32_t slot) {
  return control_bytes() + slot * ring_bytes(g);
}
inline SlotControl* slot_controls(SegmentHeader* header) {
  return reinterpret_cast<SlotControl*>(header + 1);
}

/// What the published address contains about a segment.
struct SegmentName {
  std::string host;  ///< host_id() of the owner; with a file host_id_of_files()
  pid_t pid = 0;
  int fd = -1;  ///< the memfd in the owner's table, or -1
  uint64_t nonce[2] = {0, 0};
  bool has_file = false;

  /// "shm3:HOST:PID:FD:NONCE", FD being "shm" for a POSIX object.
  std::string to_string() const;
  /// False for any text that is not such an address.
  bool parse(std::string_view address);
  std::string file() const;  ///< name for shm_open
};

/// The segment of this process, mapped whole.
class OwnSegment {
 public:
  ~OwnSegment() { close(); }
  /// Creates the segment. `memfd` false: a POSIX object even where a memfd could be used.
  Status create(Geometry geometry, bool memfd);
  void unlink();
  void close();

  SegmentHeader* header() const { return header_; }
  SlotControl* controls() const { return slot_controls(header_); }
  void* ring(uint32_t slot) const {
    return reinterpret_cast<char*>(header_) + ring_offset(geometry_, slot);
  }
  const SegmentName& name() const { return name_; }
  Geometry geometry() const { return geometry_; }

 private:
  SegmentHeader* header_ = nullptr;
  Geometry geometry_{};
  SegmentName name_;
  SegmentGuard guard_;
  int fd_ = -1;
};

/// Opens a peer's segment, checks that it is the one of `name`, and maps its control part. The
/// descriptor is for map_ring(); the caller closes it. `geometry` is the segment's, read once
/// and checked: the peer can still write to the header, so no other length or offset may be
/// read from there.
Status open_peer(const SegmentName& name, int* fd, SegmentHeader** header, Geometry* geometry);
/// Maps one ring of a peer's segment and allocates its memory, so that a full /dev/shm is an error
/// here, not a SIGBUS.
Status map_ring(int fd, Geometry geometry, uint32_t slot, const SegmentName& name, void** ring);
void unmap_control(SegmentHeader* header);
void unmap_ring(void* ring, Geometry geometry);

}  // namespace fgmpi::transport::shm
