// The decoder of datagrams.

#include "multicast/datagram.h"

#include <cstring>

namespace fgmpi::multicast {
namespace {

/// The flags that a datagram of this kind may have.
int flags_of(DatagramKind kind) {
  switch (kind) {
    case DatagramKind::kData:
      return kAckPlease | kNoHurry;
    case DatagramKind::kPoll:
      return kDirect | kAbandoned;
    case DatagramKind::kAck:
      return kPosted | kWhole | kOutside | kAnswer;
    case DatagramKind::kNack:
    case DatagramKind::kProbe:
      return 0;
  }
  return 0;
}

}  // namespace

bool decode(const void* datagram, size_t length, DatagramHeader* header) {
  if (length < sizeof *header || length > kMostDatagram) return false;
  std::memcpy(header, datagram, sizeof *header);
  const size_t payload = length - sizeof *header;
  if (header->kind < DatagramKind::kData || header->kind > DatagramKind::kProbe ||
      (header->flags & ~flags_of(header->kind)) != 0)
    return false;
  switch (header->kind) {
    case DatagramKind::kAck:
      return payload == 0;
    case DatagramKind::kNack:
      return payload > 0 && payload % 8 == 0 && payload <= 8 * kMostNackWords;
    case DatagramKind::kPoll:
      return payload % 8 == 0;
    case DatagramKind::kData:
    case DatagramKind::kProbe:
      return true;
  }
  return false;
}

}  // namespace fgmpi::multicast
