// The datagrams of the reliable multicast, and their decoder.
//
// All datagrams have one header of 72 bytes, followed by the payload:
//
//    0     8       16       24      32      40    48         52          56
//   | tag | group | serial | floor | total | ctx | coll tag | signature | position |
//
//    60     62     64     65      66     68      72
//   | root | from | kind | flags | step | types | payload
//
// `tag` is SipHash-2-4, under the group's key, of everything behind it: a datagram with a wrong tag
// is dropped before anything else in it is used.
//
//   kData   packet `position` of a transfer of `total` bytes, divided into packets of the group's
//           payload size; then the packets behind it, as many as the payload holds
//   kPoll   asks members what they have: the first packet that was never sent is `position`.
//           Announces a transfer, too. Payload: one bit a member, set where the root has heard that
//           the member has matched the transfer
//   kAck    the first `position` packets have arrived without a gap: to the parent in the tree of
//           acknowledgements (kWhole: at every member below `from`, too) or to the root (about
//           `from` alone)
//   kNack   missing packets, to the root: bit b of the payload's words stands for packet
//           `position` + b
//   kProbe  asks whether this group's address works; belongs to no transfer
//
// In kAck and kNack, `floor` is the first packet from which on `from` itself has seen nothing: all
// packets before it have left the network, and arrived or were lost.
//
// Thread rule: none (no shared state).
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::multicast {

enum class DatagramKind : uint8_t { kData = 1, kPoll, kAck, kNack, kProbe };

enum Flag : uint8_t {
  kAckPlease = 1,  ///< kData: an acknowledgement is wanted when this packet arrives
  kDirect = 2,     ///< kPoll: answer the root itself
  kAbandoned = 4,  ///< kPoll: the transfer is abandoned; forget it
  kPosted = 8,     ///< kAck: a receive has matched the transfer
  kWhole = 16,     ///< kAck: about all members below `from` in the tree
  /// kAck: a member that it is about has not joined the group's address: send to these
  /// members by unicast.
  kOutside = 32,
  kNoHurry = 64,  ///< kData, with kAckPlease: nothing waits for the acknowledgement
  /// kAck: the answer to a packet that asks, not sent by the member on its own: it measures
  /// the round trip.
  kAnswer = 128,
};

struct DatagramHeader {
  uint64_t tag = 0;
  uint64_t group = 0;
  uint64_t serial = 0;  ///< number of the transfer among those of its root, from 1
  /// kData, kPoll: all members have completed all transfers of the root below this one.
  /// kAck, kNack: the first packet from which on `from` has seen nothing.
  uint64_t floor = 0;
  uint64_t total = 0;  ///< bytes of the transfer
  uint64_t ctx = 0;    ///< with coll_tag and step: finds the receive
  int32_t coll_tag = 0;
  uint32_t signature = 0;  ///< must equal that of the receive
  uint32_t position = 0;
  uint16_t root = 0;  ///< index in the group of the member that sends the transfer
  uint16_t from = 0;  ///< index in the group of the member that sends the datagram
  DatagramKind kind = DatagramKind::kData;
  uint8_t flags = 0;
  uint16_t step = 0;
  uint32_t types = 0;  ///< must equal the receive's, unless either is 0
};
static_assert(sizeof(DatagramHeader) == 72);

/// The largest datagram: one that IPv4 and IPv6 carry with any options.
inline constexpr size_t kMostDatagram = 65'000;
/// The most words of a kNack, of 64 packets each.
inline constexpr size_t kMostNackWords = 16;

/// Reads a header and checks whether the datagram can be one: length, kind, flags. The group checks
/// indexes of members and lengths of payloads; the tag is checked with the group's key.
bool decode(const void* datagram, size_t length, DatagramHeader* header);

/// A 128-bit key of a group.
struct GroupKey {
  unsigned char bytes[16];
};

/// Loads the library that computes tags (libsodium), at first use. False: it cannot be loaded; *why
/// is the reason.
bool load_tags(const char** why);
/// The tag of `length` bytes. REQUIRES: load_tags() was true.
uint64_t tag_of(const void* bytes, size_t length, const GroupKey& key);
/// The tag of a datagram in memory: of everything behind its first field.
inline uint64_t tag_of_datagram(const void* datagram, size_t length, const GroupKey& key) {
  return tag_of(static_cast<const char*>(datagram) + sizeof(uint64_t), length - sizeof(uint64_t),
                key);
}

}  // namespace fgmpi::multicast
