// Frames into and out of a link, through its socket or its shared ring.

#include "dynamic/link_ends.h"

#include <unistd.h>

#include <array>
#include <cstring>

#include "base/clock.h"
#include "ch4-av-rankmap/mlut.h"

namespace fgmpi::dynamic {

using transport::Header;

namespace {

/// Frames on a connection within a host before it gets a ring: more than those of a connect, a
/// barrier and a disconnect.
constexpr uint32_t kFramesBeforeRing = 16;
/// The most bytes that wait for a peer before senders are held back.
constexpr size_t kMostUnsent = 512 << 10;

constexpr size_t kFront = sizeof(uint32_t) + sizeof(Header);

/// The bytes in front of a frame's payload on a socket.
std::array<uint8_t, kFront> front_of(const Header& header, size_t length) {
  const auto count = static_cast<uint32_t>(length);
  std::array<uint8_t, kFront> bytes;
  std::memcpy(bytes.data(), &count, sizeof count);
  std::memcpy(bytes.data() + sizeof count, &header, sizeof header);
  return bytes;
}

/// The header of a frame that Links itself sends and receives.
Header own_header(uint8_t kind, int32_t tag) {
  Header header{};
  header.kind = kind;
  header.tag = tag;
  header.src_process = g_av.me();
  return header;
}

}  // namespace

// ---- OutLink ------------------------------------------------------------------------------------

bool OutLink::send(const Header& header, const void* payload, size_t length) {
  if (!ring_ && ++frames_ > kFramesBeforeRing) open_ring();
  if (ring_) return unsent_frames_.empty() && push(header, payload, length);
  if (unsent() > kMostUnsent) return false;
  const auto front = front_of(header, length);
  write(front.data(), front.size(), payload, length);
  return true;
}

void OutLink::send_own(uint8_t kind, int32_t tag) {
  const Header header = own_header(kind, tag);
  if (!ring_) {
    const auto front = front_of(header, 0);
    write(front.data(), front.size(), nullptr, 0);
  } else if (!unsent_frames_.empty() || !push(header, nullptr, 0)) {
    unsent_frames_.push_back(header);
  }
}

/// Opens a ring where the other process can map the same memory; from then on frames go through it.
void OutLink::open_ring() {
  if (no_ring_ || !open() || unsent() > 0) return;
  int fd = -1;
  auto ring = links().shared_ && local() ? RingOut::make(&fd) : nullptr;
  if (!ring) {
    no_ring_ = true;
    return;
  }
  const auto frame = front_of(own_header(kRing, 0), 0);
  if (write_with_descriptor(frame.data(), frame.size(), fd)) ring_ = std::move(ring);
  ::close(fd);
}

bool OutLink::push(const Header& header, const void* payload, size_t length) {
  if (!ring_->push(header, payload, length)) {
    if (!starving_) links().starving_.push_back(this);
    starving_ = true;
    return false;
  }
  if (ring_->clear_reader_sleep()) wake_other();
  return true;
}

bool OutLink::check_for_room() {
  if (!ring_->has_room()) return false;
  starving_ = false;
  while (!unsent_frames_.empty() && push(unsent_frames_.front(), nullptr, 0))
    unsent_frames_.erase(unsent_frames_.begin());
  if (closes_when_empty && all_left()) shut_down();
  return true;
}

void OutLink::on_end(const std::string& why) { links().out_ended(this, why); }

void OutLink::on_room() {
  links().made_room_ = true;
  if (closes_when_empty && all_left()) shut_down();
}

// ---- InLink -------------------------------------------------------------------------------------

/// True if the next frame of the link belongs to a communicator of a job that is about to be
/// added here.
bool InLink::early() { return !links().peer_of(this) && links().is_early(*this); }

bool InLink::ring_has_news() { return ring_ && ring_->ready() && !early(); }

bool InLink::drain(int most) {
  using Next = transport::shm::RingReader::Next;
  if (!ring_has_news()) return false;
  transport::shm::RingFrame frame;
  for (int i = 0; i < most && !early(); ++i) {
    const Next next = ring_->peek(&frame);
    if (next == Next::kNone) break;
    if (next == Next::kBad) {
      refuse();
      break;
    }
    const uint64_t before = frame.timed ? transport::shm::ticks() : 0;
    if (!links().deliver(this, frame.header, frame.payload, frame.length)) ++links().refused_;
    if (frame.timed) ring_->took(frame, transport::shm::ticks() - before);
    if (ring_->consume(frame)) wake_other();
  }
  return true;
}

void InLink::on_descriptor(int fd) {
  if (!offered_) offered_ = RingIn::map(fd);
  ::close(fd);
}

/// Closes the link after the writer has broken the protocol: nothing more is read from it. May
/// destroy this object.
void InLink::refuse() {
  ++links().refused_;
  ring_.reset();
  close();
  links().in_ended(this, "it has sent what is no frame");
}

/// Begins to read frames from the ring whose descriptor came with this frame.
bool InLink::begin_ring() {
  if (ring_ || !offered_) return false;
  ring_ = std::move(offered_);
  links().rings_.push_back(this);
  return true;
}

size_t InLink::on_bytes(const uint8_t* bytes, size_t count) {
  size_t used = 0;
  while (!ring_ && count - used >= kFront && open()) {
    if (early()) {
      pause(true);
      paused_since = now_ns();
      links().paused_.push_back(this);
      return used;
    }
    uint32_t length;
    Header header;
    std::memcpy(&length, bytes + used, sizeof length);
    std::memcpy(&header, bytes + used + sizeof length, sizeof header);
    if (length > kPayload || (header.kind == kRing && !begin_ring())) {
      refuse();
      return count;
    }
    if (header.kind == kRing) break;
    if (count - used < kFront + length) return used;
    if (!links().deliver(this, header, bytes + used + kFront, length)) ++links().refused_;
    used += kFront + length;
  }
  return ring_ ? count : used;  // bytes behind a ring's frame only wake; they are no frames
}

void InLink::on_end(const std::string& why) {
  while (drain(kBurst)) {  // frames that were written before the end
  }
  links().in_ended(this, why);
}

}  // namespace fgmpi::dynamic
