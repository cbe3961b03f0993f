// What the programs for the figures of "Scalable Algorithms for Constructing Balanced Spanning
// Trees on System-ranked Process Groups" (EuroMPI 2012) share: groups by repeatable seeds, and one
// construction by simulated vertices (test/unit/system-ranked/simulator.h).
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../../test/unit/system-ranked/simulator.h"

namespace eurompi12 {

using namespace fgmpi::system_ranked;

struct Scheme {
  const char* name;
  Algorithm algorithm;
  Filler filler;
};
inline constexpr Scheme kSchemes[] = {
    {"centralized", Algorithm::kCentralized, Filler::kLeaf},
    {"shrink_and_balance", Algorithm::kShrinkAndBalance, Filler::kLeaf},
    {"shrink_and_balance/child", Algorithm::kShrinkAndBalance, Filler::kChild},
    {"rank_and_hash", Algorithm::kRankAndHash, Filler::kLeaf},
};

/// Who takes part: each rank with probability f, by a generator that n and the seed fix; `each`
/// ranks a vertex.
struct Group {
  uint32_t vertices = 0, k = 3;
  std::vector<uint32_t> weights;  ///< members of each vertex
  uint64_t members = 0;           ///< vertices with members
};
inline Group group_of(uint32_t n, uint32_t each, uint32_t k, double f, uint32_t seed) {
  Group g{(n + each - 1) / each, k, {}};
  g.weights.resize(g.vertices);
  std::mt19937 random(seed * 1000003u + n);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (uint32_t i = 0; i < n; ++i)
    if (uniform(random) < f) ++g.weights[i / each];
  for (uint32_t w : g.weights) g.members += w > 0;
  return g;
}

struct ByteRun {
  SimulationCounts counts;
  double wall_ms = 0;
};
inline ByteRun run(const Scheme& scheme, const Group& g, const LogGP& loggp, bool measure,
                   bool ranks = true) {
  SplitOptions options;
  options.algorithm = scheme.algorithm;
  options.filler = scheme.filler;
  options.k = g.k;
  options.ranks = ranks;
  Simulation simulation(g.vertices, options, loggp, measure);
  for (Address i = 0; i < g.vertices; ++i) {
    std::vector<Enrolment> mine;
    if (g.weights[i]) mine.push_back({0, g.weights[i], {{0, i, 2}, 1}});
    simulation.add(complete_tree(i, g.vertices, g.k), std::move(mine));
  }
  auto begin = std::chrono::steady_clock::now();
  if (!simulation.run()) {
    std::fprintf(stderr, "%s: the construction did not end\n", scheme.name);
    std::exit(1);
  }
  std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - begin;
  return {simulation.counts(), wall.count()};
}

/// Options --name=value; values of lists are separated by commas.
inline const char* option(int argc, char** argv, const char* name, const char* fallback) {
  size_t length = std::strlen(name);
  for (int i = 1; i < argc; ++i)
    if (!std::strncmp(argv[i], "--", 2) && !std::strncmp(argv[i] + 2, name, length) &&
        argv[i][2 + length] == '=')
      return argv[i] + 3 + length;
  return fallback;
}
inline std::vector<double> numbers(const char* list) {
  std::vector<double> out;
  for (const char* at = list; *at;) {
    char* end;
    out.push_back(std::strtod(at, &end));
    if (end == at) break;
    at = *end == ',' ? end + 1 : end;
  }
  return out;
}

}  // namespace eurompi12
