// In a build without libsodium no datagram can have a tag: multicast is refused, with the reason.

#include "base/assert.h"
#include "multicast/datagram.h"

namespace fgmpi::multicast {

bool load_tags(const char** why) {
  *why = "this build has no libsodium, which makes the tags of datagrams";
  return false;
}

uint64_t tag_of(const void*, size_t, const GroupKey&) {
  FGMPI_CHECK(!"no tag without libsodium");
  return 0;
}

}  // namespace fgmpi::multicast
