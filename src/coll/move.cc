// Packing, unpacking and copying of segments with derived datatypes, and of data that exceeds
// the caches.

#include "coll/move.h"

#include <unistd.h>

#include <algorithm>

#include "datatype/copy.h"

namespace fgmpi::coll {

Status pack_derived(const Segment& from, char* out) {
  if (from.bytes() == 0) return {};
  datatype::pack(from.address, from.count, *from.type, out);
  return {};
}

Status unpack_derived(const char* in, int64_t bytes, const Segment& to) {
  if (bytes == 0) return {};
  datatype::unpack(in, bytes, to.address, to.count, *to.type);
  return {};
}

Status copy_derived(const Segment& from, const Segment& to) {
  if (from.bytes() != to.bytes()) return truncated(from.bytes(), to.bytes());
  if (from.bytes() == 0) return {};
  if (from.address == to.address && *from.type == *to.type) return {};
  return datatype::copy(from.address, from.count, *from.type, to.address, to.count, *to.type);
}

char* run_of_bytes(const Segment& s) {
  if (!s.type->contiguous()) return nullptr;
  return s.address + s.type->true_lb();
}

bool exceeds_caches(size_t bytes) {
  static const size_t last_level = [] {
    long size = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return size > 0 ? static_cast<size_t>(size) : size_t{32} << 20;
  }();
  return bytes > last_level;
}

void copy_to_many(const char* from, size_t bytes, char* const* to, size_t count, bool streamed) {
  constexpr size_t kPiece = 32 * 1024;
  for (size_t at = 0; at < bytes; at += kPiece) {
    size_t n = std::min(kPiece, bytes - at);
    for (size_t i = 0; i < count; ++i)
      if (to[i] != from) copy_bytes(from + at, to[i] + at, n, streamed);
  }
}

}  // namespace fgmpi::coll
