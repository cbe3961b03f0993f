// Fuzz target: any bytes as the layout of a datatype that another process has sent for its accesses
// to a window. What is accepted can be walked within the bounds that it states, and comes out the
// same when it is written again.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "rma/layout.h"

using namespace fgmpi;
using namespace fgmpi::rma;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < sizeof(int64_t)) return 0;
  int64_t seed;
  std::memcpy(&seed, data, sizeof seed);
  FieldReader in(data + sizeof seed, size - sizeof seed);
  Layout layout;
  if (!read_layout(&in, &layout)) return 0;
  std::vector<uint8_t> again;
  write_layout(layout, &again);
  if (again.size() > size - sizeof seed ||
      std::memcmp(again.data(), data + sizeof seed, again.size()) != 0)
    std::abort();
  const int64_t count = 1 + static_cast<int64_t>(static_cast<uint64_t>(seed) % 1000);
  if (!layout.can_hold(count, seed)) return 0;
  const int64_t low = layout.reach_low(count), high = layout.reach_high(count);
  const int64_t all = layout.size * count;
  Cursor cursor(layout, count);
  cursor.seek(static_cast<int64_t>(static_cast<uint64_t>(seed) % static_cast<uint64_t>(all)));
  for (int step = 0; step < 100 && cursor.position() < all; ++step) {
    const ByteRun run = cursor.next(all - cursor.position());
    if (run.bytes <= 0 || run.offset < low || run.offset > high - run.bytes) std::abort();
  }
  return 0;
}
