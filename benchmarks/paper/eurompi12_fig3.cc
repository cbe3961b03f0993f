// Figure 3 of the EuroMPI 2012 paper on system-ranked groups: a broadcast on the parent's tree, the
// construction, and a reduction on the new tree, for three algorithms, against n and the fraction f
// that takes part; at rank grain, as the paper measures, and at process grain.
//
//   eurompi12_fig3 [--n=4096,16384,...] [--f=0.001,...] [--k=2,3,4,8] [--each=1,500] [--seed=1]
//                  [--latency=US] [--overhead=US] [--per_byte=US] [--ranks=0] [--child=1]
//                  [--memory=1]
//
// Two times. "path": the critical path, by a LogGP clock a vertex: where the paper's curves are to
// be compared. "work": wall time of one process that runs all vertices one after another, broadcast
// and reduction included. The default clock is the paper's machine, Blue Gene/P: latency 3 us and
// 0.0024 us a byte are its network's, overhead 3.5 us (a message of Charm++ at 850 MHz) is what
// makes Rank-and-Hash at n = 32,768 take the time of its Table 1.
// --ranks=1 adds to Shrink-and-Balance the pass that assigns ranks, which the paper does not time.

// modules: system_ranked
#include "eurompi12_groups.h"

using namespace eurompi12;

int main(int argc, char** argv) {
  LogGP loggp;
  loggp.latency = std::atof(option(argc, argv, "latency", "3"));
  loggp.overhead = loggp.gap = std::atof(option(argc, argv, "overhead", "3.5"));
  loggp.per_byte = std::atof(option(argc, argv, "per_byte", "0.0024"));
  bool ranks = std::atoi(option(argc, argv, "ranks", "0"));
  bool child = std::atoi(option(argc, argv, "child", "0"));
  bool memory = std::atoi(option(argc, argv, "memory", "0"));
  uint32_t seed = static_cast<uint32_t>(std::atoi(option(argc, argv, "seed", "1")));
  std::printf("# latency %g us, overhead and gap %g us, %g us a byte, seed %u\n", loggp.latency,
              loggp.overhead, loggp.per_byte, seed);
  std::printf("%8s %6s %6s %3s %8s  %-24s %10s %10s %9s %9s%s\n", "n", "each", "f", "k", "members",
              "algorithm", "path_us", "build_us", "work_ms", "messages",
              memory ? "   longest  transient" : "");
  for (double each : numbers(option(argc, argv, "each", "1")))
    for (double n : numbers(option(argc, argv, "n", "4096,8192,16384,32768,65536,131072")))
      for (double f : numbers(option(argc, argv, "f", "0.001,0.01,0.1,0.3,0.6,0.9,0.99")))
        for (double k : numbers(option(argc, argv, "k", "3"))) {
          Group g = group_of(static_cast<uint32_t>(n), static_cast<uint32_t>(each),
                             static_cast<uint32_t>(k), f, seed);
          for (const Scheme& scheme : kSchemes) {
            if (scheme.filler == Filler::kChild && !child) continue;
            ByteRun r = run(scheme, g, loggp, memory, ranks);
            std::printf(
                "%8.0f %6.0f %6g %3.0f %8llu  %-24s %10.1f %10.1f %9.2f %9llu", n, each, f, k,
                static_cast<unsigned long long>(g.members), scheme.name, r.counts.ended,
                r.counts.built - r.counts.began, r.wall_ms,
                static_cast<unsigned long long>(r.counts.construction() + r.counts.rank_pass()));
            if (memory) std::printf(" %9zu  %9zu", r.counts.longest, r.counts.most_bytes);
            std::printf("\n");
          }
        }
  return 0;
}
