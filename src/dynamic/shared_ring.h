// A ring of shared memory beside the socket of a link, for frames between processes of different
// jobs on one host.
//
//   | RingControl, 1 page | cells | bulk |   one memfd; cells and bulk are those of
//                                            transport/shm/ring.h
//
// The writer makes the ring and passes its descriptor through the socket, so no third process can
// open it. The socket stays: it shows when the other process ends, and a byte on it wakes a
// sleeping process (the reader for frames, the writer for room). A ring wins from some frames on: a
// frame costs no system call. It costs a page of control and the pages of cells and bulk that were
// written, at most 292 KiB for each direction, so a link that carries few frames has none. Frames
// in the ring outlive their writer: the memory exists until the reader has unmapped it, too.
//
// Thread rule: one thread. RingReader and RingWriter check what the other process writes before it
// is used.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "transport/shm/ring.h"

namespace fgmpi::dynamic {

struct RingControl {
  transport::shm::Credits credits;                              ///< written by the reader
  alignas(transport::shm::kLine) std::atomic<uint32_t> asleep;  ///< the reader waits for a byte
  /// The reader itself makes the writer's frames visible before it sleeps
  /// (transport/shm/doorbell.h).
  std::atomic<uint32_t> asymmetric;
  alignas(
      transport::shm::kLine) std::atomic<uint32_t> writer_waits;  ///< the writer waits for a byte
};

/// The mapped memory of a ring. The object unmaps it.
class RingMemory {
 public:
  explicit RingMemory(void* start) : start_(start) {}
  ~RingMemory();
  RingMemory(const RingMemory&) = delete;
  RingMemory& operator=(const RingMemory&) = delete;
  RingControl* control() const { return static_cast<RingControl*>(start_); }
  void* cells() const;

 private:
  void* start_;
};

/// The writer's end.
class RingOut {
 public:
  static constexpr size_t kMostPayload = 64 << 10;
  /// Makes a ring. *fd is its descriptor, which the caller passes on and closes. nullptr: there is
  /// no memory for it.
  static std::unique_ptr<RingOut> make(int* fd);
  /// Copies a frame into the ring. Returns false if there is no room now; has_room() shows later
  /// when there is. REQUIRES: length <= kMostPayload.
  bool push(const transport::Header& header, const void* payload, size_t length);
  /// Called after a push: true if the reader sleeps, so that it needs a byte. Returns true once for
  /// each sleep.
  bool clear_reader_sleep();
  /// True when a push that was refused would succeed now.
  bool has_room();

 private:
  explicit RingOut(void* start);
  RingMemory memory_;
  transport::shm::RingWriter writer_;
};

/// The reader's end.
class RingIn {
 public:
  /// Maps the ring behind a descriptor, which stays the caller's. nullptr: it is no ring.
  static std::unique_ptr<RingIn> map(int fd);
  bool ready() const { return reader_.ready(); }
  transport::shm::RingReader::Next peek(transport::shm::RingFrame* frame) {
    return reader_.peek(frame);
  }
  /// Records how many ticks a timed frame took.
  void took(const transport::shm::RingFrame& frame, uint64_t ticks) { reader_.took(frame, ticks); }
  /// Releases a frame's room. Returns true if the writer waits for room and needs a byte.
  bool consume(const transport::shm::RingFrame& frame);
  /// Makes the writer send a byte with its next frame. The caller must call ready() once more,
  /// after fence_for_sleep().
  void sleep() { memory_.control()->asleep.store(1, std::memory_order_seq_cst); }
  void wake() { memory_.control()->asleep.store(0, std::memory_order_relaxed); }

 private:
  explicit RingIn(void* start);
  RingMemory memory_;
  transport::shm::RingReader reader_;
};

/// Called between RingIn::sleep() of all rings and the last call of ready().
void fence_for_sleep();

}  // namespace fgmpi::dynamic
