// Fuzz target: the reader of a shared-memory ring against a peer that writes any bytes into
// it. The bytes fill the ring; the reader must neither read outside of it nor run for ever.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "transport/shm/ring.h"

using namespace fgmpi::transport;
using namespace fgmpi::transport::shm;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr Geometry kGeometry{64, 4096};
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  // Exactly the ring's size, so that a sanitizer sees the first byte beyond it.
  std::unique_ptr<char, Free> memory(
      static_cast<char*>(std::aligned_alloc(kLine, kGeometry.bytes())));
  std::memset(memory.get(), 0, kGeometry.bytes());
  for (size_t at = 0; size && at < kGeometry.bytes(); at += size)
    std::memcpy(memory.get() + at, data, std::min(size, kGeometry.bytes() - at));
  // Every cell is made to look new, with the length that the bytes ask for.
  auto* cells = reinterpret_cast<Cell*>(memory.get());
  for (uint32_t i = 0; i < kGeometry.cells; ++i) {
    uint32_t length = static_cast<uint32_t>(cells[i].word.load());
    cells[i].word = uint64_t{i + 1} << 32 | ((length & 7) ? length & 0x7ff : length);
  }
  Credits credits{};
  RingReader reader(memory.get(), &credits, kGeometry);
  RingFrame frame;
  unsigned sum = 0;
  for (uint32_t i = 0; i <= kGeometry.cells; ++i) {
    RingReader::Next next = reader.peek(&frame);
    if (next != RingReader::Next::kFrame) break;
    if (frame.length > kGeometry.max_payload()) std::abort();
    for (uint32_t j = 0; j < frame.length; ++j)
      sum += static_cast<const unsigned char*>(frame.payload)[j];
    reader.consume(frame);
  }
  // A producer whose consumer writes nonsense into the credits.
  if (size >= 12) {
    uint64_t bulk;
    uint32_t done;
    std::memcpy(&bulk, data, 8);
    std::memcpy(&done, data + 8, 4);
    Credits lies{};
    RingWriter writer(memory.get(), &lies, kGeometry);
    Header header{};
    for (int i = 0; i < 200; ++i) {
      if (i == 40) lies.bulk_done = bulk, lies.cells_done = done;
      if (i >= 40) lies.timed_bytes = bulk * i, lies.timed_ticks = bulk / i;
      // Lengths of each kind: what fits a cell, what is copied in a few words, long ones.
      writer.push(header, memory.get(), i % 7 ? i % 9 : (i * 37) % 2000);
    }
  }
  return sum == 1u << 31;  // the sum is used; never so many bytes
}
