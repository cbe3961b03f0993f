// The datagrams of the reliable multicast, and their decoder.
//
//    0     8       16       24      32      40     48    52          56         60     62     64
//          65      66     68
//   | tag | group | serial | floor | total | ctx  | tag | signature | position | root | from | kind | flags | step | types | payload
//
// All have the same header. `tag` is SipHash-2-4, under the group's key, of everything behind it: a
// datagram whose tag is wrong is dropped before anything else in it is believed.
//
//   kData   packet `position` of a transfer: `total` bytes in all, cut into packets of the group's
//           payload size; and those behind it, as many as the payload holds
//   kPoll   "tell me what you have": the first packet that was never sent is `position`. Announces
//           a transfer, too. Payload: a bit a member, set where the root knows that it has taken
//           the transfer
//   kAck    the first `position` packets have come in a row: to the parent in the tree of
//           acknowledgements (kWhole: at every member below `from`, too) or to the root (about
//           `from` alone)
//   kNack   packets that miss, to the root: bit b of the payload's words stands for packet
//           `position` + b
//   In both, `floor` is the first packet of which, and of those behind it, `from` itself has seen
//   nothing: those before it have left the network, and came or were lost
//   kProbe  does this group's address work? No transfer
//
// Thread rule: none (no shared state).
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::transport::multicast {

enum class Kind : uint8_t { kData = 1, kPoll, kAck, kNack, kProbe };

enum Flag : uint8_t {
  kAckPlease = 1,  ///< kData: an acknowledgement is wanted when this one has come
  kDirect = 2,     ///< kPoll: answer the root itself
  kAbandoned = 4,  ///< kPoll: no more of this transfer comes; forget it
  kPosted = 8,     ///< kAck: a receive has taken the transfer
  kWhole = 16,     ///< kAck: about all members below `from` in the tree
  /// kAck: one of those that it is about has not joined the group's address: send to these by
  /// unicast.
  kOutside = 32,
  kNoHurry = 64,  ///< kData, with kAckPlease: nothing waits for the acknowledgement
  /// kAck: the answer to a packet that asks, not news of the member: tells how long the round trip
  /// is.
  kAnswer = 128,
};

struct Header {
  uint64_t tag = 0;
  uint64_t group = 0;
  uint64_t serial = 0;  ///< of the transfer among those of its root, from 1
  /// kData, kPoll: all members have taken all transfers of the root below this one.
  /// kAck, kNack: packets that `from` has seen, or later ones.
  uint64_t floor = 0;
  uint64_t total = 0;  ///< bytes of the transfer
  uint64_t ctx = 0;    ///< with coll_tag and step: what the receiver finds its receive by
  int32_t coll_tag = 0;
  uint32_t signature = 0;  ///< must be that of the receive
  uint32_t position = 0;
  uint16_t root = 0;  ///< index in the group of the member that sends the transfer
  uint16_t from = 0;  ///< index in the group of the member that sends the datagram
  Kind kind = Kind::kData;
  uint8_t flags = 0;
  uint16_t step = 0;
  uint32_t types = 0;  ///< likewise, unless it is 0 at either end
};
static_assert(sizeof(Header) == 72);

/// What the largest datagram holds: one that IPv4 and IPv6 carry whatever options there are.
inline constexpr size_t kMostDatagram = 65'000;
/// Of a kNack: so many words of 64 packets each at most.
inline constexpr size_t kMostNackWords = 16;

/// Reads a header and finds out whether the datagram can be one: length, kind, flags. Indexes of
/// members, and lengths of payloads, are the group's to check; the tag is checked with its key.
bool decode(const void* datagram, size_t length, Header* header);

/// A 128-bit key of a group.
struct Key {
  unsigned char bytes[16];
};

/// Loads the library that computes tags (libsodium, at first use). False: it cannot be loaded; *why
/// says so.
bool load_tags(const char** why);
/// Of `length` bytes. REQUIRES: load_tags() was true.
uint64_t tag_of(const void* bytes, size_t length, const Key& key);
/// Of a datagram as it is in memory: of all that follows the tag.
inline uint64_t tag_of_datagram(const void* datagram, size_t length, const Key& key) {
  return tag_of(static_cast<const char*>(datagram) + sizeof(uint64_t), length - sizeof(uint64_t),
                key);
}

}  // namespace fgmpi::transport::multicast
