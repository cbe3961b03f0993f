// The ring of one pair of processes: single producer, single consumer, in the consumer's segment.
//
//   cells   | word | header 48 | 8 bytes |  x kCells, 64 bytes each: one cache line, written once,
//             read once. word = sequence (32) | timed (1) | payload length (31). The sequence is
//             the cell's position + 1, so that a frame of an earlier lap is not read again
//   bulk    payloads of more than 8 bytes, in order, each contiguous and starting on a cache line;
//             one that does not fit before the end starts at the beginning of the next lap
//   credits cells and bulk bytes consumed, written by the consumer once a quarter of a ring, and
//             what the timed frames cost it (stores.h)
//
// Wins where latency counts: an 8-byte message moves one line, and the consumer polls the very line
// in which the message arrives. Costs one ring a pair, so a ring is claimed by the first send only.
// Positions only grow (modulo 2^32 for cells). Both sides compute a payload's position by one rule
// (bulk_place), so no offset is ever read from shared memory. Nothing in here trusts the other
// side: lengths and credits are checked against what is possible.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/copy.h"
#include "transport/frames.h"
#include "transport/shm/stores.h"

namespace fgmpi::transport::shm {

inline constexpr size_t kLine = 64;
inline constexpr size_t kInline = 8;
/// A bit of a cell's word: the consumer is to time its work on the payload.
inline constexpr uint32_t kTimed = 1u << 31;

struct alignas(kLine) Cell {
  std::atomic<uint64_t> word;
  Header header;
  unsigned char inline_payload[kInline];
};
static_assert(sizeof(Cell) == kLine);

/// Written by the consumer; read by the producer when it has no room left.
struct alignas(kLine) Credits {
  std::atomic<uint64_t> bulk_done;
  std::atomic<uint32_t> cells_done;
  std::atomic<uint64_t> timed_bytes, timed_ticks;
};

/// The size of a ring. Both numbers are powers of two.
struct Geometry {
  uint32_t cells;
  uint32_t bulk;
  size_t bytes() const { return size_t{cells} * sizeof(Cell) + bulk; }
  /// A quarter of the bulk may be uncredited, and another quarter unused before the end of a lap.
  size_t max_payload() const { return bulk / 4; }
};

/// Where in the stream of bulk bytes a payload starts when `position` is the next free byte.
inline uint64_t bulk_place(uint64_t position, uint32_t length, uint32_t bulk) {
  uint64_t in_lap = position & (bulk - 1);
  return in_lap + length > bulk ? position + (bulk - in_lap) : position;
}
inline uint64_t bulk_round(uint64_t length) { return (length + kLine - 1) & ~uint64_t{kLine - 1}; }

/// Copies up to 8 bytes without reading or writing beyond them.
inline void copy_inline(unsigned char* to, const void* from_void, size_t length) {
  auto* from = static_cast<const unsigned char*>(from_void);
  if (length == 8) {
    std::memcpy(to, from, 8);
  } else if (length >= 4) {
    std::memcpy(to, from, 4);
    std::memcpy(to + length - 4, from + length - 4, 4);
  } else if (length) {
    to[0] = from[0];
    to[length / 2] = from[length / 2];
    to[length - 1] = from[length - 1];
  }
}

class RingWriter {
 public:
  RingWriter() = default;
  RingWriter(void* memory, const Credits* credits, Geometry geometry,
             Stores::Rule rule = Stores::Rule::kMeasured)
      : cells_(static_cast<Cell*>(memory)),
        bulk_(static_cast<char*>(memory) + size_t{geometry.cells} * sizeof(Cell)),
        credits_(credits),
        stores_(std::make_unique<Stores>(geometry.bulk, rule)),
        geometry_(geometry),
        limit_(geometry.cells),
        bulk_limit_(geometry.bulk) {}

