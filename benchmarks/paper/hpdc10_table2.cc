// Table 2 of "Scalability of Communicators and Groups in MPI" (HPDC 2010): space and time of the
// encodings on unordered groups. Row 3 is there twice: "10,000 blocks randomly permuted" of a group
// of 500,000 read as 10,000 blocks of 50 (3), and as blocks of 10,000, 50 of them (3b): the
// paper's 4.98 bits a member for the wavelet tree are those of about 25 runs, which only the second
// reading has.

// modules: groupmap base
#include "hpdc10_tables.h"

namespace hpdc10 {
namespace {

Ranks shuffled_pairs(std::mt19937& random) {
  Ranks ranks = iota(1000001);
  ranks.erase(ranks.begin() + 271828);
  for (int k = 0; k < 50; ++k) std::swap(ranks[random() % 1000000], ranks[random() % 1000000]);
  return ranks;
}

Ranks permuted_world(std::mt19937& random) {
  Ranks ranks = iota(1000000);
  std::shuffle(ranks.begin(), ranks.end(), random);
  return ranks;
}

Ranks permuted_blocks(std::mt19937& random, int32_t blocks, int32_t length) {
  Ranks order = iota(blocks), ranks;
  std::shuffle(order.begin(), order.end(), random);
  for (int32_t block : order)
    for (int32_t k = 0; k < length; ++k) ranks.push_back(block * length + k);
  return ranks;
}

std::vector<Row> rows() {
  std::mt19937 random(20100622);
  std::vector<PaperFigure> blocks = {{"ARRAY", 1953, 4.29, 0.009},
                                     {"BWT", 431, 76.5, 139.132},
                                     {"WTR+R/S", 304, 350.6, 0.967},
                                     {"WTR+BDD", 304, 424.4, 1.128},
                                     {"WTR+BMp", 365, 399.8, 1.159}};
  return {
      {"1",
       "world, one removed, 50 swaps",
       shuffled_pairs(random),
       true,
       0,
       {{"ARRAY", 3906, 8.58, 0.009},
        {"BWT", 864, 153.5, 142.080},
        {"WTR+BDD", 812, 1142.9, 1.534},
        {"WTR+BMp", 934, 1089.5, 1.586}}},
      {"2",
       "world randomly permuted",
       permuted_world(random),
       false,
       kb_of_bits(log2_factorial(1e6)),
       {{"ARRAY", 3906, 8.58, 0.009}, {"BWT", 3346, 320.5, 306.926}}},
      {"3", "10,000 blocks of 50 permuted", permuted_blocks(random, 10000, 50), true, 0, blocks},
      {"3b", "50 blocks of 10,000 permuted", permuted_blocks(random, 50, 10000), true, 0, blocks},
      {"4",
       "monotonically decreasing",
       iota(10000, 9999, -1),
       true,
       0,
       {{"ARRAY", 39, 0.09, 0.009},
        {"BWT", 12, 1.4, 125.473},
        {"WTR+R/S", 556, 13.2, 1.681},
        {"WTR+BDD", 556, 16.0, 1.994},
        {"WTR+BMp", 557, 14.0, 1.785}}},
  };
}

}  // namespace
}  // namespace hpdc10

int main(int argc, char** argv) {
  return hpdc10::report(argc, argv, "HPDC'10 table 2: unordered groups", hpdc10::rows());
}
