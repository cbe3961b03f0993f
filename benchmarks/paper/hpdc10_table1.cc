// Table 1 of "Scalability of Communicators and Groups in MPI" (HPDC 2010): space and time of the
// encodings on ordered groups. The groups are the paper's, of the same sizes; where its words leave
// a choice (which gaps between the 10,000 ranges) it is random, with a fixed seed.

// modules: groupmap base
#include "hpdc10_tables.h"

namespace hpdc10 {
namespace {

Ranks world_without_one() {
  Ranks ranks = iota(1000000);
  ranks.erase(ranks.begin() + 617283);
  return ranks;
}

Ranks ordered_ranges(std::mt19937& random) {
  // 10,000 different numbers of ranks left out before a range, in order.
  std::vector<bool> picked(500000);
  for (int left = 10000; left > 0;) {
    size_t at = random() % picked.size();
    if (picked[at]) continue;
    picked[at] = true;
    --left;
  }
  Ranks ranks;
  for (int32_t gone = 0; gone < 500000; ++gone)
    if (picked[static_cast<size_t>(gone)])
      for (int k = 0; k < 50; ++k) ranks.push_back(gone + static_cast<int32_t>(ranks.size()));
  return ranks;
}

Ranks odd_ranks_and_lower_half() {
  Ranks ranks = iota(500000);
  for (int32_t rank = 500001; ranks.size() < 749999; rank += 2) ranks.push_back(rank);
  return ranks;
}

Ranks upper_half_without_primes() {
  std::vector<bool> composite(1000000);
  for (size_t p = 2; p * p < composite.size(); ++p)
    for (size_t k = p * p; !composite[p] && k < composite.size(); k += p) composite[k] = true;
  Ranks ranks;
  for (int32_t rank = 500000; rank < 1000000; ++rank)
    if (composite[static_cast<size_t>(rank)]) ranks.push_back(rank);
  return ranks;
}

Ranks sub_grid() {
  // [*,10,*,10,*,*] of 10 x 10 x 10 x 10 x 10 x 10, coordinates from 1.
  Ranks ranks;
  for (int32_t a = 0; a < 10; ++a)
    for (int32_t b = 0; b < 10; ++b)
      for (int32_t cd = 0; cd < 100; ++cd)
        ranks.push_back(a * 100000 + 90000 + b * 1000 + 900 + cd);
  return ranks;
}

Ranks stride_without_one() {
  Ranks ranks = iota(10001, 600000, 2);
  ranks.erase(ranks.begin() + 8849);
  return ranks;
}

Ranks random_subset(std::mt19937& random) {
  Ranks ranks = iota(1000000);
  std::shuffle(ranks.begin(), ranks.end(), random);
  ranks.resize(1500);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::vector<Row> rows() {
  std::mt19937 random(20100621);
  double subsets = log2_factorial(1e6) - log2_factorial(1500) - log2_factorial(1e6 - 1500);
  return {
      {"1",
       "world, one rank removed",
       world_without_one(),
       true,
       0,
       {{"ARRAY", 3906, 8.58, 0.009},
        {"BWT", 857, 154.2, 139.790},
        {"BDD", 0.55, 293.2, 0.289},
        {"BMp", 122, 100.8, 0.169}}},
      {"2",
       "10,000 ordered ranges of 50",
       ordered_ranges(random),
       true,
       0,
       {{"ARRAY", 1953, 4.29, 0.007},
        {"BWT", 526, 82.2, 150.562},
        {"BDD", 110, 1588.0, 45.829},
        {"BMp", 122, 51.0, 0.167}}},
      {"3",
       "all odd ranks and 0..499,999",
       odd_ranks_and_lower_half(),
       true,
       0,
       {{"ARRAY", 2930, 6.43, 0.009},
        {"BWT", 597, 109.0, 131.647},
        {"BDD", 0.41, 181.9, 0.243},
        {"BMp", 122, 76.9, 0.164}}},
      {"4",
       "upper half without primes",
       upper_half_without_primes(),
       false,
       0,
       {{"ARRAY", 1809, 3.98, 0.009},
        {"BWT", 534, 80.408, 158.331},
        {"BDD", 871, 148.4, 337.964},
        {"BMp", 61, 46.0, 0.160}}},
      {"5",
       "4-D sub-grid of a 6-D grid",
       sub_grid(),
       true,
       0,
       {{"ARRAY", 39, 0.10, 0.010},
        {"BWT", 14, 2.5, 149.405},
        {"BDD", 4, 10.2, 1.032},
        {"BMp", 111, 0, 0.150}}},
      {"6",
       "sub-grid that is one range",
       iota(10000, 990000),
       true,
       0,
       {{"ARRAY", 39, 0.10, 0.010},
        {"BWT", 13, 1.4, 126.963},
        {"BDD", 0.30, 1.5, 0.156},
        {"BMp", 1.3, 0.9, 0.113}}},
      {"7",
       "2*gid+600000 without gid 8849",
       stride_without_one(),
       true,
       0,
       {{"ARRAY", 39, 0.09, 0.009},
        {"BWT", 9.43, 2.03, 138.906},
        {"BDD", 0.38, 1.83, 0.190},
        {"BMp", 5.00, 0.99, 0.130}}},
      {"8",
       "1,500 random of 0..999,999",
       random_subset(random),
       false,
       kb_of_bits(subsets),
       {{"ARRAY", 5.99, 0.01, 0.009},
        {"BWT", 5.78, 0.03, 0.015},
        {"BDD", 12, 14.5, 759.165},
        {"BMp", 122, 0.1988, 0.1656}}},
  };
}

}  // namespace
}  // namespace hpdc10

int main(int argc, char** argv) {
  return hpdc10::report(argc, argv, "HPDC'10 table 1: ordered groups", hpdc10::rows());
}
