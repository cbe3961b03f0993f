// Groups of every kind for the tests: regular, ordered, unordered, with and without structure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace fgmpi::groupmap::testing {

using Ranks = std::vector<int32_t>;
using Random = std::mt19937;

struct Group {
  std::string name;
  Ranks ranks;
};

inline int32_t below(Random& random, int32_t n) { return static_cast<int32_t>(random() % n); }

inline Ranks iota(int32_t size, int32_t offset = 0, int32_t stride = 1) {
  Ranks ranks(static_cast<size_t>(size));
  for (int32_t i = 0; i < size; ++i) ranks[i] = offset + i * stride;
  return ranks;
}

/// `size` distinct ranks out of 0..world-1, ascending.
inline Ranks random_subset(Random& random, int32_t size, int32_t world) {
  std::set<int32_t> picked;
  while (static_cast<int32_t>(picked.size()) < size) picked.insert(below(random, world));
  return Ranks(picked.begin(), picked.end());
}

/// Ascending ranges of lengths 1..longest with gaps 1..gap between them.
inline Ranks random_ranges(Random& random, int32_t count, int32_t longest, int32_t gap) {
  Ranks ranks;
  int32_t at = below(random, gap);
  for (int32_t k = 0; k < count; ++k) {
    for (int32_t length = 1 + below(random, longest); length > 0; --length) ranks.push_back(at++);
    at += 1 + below(random, gap);
  }
  return ranks;
}

/// Pieces of any stride in random order. Each piece has a range of world ranks of its own.
inline Ranks random_pieces(Random& random, int32_t count, int32_t longest) {
  std::vector<Ranks> pieces;
  int32_t at = 0;
  for (int32_t k = 0; k < count; ++k) {
    int32_t length = 1 + below(random, longest), stride = 1 + below(random, 5);
    Ranks piece = iota(length, at, stride);
    if (random() % 2) std::reverse(piece.begin(), piece.end());
    pieces.push_back(piece);
    at += length * stride + below(random, 4);
  }
  std::shuffle(pieces.begin(), pieces.end(), random);
  Ranks ranks;
  for (const Ranks& piece : pieces) ranks.insert(ranks.end(), piece.begin(), piece.end());
  return ranks;
}

inline Ranks without(Ranks ranks, Random& random, int32_t count) {
  for (; count > 0 && !ranks.empty(); --count)
    ranks.erase(ranks.begin() + below(random, static_cast<int32_t>(ranks.size())));
  return ranks;
}

inline Ranks with_swaps(Ranks ranks, Random& random, int32_t count) {
  int32_t n = static_cast<int32_t>(ranks.size());
  for (; count > 0; --count) std::swap(ranks[below(random, n)], ranks[below(random, n)]);
  return ranks;
}

inline Ranks shuffled(Ranks ranks, Random& random) {
  std::shuffle(ranks.begin(), ranks.end(), random);
  return ranks;
}

/// A random grid of 1..6 levels, some of them with a negative stride: always a regular map.
inline Ranks random_grid(Random& random) {
  int32_t levels = 1 + below(random, 6);
  std::vector<std::pair<int32_t, int32_t>> level;  // count, stride
  int32_t reach = 0, offset = below(random, 100);
  for (int32_t k = 0; k < levels; ++k) {
    int32_t count = 2 + below(random, 4), stride = reach + 1 + below(random, 3);
    reach += (count - 1) * stride;
    if (random() % 4 == 0) {
      offset += (count - 1) * stride;
      stride = -stride;
    }
    level.push_back({count, stride});
  }
  if (random() % 4 == 0) std::shuffle(level.begin(), level.end(), random);
  Ranks ranks = {offset};
  for (auto [count, stride] : level) {
    Ranks next;
    for (int32_t k = 0; k < count; ++k)
      for (int32_t rank : ranks) next.push_back(rank + k * stride);
    ranks = next;
  }
  return ranks;
}

inline std::vector<Group> all_groups(Random& random) {
  std::vector<Group> groups;
  auto add = [&](const char* name, Ranks ranks) { groups.push_back({name, std::move(ranks)}); };
  add("empty", {});
  add("one", {0});
  add("one, high", {INT32_MAX});
  add("two", {7, 3});
  add("first and last rank there is", {0, INT32_MAX});
  add("last and first rank there is", {INT32_MAX, 0});
  add("world", iota(1000));
  add("offset", iota(777, 5));
  add("stride", iota(500, 3, 7));
  add("falling", iota(1000, 999, -1));
  add("falling stride", iota(300, 3000, -9));
  add("world without one", without(iota(3000), random, 1));
  add("world without many", without(iota(3000), random, 400));
  add("stride without some", without(iota(3000, 11, 4), random, 5));
  add("falling without one", without(iota(2000, 4000, -2), random, 1));
  add("ranges", random_ranges(random, 300, 20, 30));
  add("ranges of one or two", random_ranges(random, 700, 2, 9));
  add("far ranges", random_ranges(random, 40, 300, 90000));
  add("half the world", random_subset(random, 2500, 5000));
  add("sparse", random_subset(random, 700, 1000000));
  add("clustered", [&] {
    Ranks ranks = random_subset(random, 1500, 2000);
    for (int32_t rank : random_subset(random, 50, 1 << 30)) ranks.push_back(5000 + rank);
    return ranks;
  }());
  add("odd ranks and a half", [] {
    Ranks ranks = iota(2000);
    for (int32_t rank = 2001; rank < 4000; rank += 2) ranks.push_back(rank);
    return ranks;
  }());
  add("even, then odd", [] {
    Ranks ranks = iota(900, 0, 2);
    for (int32_t rank = 1; rank < 1800; rank += 2) ranks.push_back(rank);
    return ranks;
  }());
  add("swaps", with_swaps(iota(5000), random, 20));
  add("swaps without one", with_swaps(without(iota(5000), random, 1), random, 20));
  add("swaps in a stride", with_swaps(iota(2500, 40, -3 + 6), random, 9));
  add("shuffled world", shuffled(iota(3000), random));
  add("shuffled subset", shuffled(random_subset(random, 900, 60000), random));
  add("pieces", random_pieces(random, 150, 40));
  add("few pieces", random_pieces(random, 6, 400));
  add("blocks permuted", [&] {
    Ranks ranks;
    for (int32_t block : shuffled(iota(120), random))
      for (int32_t k = 0; k < 25; ++k) ranks.push_back(block * 25 + k);
    return ranks;
  }());
  add("two orders merged", [] {
    Ranks ranks;
    for (int32_t k = 0; k < 1000; ++k) {
      ranks.push_back(k);
      ranks.push_back(5000 - k);
    }
    return ranks;
  }());
  for (int k = 0; k < 12; ++k) add("grid", random_grid(random));
  return groups;
}

}  // namespace fgmpi::groupmap::testing
