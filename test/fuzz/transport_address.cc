// Fuzz target: any text as an address that a peer has published, over shared memory or the network.
// What is accepted comes out the same when it is published again.
#include <cstdlib>
#include <string>

#include "transport/ofi/address.h"
#include "transport/shm/segment.h"

using namespace fgmpi::transport;

namespace {

template <class Address>
void check(const std::string& text) {
  Address address, again;
  if (!address.parse(text)) return;
  const std::string published = address.to_string();
  if (published.size() > 400 || !again.parse(published) || again.to_string() != published)
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  check<ofi::PublishedAddress>(text);
  check<shm::SegmentName>(text);
  // Nearly right: a good address in which the input replaces a stretch.
  const std::string good[] = {
      "ofi2:tcp+ofi_rxm:0200aabb7f000001:0123456789abcdef0123456789abcdef:00000000000000ff:1f90:"
      "node-1.x",
      "shm3:0123456789abcdef0123456789abcdef:4711:12:0123456789abcdef0123456789abcdef"};
  if (size < 4) return 0;
  for (const std::string& base : good) {
    std::string changed = base;
    const size_t at = data[0] % base.size(), length = data[1] % 8;
    changed.replace(at, length, text, 2, data[2] % 8);
    check<ofi::PublishedAddress>(changed);
    check<shm::SegmentName>(changed);
  }
  return 0;
}
