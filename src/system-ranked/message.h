// Messages between vertices: a kind, then numbers of variable length (7 bits a byte, low ones
// first), so that what is O(1) numbers in the paper is a few bytes. Records of different colors are
// separate: one message may carry records of several.
// Messages from peers of our own job are trusted to be whole. A short message ends the process
// (FGMPI_CHECK).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/assert.h"
#include "system-ranked/tree.h"

namespace fgmpi::system_ranked {

enum MessageKind : uint8_t {
  kUp,             ///< to the parent, over the parent's tree: one record a color that occurs below
  kScatter,        ///< Centralized: the members of a subtree under construction
  kRanks,          ///< Rank-and-Hash: ranges of ranks, down the parent's tree
  kRegister,       ///< Rank-and-Hash: rank i is here, to the intermediary of i
  kRegisterChild,  ///< Rank-and-Hash: rank i is here, to the intermediary of its parent
  kParentIs,       ///< Rank-and-Hash: the intermediary's answers
  kChildrenAre,
  kFill,     ///< Shrink-and-Balance: the position of a hole, to its filler
  kBalance,  ///< Shrink-and-Balance: the downward pass
  kRequest,  ///< Shrink-and-Balance: a consumer wants vertices of a supplier
  kSupply,   ///< Shrink-and-Balance: the supplier's answer
  kSizes,    ///< ranks for a tree that has none: sizes up
  kRange,    ///< ranks for a tree that has none: ranges down
  kKinds
};
const char* kind_name(MessageKind kind);

class MessageWriter {
 public:
  explicit MessageWriter(MessageKind kind) { bytes_.push_back(kind); }
  void put(uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<uint8_t>(value | 0x80));
      value >>= 7;
    }
    bytes_.push_back(static_cast<uint8_t>(value));
  }
  /// `first`: a world rank that both ends have, mostly near the bid's, so that the difference
  /// is short.
  void put(const Bid& bid, uint32_t first = 0) {
    const comm::LeaderCandidate& c = bid.candidate;
    put(uint64_t{c.lbi});
    if (!c.valid()) return;
    put(uint64_t{c.led});
    put(uint64_t{c.world - first});
    put(uint64_t{bid.serial});
  }
  void put(const GroupId& id) {
    put(id.context);
    put(uint64_t{id.serial});
  }
  template <class T>
  void put_list(const std::vector<T>& list) {
    put(uint64_t{list.size()});
    for (const T& value : list) put(uint64_t{value});
  }
  size_t size() const { return bytes_.size(); }
  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
};

class MessageReader {
 public:
  explicit MessageReader(std::span<const uint8_t> bytes)
      : at_(bytes.data()), end_(at_ + bytes.size()) {}
  bool empty() const { return at_ == end_; }
  std::span<const uint8_t> rest() const { return {at_, end_}; }
  uint64_t get() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      FGMPI_CHECK(at_ != end_ && shift < 64);
      uint8_t byte = *at_++;
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
  }
  uint32_t get32() {
    uint64_t value = get();
    FGMPI_CHECK(value <= UINT32_MAX);
    return static_cast<uint32_t>(value);
  }
  MessageKind kind() {
    FGMPI_CHECK(at_ != end_ && *at_ < kKinds);
    return static_cast<MessageKind>(*at_++);
  }
  Bid bid(uint32_t first = 0) {
    Bid b;
    b.candidate.lbi = get32();
    if (!b.candidate.valid()) return b;
    b.candidate.led = get32();
    b.candidate.world = first + get32();
    b.serial = get32();
    return b;
  }
  GroupId group() {
    uint64_t context = get();
    return {context, get32()};
  }
  std::vector<Address> list() {
    size_t count = get32();
    FGMPI_CHECK(count <= static_cast<size_t>(end_ - at_));
    std::vector<Address> values(count);
    for (Address& value : values) value = get32();
    return values;
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

}  // namespace fgmpi::system_ranked
