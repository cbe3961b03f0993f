// Bytes as a program that makes two groups: built in every encoding and strategy, and combined,
// they must behave as the plain vectors do.
#include <algorithm>
#include <set>

#include "groupmap/algebra.h"
#include "groupmap/groupmap.h"

using namespace fgmpi::groupmap;

namespace {

using Ranks = std::vector<int32_t>;

void expect(bool condition) {
  if (!condition) __builtin_trap();
}

/// Three bytes a stretch: how far from the last rank, how many, at which stride. Ranks taken are
/// passed over.
Ranks make_group(std::span<const uint8_t> program) {
  Ranks ranks;
  std::set<int32_t> taken;
  int32_t at = 1000;
  for (size_t k = 0; k + 3 <= program.size() && ranks.size() < 500; k += 3) {
    int32_t stride = static_cast<int8_t>(program[k + 2]) / 8;
    at += static_cast<int8_t>(program[k]) * (program[k + 2] & 1 ? 50 : 1);
    for (int32_t left = program[k + 1] % 100; left >= 0; --left, at += stride ? stride : 1)
      if (at >= 0 && taken.insert(at).second) ranks.push_back(at);
    at = std::max(at, 0);
  }
  return ranks;
}

void check(const MapRef& map, const Ranks& ranks) {
  std::string why;
  expect(map.validate(&why));
  expect(map.expand() == ranks);
  size_t step = map.encoding() == Encoding::bwt ? 100 : 1;
  for (size_t i = 0; i < ranks.size(); i += step) {
    expect(map.select(static_cast<int32_t>(i)) == ranks[i]);
    expect(map.rank(ranks[i]) == static_cast<int32_t>(i));
  }
  Ranks sorted = ranks, ordered(ranks.size());
  std::sort(sorted.begin(), sorted.end());
  map.ordered_range(0, map.size(), ordered.data());
  expect(ordered == sorted);
  for (int32_t w = 900; w < 1100; ++w)
    expect(map.contains(w) == std::binary_search(sorted.begin(), sorted.end(), w));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  size_t cut = std::min<size_t>(data[0], size - 3);
  Ranks x = make_group(std::span(data + 3, cut)),
        y = make_group(std::span(data + 3 + cut, size - 3 - cut));
  MapRef a, b, out;
  Encoding encoding = all_encodings()[data[1] % all_encodings().size()];
  if (build_as(encoding, x, &a).ok()) check(a, x);
  const Strategy strategies[] = {Strategy::hybrid(), Strategy::time(), Strategy::space()};
  // Space tries several encodings: less often.
  Strategy strategy = strategies[data[2] % 16 == 0 ? 2 : data[2] % 2];
  if (data[2] & 64 || a.size() != static_cast<int32_t>(x.size())) {
    expect(build(x, strategy, &a).ok());
    check(a, x);
  }
  if (data[2] & 128 || !build_as(encoding, y, &b).ok()) expect(build(y, strategy, &b).ok());
  check(b, y);
  std::set<int32_t> in_y(y.begin(), y.end());
  Ranks common, others;
  for (int32_t w : x) (in_y.count(w) ? common : others).push_back(w);
  expect(combine(a, b, SetOperation::kIntersection, strategy, &out).ok() && out.expand() == common);
  expect(combine(a, b, SetOperation::kDifference, strategy, &out).ok() && out.expand() == others);
  return 0;
}
