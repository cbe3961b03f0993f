// The two ends of a link's connection: OutLink writes frames, InLink reads them. links.h has the
// rules. Thread rule: one thread; nothing here switches.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dynamic/hello.h"
#include "dynamic/links.h"
#include "dynamic/shared_ring.h"
#include "dynamic/socket_stream.h"

namespace fgmpi::dynamic {

/// The longest payload of a frame.
inline constexpr size_t kPayload = RingOut::kMostPayload;

class OutLink final : public SocketStream {
 public:
  ForeignProcess* peer = nullptr;  ///< nullptr: the job is not connected any more
  /// A bye was sent; the connection ends when the other side has read it.
  bool closes_when_empty = false;

  /// Sends a frame. Returns false if there is no room now.
  bool send(const transport::Header& header, const void* payload, size_t length);
  /// Sends a frame of the links themselves, without a payload; the frame is stored while there is
  /// no room.
  void send_own(uint8_t kind, int32_t tag);
  /// True if all bytes are in the kernel, or in the memory of the ring.
  bool all_left() const { return unsent_frames_.empty() && unsent() == 0; }
  bool under_way() const override { return !unsent_frames_.empty() || SocketStream::under_way(); }
  /// Called after a send that the ring refused: returns true when there is room again.
  bool check_for_room();

 private:
  void open_ring();
  bool push(const transport::Header& header, const void* payload, size_t length);
  // The reader sends bytes here after it has made room in the ring for this process, which
  // may sleep.
  size_t on_bytes(const uint8_t*, size_t count) override { return count; }
  void on_end(const std::string& why) override;
  void on_room() override;
  std::unique_ptr<RingOut> ring_;
  std::vector<transport::Header> unsent_frames_;  ///< own frames for which the ring had no room
  uint32_t frames_ = 0;
  bool no_ring_ = false, starving_ = false;
};

class InLink final : public SocketStream {
 public:
  /// The most frames read from one ring before the next ring is read.
  static constexpr int kBurst = 32;

  InLink(int fd, const StreamHello& hello)
      : uid(hello.from), index(hello.from_process), number(hello.number) {
    adopt(fd, true);
  }
  const GroupUid uid;
  const uint32_t index, number;
  bool peer_was_known = false, bye_received = false;
  uint64_t seen_changes = 0;  ///< value of changes_ when `peer` was looked up
  int64_t paused_since = 0;
  ForeignProcess* peer = nullptr;
  RingIn* ring() const { return ring_.get(); }
  /// True if there are frames in the ring that can be delivered now.
  bool ring_has_news();
  /// Delivers at most `most` frames from the ring; returns true when there were any.
  bool drain(int most);

 private:
  void on_descriptor(int fd) override;
  size_t on_bytes(const uint8_t* bytes, size_t count) override;
  void on_end(const std::string& why) override;
  void refuse();
  bool begin_ring();
  bool early();
  std::unique_ptr<RingIn> offered_, ring_;
};

}  // namespace fgmpi::dynamic
