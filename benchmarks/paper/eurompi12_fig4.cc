// Figure 4 and the message counts of the EuroMPI 2012 paper on system-ranked groups: messages of a
// construction, normalised by Centralized, over the fraction f that takes part, at n = 131,072 and
// k = 3.
//
//   eurompi12_fig4 [--n=131072] [--f=...] [--k=3] [--seed=1]
//
// Counts are of the constructions as the paper counts them; ranks for Shrink-and-Balance are a pass
// of their own.

// modules: system_ranked
#include "eurompi12_groups.h"

using namespace eurompi12;

namespace {

/// Vertices other than the root of the parent's tree with a member at or below them.
uint64_t occupied(const Group& g) {
  std::vector<bool> below(g.vertices);
  uint64_t d = 0;
  for (uint32_t i = g.vertices; i-- > 0;) {
    if (g.weights[i]) below[i] = true;
    if (!below[i] || i == 0) continue;
    below[parent_of(i, g.k)] = true;
    ++d;
  }
  return d;
}

struct Line {
  const char* name;
  double run, formula, paper;
};

void beside_the_paper(const Group& g, const uint64_t* messages, uint32_t suppliers) {
  uint64_t n = g.vertices, m = g.members, d = occupied(g);
  double central = static_cast<double>((n - 1) + (m - 1) + (g.weights[0] ? 0 : 1));
  double hash = static_cast<double>((n - 1) + d + 2 * m + (m - 1) + (m - 1 + g.k - 1) / g.k);
  const Line lines[] = {{"centralized", static_cast<double>(messages[0]), central, 2.1e5},
                        {"shrink_and_balance", static_cast<double>(messages[1]), 0, 2.6e5},
                        {"rank_and_hash", static_cast<double>(messages[3]), hash, 4.9e5}};
  std::printf("\nn %llu, members %llu, k %u, d %llu\n%-20s %10s %10s %10s\n",
              static_cast<unsigned long long>(n), static_cast<unsigned long long>(m), g.k,
              static_cast<unsigned long long>(d), "", "run", "formula", "paper");
  for (const Line& l : lines) {
    std::printf("%-20s %10.0f ", l.name, l.run);
    if (l.formula > 0)
      std::printf("%10.0f", l.formula);
    else
      std::printf("%10s", "-");
    std::printf(" %10.0f\n", l.paper);
  }
  std::printf("most suppliers at a vertex: %u (paper: 13)\n", suppliers);
}

}  // namespace

int main(int argc, char** argv) {
  uint32_t n = static_cast<uint32_t>(std::atoi(option(argc, argv, "n", "131072")));
  uint32_t k = static_cast<uint32_t>(std::atoi(option(argc, argv, "k", "3")));
  uint32_t seed = static_cast<uint32_t>(std::atoi(option(argc, argv, "seed", "1")));
  std::printf("%6s %9s", "f", "members");
  for (const Scheme& s : kSchemes) std::printf(" %25s", s.name);
  std::printf(" %9s\n", "suppliers");
  for (double f : numbers(option(argc, argv, "f", "0.001,0.01,0.1,0.3,0.6,0.9,0.99"))) {
    Group g = group_of(n, 1, k, f, seed);
    uint64_t messages[std::size(kSchemes)];
    uint32_t suppliers = 0;
    std::printf("%6g %9llu", f, static_cast<unsigned long long>(g.members));
    for (size_t s = 0; s < std::size(kSchemes); ++s) {
      SimulationCounts counts = run(kSchemes[s], g, {}, false, false).counts;
      messages[s] = counts.construction();
      suppliers = std::max(suppliers, counts.suppliers);
      std::printf(" %16llu %8.3f", static_cast<unsigned long long>(messages[s]),
                  static_cast<double>(messages[s]) / static_cast<double>(messages[0]));
    }
    std::printf(" %9u\n", suppliers);
    if (f == 0.6 && n == 131072 && k == 3) beside_the_paper(g, messages, suppliers);
  }
  return 0;
}