  /// Copies the frame into the ring, or returns false when there is no room.
  /// REQUIRES: length <= geometry.max_payload().
  bool push(const Header& header, const void* payload, size_t length) {
    if (!has_cell()) return false;
    uint32_t flag = 0;
    if (length <= kInline) {
      copy_inline(next_cell().inline_payload, payload, length);
    } else if (!push_bulk(payload, length, &flag)) {
      return false;
    }
    publish(header, flag, length);
    return true;
  }

  /// Where the payload of the next frame will lie; nullptr when there is no room, and for payloads
  /// that are to be written past the caches or timed.
  /// REQUIRES: kInline < length <= geometry.max_payload().
  char* reserve(size_t length) {
    uint64_t end;
    const bool in_place = length < Stores::kLeast || stores_->may_be_made_in_place();
    return in_place && has_cell() ? find_room(length, &end) : nullptr;
  }
  /// Sends the frame whose payload has been written to what reserve(length) has returned. REQUIRES:
  /// nothing was pushed since.
  void push_reserved(const Header& header, size_t length) {
    const auto n = static_cast<uint32_t>(length);
    bulk_tail_ = bulk_place(bulk_tail_, n, geometry_.bulk) + bulk_round(length);
    if (length >= Stores::kLeast) stores_->made_in_place();
    publish(header, 0, length);
  }

  /// Reads the consumer's credits again; true when there are more than before.
  bool refresh() {
    if (!credits_) return false;  // not connected yet
    // Both loads pair with the stores of consume(): what the reader has read may be overwritten.
    uint32_t done = credits_->cells_done.load(std::memory_order_acquire);
    uint64_t bulk_done = credits_->bulk_done.load(std::memory_order_acquire);
    // Impossible credits are ignored.
    if (tail_ - done > geometry_.cells || bulk_tail_ - bulk_done > geometry_.bulk) return false;
    uint32_t limit = done + geometry_.cells;
    uint64_t bulk_limit = bulk_done + geometry_.bulk;
    bool more = limit != limit_ || bulk_limit != bulk_limit_;
    limit_ = limit;
    bulk_limit_ = bulk_limit;
    // Numbers of a measurement (stores.h): two that do not belong together do no harm.
    stores_->taken(credits_->timed_bytes.load(std::memory_order_relaxed),
                   credits_->timed_ticks.load(std::memory_order_relaxed));
    return more;
  }

 private:
  bool has_cell() { return __builtin_expect(tail_ != limit_, 1) || (refresh() && tail_ != limit_); }
  Cell& next_cell() { return cells_[tail_ & (geometry_.cells - 1)]; }
  void publish(const Header& header, uint32_t flag, size_t length) {
    Cell& cell = next_cell();
    cell.header = header;
    ++tail_;
    // Releases the frame to word() of the reader.
    cell.word.store(uint64_t{tail_} << 32 | flag | length, std::memory_order_release);
  }

  /// Where a payload goes, or nullptr when there is no room. *end: the bulk position behind it.
  char* find_room(size_t length, uint64_t* end) {
    const uint64_t at = bulk_place(bulk_tail_, static_cast<uint32_t>(length), geometry_.bulk);
    *end = at + bulk_round(length);
    if (*end > bulk_limit_) {
      refresh();
      if (*end > bulk_limit_) return nullptr;
    }
    return bulk_ + (at & (geometry_.bulk - 1));
  }

  bool push_bulk(const void* payload, size_t length, uint32_t* flag) {
    uint64_t end;
    char* to = find_room(length, &end);
    if (!to) return false;
    if (length < Stores::kLeast)
      copy_across(to, payload, length);
    else
      *flag = copy_long(to, payload, length);
    bulk_tail_ = end;
    return true;
  }

  /// Returns the flag of the cell's word.
  uint32_t copy_long(char* to, const void* payload, size_t length) {
    const bool timed = stores_->timed();
    const uint64_t before = timed ? ticks() : 0;
    if (stores_->past_caches())
      copy_past_caches(to, payload, length);
    else
      copy_across(to, payload, length);
    if (!timed) return 0;
    stores_->wrote(length, ticks() - before);
    return kTimed;
  }

