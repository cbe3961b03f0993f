// Compares topologies with brute force: grids, Dims_create with all factorizations, tiles with all
// tiles.
#include "comm/topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace fgmpi::comm {
namespace {

Topology grid(std::vector<int32_t> dims, std::vector<uint8_t> periods) {
  return {Topology::Kind::kCart, std::move(dims), std::move(periods), {}, {}};
}

TEST(Cart, CoordinatesRanksAndNeighbours) {
  Topology t = grid({3, 4, 5}, {0, 1, 0});
  int32_t rank = 0;
  for (int32_t x = 0; x < 3; ++x)
    for (int32_t y = 0; y < 4; ++y)
      for (int32_t z = 0; z < 5; ++z, ++rank) {
        int32_t c[3], given[3] = {x, y, z};
        cart_coords(t, rank, c);
        EXPECT_EQ(std::vector<int32_t>(c, c + 3), (std::vector<int32_t>{x, y, z}));
        EXPECT_EQ(cart_rank(t, given), rank);
        for (int d = 0; d < 3; ++d)
          for (int step : {-7, -1, 0, 1, 2, 9}) {
            int32_t moved[3] = {x, y, z};
            moved[d] += step;
            int32_t expected = cart_rank(t, moved);
            EXPECT_EQ(cart_neighbor(t, rank, d, step), expected < 0 ? MPI_PROC_NULL : expected);
          }
      }
}

TEST(Cart, SizeOverflowIsSeen) {
  EXPECT_EQ(cart_size(std::vector<int32_t>{}), 1);
  EXPECT_EQ(cart_size(std::vector<int32_t>{65536, 65536}), -1);
}

/// The measure of a grid: the difference of its first and last factor, then its faces, the sum of n
/// / factor.
std::pair<int64_t, int64_t> badness(int32_t n, const std::vector<int32_t>& factors) {
  int64_t faces = 0;
  for (int32_t f : factors) faces += n / f;
  return {factors.front() - factors.back(), faces};
}

/// Finds the best of all ways to write n as k factors that do not increase.
class AllFactorizations {
 public:
  explicit AllFactorizations(int32_t most) : divisors_(static_cast<size_t>(most) + 1) {
    for (int32_t d = 1; d <= most; ++d)
      for (int32_t n = d; n <= most; n += d) divisors_[static_cast<size_t>(n)].push_back(d);
  }
  std::pair<int64_t, int64_t> best(int32_t n, int k) const {
    std::pair<int64_t, int64_t> best{INT64_MAX, INT64_MAX};
    std::vector<int32_t> factors(static_cast<size_t>(k));
    walk(n, n, 0, &factors, &best);
    return best;
  }

 private:
  void walk(int32_t n, int32_t rest, size_t at, std::vector<int32_t>* factors,
            std::pair<int64_t, int64_t>* best) const {
    int32_t most = at == 0 ? n : (*factors)[at - 1];
    if (at + 1 == factors->size()) {
      if (rest > most) return;
      factors->back() = rest;
      *best = std::min(*best, badness(n, *factors));
      return;
    }
    for (int32_t d : divisors_[static_cast<size_t>(rest)]) {
      if (d > most) break;
      (*factors)[at] = d;
      walk(n, rest / d, at + 1, factors, best);
    }
  }
  std::vector<std::vector<int32_t>> divisors_;
};

TEST(Dims, AsEqualAsCanBe) {
  constexpr int32_t kMost = 2000;
  AllFactorizations all(kMost);
  for (int k = 1; k <= 5; ++k)
    for (int32_t n = 1; n <= kMost; ++n) {
      std::vector<int32_t> dims(static_cast<size_t>(k));
      ASSERT_TRUE(dims_create(n, dims).ok());
      EXPECT_EQ(cart_size(dims), n);
      EXPECT_TRUE(std::is_sorted(dims.rbegin(), dims.rend()));
      ASSERT_EQ(badness(n, dims), all.best(n, k)) << n << " into " << k;
    }
  std::vector<int32_t> large(6);
  ASSERT_TRUE(dims_create(720720, large).ok());
  EXPECT_EQ(cart_size(large), 720720);
}

TEST(Dims, GivenOnesStayAndMustDivide) {
  std::vector<int32_t> dims{0, 3, 0};
  ASSERT_TRUE(dims_create(24, dims).ok());
  EXPECT_EQ(dims, (std::vector<int32_t>{4, 3, 2}));
  for (std::vector<int32_t> bad : {std::vector<int32_t>{0, 5, 0}, {3, 3}, {-1, 0}, {48}})
    EXPECT_EQ(dims_create(24, bad).error_class(), MPI_ERR_DIMS);
  EXPECT_EQ(dims_create(0, dims).error_class(), MPI_ERR_ARG);
}

TEST(Cart, TilesHaveFewerFacesThanSlabs) {
  auto faces = [](const std::vector<int32_t>& dims, const std::vector<int32_t>& tile) {
    int64_t volume = 1, sum = 0;
    for (int32_t t : tile) volume *= t;
    for (size_t i = 0; i < dims.size(); ++i)
      if (tile[i] < dims[i]) sum += volume / tile[i];
    return sum;
  };
  EXPECT_TRUE(cart_tile(std::vector<int32_t>{64}, 16).empty());  // no tile of a line is better
  EXPECT_TRUE(cart_tile(std::vector<int32_t>{8, 2}, 2).empty());
  std::vector<int32_t> dims{64, 64};
  std::vector<int32_t> tile = cart_tile(dims, 64);
  EXPECT_EQ(tile, (std::vector<int32_t>{8, 8}));
  EXPECT_LT(faces(dims, tile), faces(dims, {1, 64}));
  EXPECT_EQ(cart_tile(std::vector<int32_t>{16, 16, 16}, 64), (std::vector<int32_t>{4, 4, 4}));
}

}  // namespace
}  // namespace fgmpi::comm
