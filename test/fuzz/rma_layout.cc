// Fuzz target: any bytes as the layout of a datatype that another process has sent for its accesses
// to a window. What is accepted can be walked within the bounds that follow from it, and comes out the
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
  TypeTree tree;
  if (!read_layout(&in, &tree)) return 0;
  if (!tree.validate()) std::abort();
  std::vector<uint8_t> again;
  write_layout(tree, &again);
  if (again.size() > size - sizeof seed ||
      std::memcmp(again.data(), data + sizeof seed, again.size()) != 0)
    std::abort();
  const int64_t count = 1 + static_cast<int64_t>(static_cast<uint64_t>(seed) % 1000);
  int64_t low, high;
  if (!find_reach(tree, count, seed, &low, &high)) return 0;
  const int64_t all = tree.size * count;
  TypeCursor cursor(tree);
  cursor.seek(static_cast<int64_t>(static_cast<uint64_t>(seed) % static_cast<uint64_t>(all)));
  for (int step = 0; step < 100 && cursor.position() < all; ++step) {
    const TypeRun run = cursor.next(all - cursor.position());
    if (run.bytes <= 0 || seed + run.offset < low || seed + run.offset > high - run.bytes)
      std::abort();
  }
  return 0;
}
