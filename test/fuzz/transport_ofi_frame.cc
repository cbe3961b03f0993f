// Fuzz target: the decoder of messages from the network, and the gate behind it. The bytes are cut
// into messages (a length byte in front of each); nobody without the key may get a frame through.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "transport/ofi/frame.h"

using namespace fgmpi::transport::ofi;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr LifelineKey kKey{{0x1122334455667788ull, 0x99aabbccddeeff00ull}};
  constexpr size_t kMaxPayload = 100;
  Gate gate(kKey);
  unsigned sum = 0;
  while (size) {
    size_t length = std::min<size_t>(data[0], size - 1);
    // Its own block: a sanitizer sees its end
    std::vector<uint8_t> message(data + 1, data + 1 + length);
    data += 1 + length;
    size -= 1 + length;
    Decoded d;
    if (!decode(message.data(), message.size(), &d)) continue;
    if (d.prefix.kind == NetworkMessageKind::kHello) {
      bool knows = d.hello.key == kKey;
      if (gate.hello(d) && !knows) std::abort();
      continue;
    }
    if (!gate.admits(d)) continue;
    if (d.prefix.kind == NetworkMessageKind::kBye) {
      gate.bye(d.prefix.process);
      if (!gate.has_left(d.prefix.process) || gate.admits(d)) std::abort();
      sum += gate.all_have_left();
    }
    for (OfiFrame f; next_frame(&d, kMaxPayload, &f);) {
      if (f.length > kMaxPayload) std::abort();
      for (size_t i = 0; i < f.length; ++i) sum += static_cast<const uint8_t*>(f.payload)[i];
    }
  }
  return sum == 1u << 31;
}
