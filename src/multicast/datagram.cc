// The decoder of datagrams.

#include "multicast/datagram.h"

#include <dlfcn.h>
#include <sodium/crypto_shorthash.h>

#include <cstring>

namespace fgmpi::multicast {
namespace {

decltype(&::crypto_shorthash) g_hash = nullptr;

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

bool load_tags(const char** why) {
  if (g_hash) return true;
  static_assert(sizeof(GroupKey) == crypto_shorthash_KEYBYTES);
  static_assert(sizeof(uint64_t) == crypto_shorthash_BYTES);
  void* library = dlopen("libsodium.so.23", RTLD_NOW | RTLD_LOCAL);
  if (library) g_hash = reinterpret_cast<decltype(g_hash)>(dlsym(library, "crypto_shorthash"));
  if (!g_hash) *why = "libsodium.so.23, which makes the tags of datagrams, cannot be loaded";
  return g_hash != nullptr;
}

uint64_t tag_of(const void* bytes, size_t length, const GroupKey& key) {
  unsigned char out[sizeof(uint64_t)];
  g_hash(out, static_cast<const unsigned char*>(bytes), length, key.bytes);
  uint64_t tag;
  std::memcpy(&tag, out, sizeof tag);
  return tag;
}

}  // namespace fgmpi::multicast
