// One loop for each common length of a row.

#include "datatype/strided.h"

#include "base/copy.h"

namespace fgmpi::datatype {
namespace {

/// The loop over the rows: copy(to, from) copies one. Four at a time, at addresses that loads and
/// stores can hold in two registers.
template <class Copy>
void for_each_row(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t count,
                  Copy copy) {
  for (; count >= 4; count -= 4) {
    copy(to, from);
    copy(to + to_stride, from + from_stride);
    copy(to + 2 * to_stride, from + 2 * from_stride);
    copy(to + 3 * to_stride, from + 3 * from_stride);
    to += 4 * to_stride;
    from += 4 * from_stride;
  }
  for (; count > 0; --count) {
    copy(to, from);
    to += to_stride;
    from += from_stride;
  }
}

/// Rows of a length that the compiler knows: loads and stores without calls.
template <size_t kBytes>
void copy_fixed(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t count) {
  for_each_row(to, to_stride, from, from_stride, count,
               [](char* t, const char* f) { std::memcpy(t, f, kBytes); });
}

/// Rows of kPart to 2 * kPart bytes.
template <size_t kPart>
void copy_by_two(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t bytes,
                 int64_t count) {
  for_each_row(to, to_stride, from, from_stride, count, [bytes](char* t, const char* f) {
    detail::copy_ends<kPart>(t, f, static_cast<size_t>(bytes));
  });
}

/// Rows of at most this many bytes take less time by loads in line than by a call of memcpy.
constexpr int64_t kLongestByLoads = 1024;

/// From these sizes on, of a row and of all rows, stores that do not fetch the destination into the
/// caches are faster (by 5 to 35 % on an AMD EPYC with 32 MiB of last-level cache; rows of 4 KiB
/// gain nothing, shorter ones lose). memcpy decides by the row alone.
constexpr int64_t kLeastPastCaches = 64 << 10, kMostInCaches = 32 << 20;

}  // namespace

void copy_rows(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t bytes,
               int64_t count) {
  if (count == 1) return copy_row(to, from, bytes);
  if (bytes == to_stride && bytes == from_stride) {
    std::memcpy(to, from, static_cast<size_t>(bytes * count));
    return;
  }
  switch (bytes) {
    case 1:
      return copy_fixed<1>(to, to_stride, from, from_stride, count);
    case 2:
      return copy_fixed<2>(to, to_stride, from, from_stride, count);
    case 4:
      return copy_fixed<4>(to, to_stride, from, from_stride, count);
    case 8:
      return copy_fixed<8>(to, to_stride, from, from_stride, count);
    case 12:
      return copy_fixed<12>(to, to_stride, from, from_stride, count);
    case 16:
      return copy_fixed<16>(to, to_stride, from, from_stride, count);
    case 24:
      return copy_fixed<24>(to, to_stride, from, from_stride, count);
    case 32:
      return copy_fixed<32>(to, to_stride, from, from_stride, count);
    default:
      break;
  }
  if (bytes > 8 && bytes < 16)
    return copy_by_two<8>(to, to_stride, from, from_stride, bytes, count);
  if (bytes > 16 && bytes < 32)
    return copy_by_two<16>(to, to_stride, from, from_stride, bytes, count);
  if (bytes > 32 && bytes < 64)
    return copy_by_two<32>(to, to_stride, from, from_stride, bytes, count);
  if (bytes >= 64 && bytes <= kLongestByLoads)
    return copy_rows_by_loads({to, to_stride}, {const_cast<char*>(from), from_stride},
                              static_cast<size_t>(bytes), count);
  const auto n = static_cast<size_t>(bytes);
  if (bytes >= kLeastPastCaches && count >= kMostInCaches / bytes)
    return for_each_row(to, to_stride, from, from_stride, count,
                        [n](char* t, const char* f) { copy_past_caches(t, f, n); });
  for_each_row(to, to_stride, from, from_stride, count,
               [n](char* t, const char* f) { std::memcpy(t, f, n); });
}

}  // namespace fgmpi::datatype
