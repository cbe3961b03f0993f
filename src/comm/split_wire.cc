// Packing and unpacking of members' colors and keys, and their order.

#include "comm/split_wire.h"

#include <mpi.h>

#include <algorithm>
#include <utility>

namespace fgmpi::comm {
namespace {

/// The packing of one column of numbers: their smallest, and the bytes of each.
struct Column {
  int64_t base = 0;
  int width = 0;
  template <class F>
  Column(size_t count, F&& value) {
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (size_t i = 0; i < count; ++i) {
      low = std::min(low, value(i));
      high = std::max(high, value(i));
    }
    if (count == 0) return;
    base = low;
    uint64_t range = static_cast<uint64_t>(high - low);
    width = range == 0            ? 0
            : range < 1u << 8     ? 1
            : range < 1u << 16    ? 2
            : range <= UINT32_MAX ? 4
                                  : 8;
  }
  template <class F>
  void write(std::vector<uint8_t>* out, size_t count, F&& value) const {
    size_t at = out->size();
    out->resize(at + count * static_cast<size_t>(width));
    for (size_t i = 0; i < count && width; ++i, at += static_cast<size_t>(width)) {
      uint64_t v = static_cast<uint64_t>(value(i) - base);
      std::memcpy(out->data() + at, &v, static_cast<size_t>(width));
    }
  }
};

/// base + offset modulo 2^64, whatever numbers a peer has sent.
int64_t sum(int64_t base, uint64_t offset) {
  return static_cast<int64_t>(static_cast<uint64_t>(base) + offset);
}

/// A stable radix sort by value(entry), a uint32_t.
template <class F>
void sort_by_value(std::vector<SplitEntry>* entries, F&& value) {
  uint32_t low = ~0u, high = 0;
  bool sorted = true;
  uint32_t last = 0;
  for (const SplitEntry& e : *entries) {
    const uint32_t v = value(e);
    low = std::min(low, v);
    high = std::max(high, v);
    sorted &= v >= last;
    last = v;
  }
  if (sorted) return;
  constexpr uint32_t kBits = 11, kBuckets = 1u << kBits;
  std::vector<SplitEntry> other(entries->size());
  std::vector<uint32_t> starts(kBuckets);
  for (uint32_t shift = 0; shift < 32 && (high - low) >> shift != 0; shift += kBits) {
    auto bucket = [&](const SplitEntry& e) { return (value(e) - low) >> shift & (kBuckets - 1); };
    std::fill(starts.begin(), starts.end(), 0);
    for (const SplitEntry& e : *entries) ++starts[bucket(e)];
    uint32_t at = 0;
    for (uint32_t& s : starts) at += std::exchange(s, at);
    for (const SplitEntry& e : *entries) other[starts[bucket(e)]++] = e;
    entries->swap(other);
  }
}

}  // namespace

void pack_split(const std::vector<SplitMember>& members, std::vector<uint8_t>* out) {
  auto color = [&](size_t i) {
    return members[i].color == MPI_UNDEFINED ? int64_t{0} : int64_t{members[i].color} + 1;
  };
  auto key = [&](size_t i) { return int64_t{members[i].key}; };
  auto key_less_rank = [&](size_t i) { return int64_t{members[i].key} - members[i].rank; };
  size_t n = members.size();
  Column colors(n, color), keys(n, key), shifted(n, key_less_rank);
  bool less_rank = shifted.width < keys.width;
  append(out, static_cast<uint32_t>(n));
  append(out, colors.base);
  append(out, static_cast<uint8_t>(colors.width));
  append(out, less_rank ? shifted.base : keys.base);
  append(out, static_cast<uint8_t>(less_rank));
  append(out, static_cast<uint8_t>(less_rank ? shifted.width : keys.width));
  colors.write(out, n, color);
  if (less_rank)
    shifted.write(out, n, key_less_rank);
  else
    keys.write(out, n, key);
}

bool unpack_split(FieldReader* in, const std::vector<int32_t>& ranks, uint32_t process_index,
                  std::vector<SplitEntry>* entries) {
  const size_t n = ranks.size();
  if (in->get<uint32_t>() != n) return false;
  const auto color_base = in->get<int64_t>();
  const unsigned color_width = in->get<uint8_t>();
  const auto key_base = in->get<int64_t>();
  const bool less_rank = in->get<uint8_t>();
  const unsigned key_width = in->get<uint8_t>();
  std::vector<int64_t> colors(n);
  for (int64_t& c : colors) {
    c = sum(color_base, in->get_number(color_width));
    if (c < 0 || c > int64_t{INT32_MAX} + 1) return false;
  }
  for (size_t i = 0; i < n; ++i) {
    int64_t key = sum(key_base, in->get_number(key_width));
    if (less_rank) key = sum(key, static_cast<uint64_t>(ranks[i]));
    if (key < INT32_MIN || key > INT32_MAX) return false;
    if (colors[i] == 0) continue;
    entries->push_back({static_cast<uint32_t>(colors[i] - 1),
                        sortable_key(static_cast<int32_t>(key)), ranks[i], process_index});
  }
  return !in->failed();
}

void sort_by(std::vector<SplitEntry>* entries, uint32_t SplitEntry::*field) {
  sort_by_value(entries, [field](const SplitEntry& e) { return e.*field; });
}

void sort_by_rank(std::vector<SplitEntry>* entries) {
  sort_by_value(entries, [](const SplitEntry& e) { return static_cast<uint32_t>(e.rank); });
}

}  // namespace fgmpi::comm