  Cell* cells_ = nullptr;
  char* bulk_ = nullptr;
  const Credits* credits_ = nullptr;
  std::unique_ptr<Stores> stores_;
  Geometry geometry_{};
  uint32_t tail_ = 0;
  uint32_t limit_ = 0;
  uint64_t bulk_tail_ = 0;
  uint64_t bulk_limit_ = 0;
};

/// One frame. Its header was copied, out of reach of the producer; a payload of more than 8 bytes
/// is in the ring.
struct RingFrame {
  Header header;
  unsigned char inline_payload[kInline];
  const void* payload;
  uint32_t length;
  bool timed;
};

class RingReader {
 public:
  enum class Next : uint8_t { kNone, kFrame, kBad };

  RingReader() = default;
  RingReader(void* memory, Credits* credits, Geometry geometry)
      : cells_(static_cast<Cell*>(memory)),
        bulk_(static_cast<char*>(memory) + size_t{geometry.cells} * sizeof(Cell)),
        credits_(credits),
        geometry_(geometry) {}

  bool ready() const { return word() >> 32 == uint32_t(position_ + 1); }

  /// Finds the next frame, which stays valid until consume(). kBad: its length is impossible, and
  /// the ring cannot be used any more.
  Next peek(RingFrame* frame) {
    uint64_t word = this->word();
    if (word >> 32 != uint32_t(position_ + 1)) return Next::kNone;
    const Cell& cell = cells_[position_ & (geometry_.cells - 1)];
    frame->header = cell.header;
    std::memcpy(frame->inline_payload, cell.inline_payload, kInline);
    uint32_t length = static_cast<uint32_t>(word) & ~kTimed;
    frame->length = length;
    frame->timed = word & kTimed;
    if (length <= kInline) {
      frame->payload = frame->inline_payload;
    } else if (length <= geometry_.max_payload()) {
      uint64_t at = bulk_place(bulk_position_, length, geometry_.bulk);
      frame->payload = bulk_ + (at & (geometry_.bulk - 1));
      bulk_next_ = at + bulk_round(length);
    } else {
      return Next::kBad;
    }
    return Next::kFrame;
  }

  /// Records that work on a timed frame took so many ticks.
  void took(const RingFrame& frame, uint64_t ticks) {
    timed_bytes_ += frame.length;
    timed_ticks_ += ticks;
  }

  /// Releases the frame's room. Returns true when credits were published: a producer may wait for
  /// room and has to be woken.
  bool consume(const RingFrame& frame) {
    ++position_;
    if (frame.length > kInline) bulk_position_ = bulk_next_;
    if (position_ - published_ < geometry_.cells / 4 &&
        bulk_position_ - bulk_published_ < geometry_.bulk / 4)
      return false;
    published_ = position_;
    bulk_published_ = bulk_position_;
    credits_->timed_ticks.store(timed_ticks_, std::memory_order_relaxed);
    credits_->timed_bytes.store(timed_bytes_, std::memory_order_relaxed);
    // Both release the reader's loads of the frames to refresh().
    credits_->bulk_done.store(bulk_position_, std::memory_order_release);
    credits_->cells_done.store(position_, std::memory_order_release);
    return true;
  }

 private:
  uint64_t word() const {
    return cells_[position_ & (geometry_.cells - 1)].word.load(std::memory_order_acquire);
  }

  Cell* cells_ = nullptr;
  char* bulk_ = nullptr;
  Credits* credits_ = nullptr;
  Geometry geometry_{};
  uint32_t position_ = 0;
  uint32_t published_ = 0;
  uint64_t bulk_position_ = 0;
  uint64_t bulk_published_ = 0;
  uint64_t bulk_next_ = 0;
  uint64_t timed_bytes_ = 0;
  uint64_t timed_ticks_ = 0;
};

}  // namespace fgmpi::transport::shm
