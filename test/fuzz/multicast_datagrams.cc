// Fuzz target: datagrams of the reliable multicast. The bytes are cut into datagrams (a length byte
// in front of each, times 8), which come to a member of a group of three that waits for transfers
// of both others and has one of its own under way. Their headers are mended so that they pass for
// members' ones: strangers' are dropped by their tags.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "multicast/group.h"

using namespace fgmpi::multicast;

namespace {
struct Nowhere final : DatagramWire {
  void to_all(const DatagramHeader&, const void*, size_t length) override { bytes += length; }
  void to_member(uint32_t member, const DatagramHeader&, const void*, size_t length) override {
    if (member >= 3 || member == 1) std::abort();
    bytes += length;
  }
  size_t bytes = 0;
};
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Nowhere wire;
  TransferOptions options;
  options.payload = 64;
  options.bundle = 3;
  options.eager = 1024;
  options.eager_quota = 4096;
  TransferGroup group(9, 3, 1, options, &wire);
  char in[2][512], out[2000] = {};
  TransferCompletion ends[4];
  int64_t now = 1;
  group.receive(0, {1, 0, 0, 0}, in[0], sizeof in[0], &ends[0], now);
  group.receive(2, {1, 0, 0, 0}, in[1], sizeof in[1], &ends[1], now);
  group.send({2, 0, 0, 0}, out, 100, &ends[2], now);
  group.send({3, 0, 0, 0}, out, sizeof out, &ends[3], now);
  while (size) {
    const size_t length = std::min<size_t>(size_t{data[0]} * 8, size - 1);
    // Its own block: a sanitizer sees its end
    std::vector<uint8_t> datagram(data + 1, data + 1 + length);
    data += 1 + length;
    size -= 1 + length;
    DatagramHeader h;
    if (decode(datagram.data(), datagram.size(), &h) && h.kind > DatagramKind::kProbe) std::abort();
    if (length < sizeof h) continue;
    // What the decoder asks for is rare in random bytes.
    std::memcpy(&h, datagram.data(), sizeof h);
    h.kind = static_cast<DatagramKind>(1 + static_cast<uint8_t>(h.kind) % 5);
    h.flags &= h.kind == DatagramKind::kData   ? 1
               : h.kind == DatagramKind::kPoll ? 6
               : h.kind == DatagramKind::kAck  ? 184
                                               : 0;
    std::memcpy(datagram.data(), &h, sizeof h);
    if (!decode(datagram.data(), datagram.size(), &h)) continue;
    h.group = 9;
    h.root %= 4;
    h.from %= 4;
    h.serial %= 8;
    h.ctx %= 4;
    if (h.signature & 1) h.coll_tag = 0, h.signature = h.types = 0, h.step = 0, h.floor = 0;
    group.receive_datagram(h, reinterpret_cast<const char*>(datagram.data()) + sizeof h,
                           datagram.size() - sizeof h, now);
    now += h.total % 10'000'000;
    if (group.next_time() <= now) group.on_time(now);
  }
  group.give_up(1, 0, -1, now);
  for (int i = 0; i < 2; ++i)
    if (ends[i].outcome == TransferCompletion::TransferOutcome::kPending) std::abort();
  return 0;
}
