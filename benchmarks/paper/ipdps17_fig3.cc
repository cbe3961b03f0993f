// IPDPS'17 Figures 3 and 4: memory of address vector and rank maps a process, against VC + VCRT.
// modules: ch4_av_rankmap
//
//   ipdps17_fig3 [RANKS...]      default 4096 .. 786432 ranks, one a process as in the paper
//
// 10 and 100 odd/even splits (each communicator split again from the last), and Nek5000's 24 and 86
// duplicates of the world. The maps and the vector are built as the library builds them and asked
// for their bytes. The model of the other side, built for comparison as the paper describes it: a
// virtual connection of 480 bytes a process of the world, and a table of 8 bytes a rank for each
// communicator that is not a duplicate of one that has its table.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "ch4-av-rankmap/av.h"
#include "ch4-av-rankmap/rankmap.h"

using namespace fgmpi;

namespace {

struct Bytes {
  double ours = 0, vcrt = 0;
};

/// Splits of the world by parity, repeated: after each the process keeps the half that it is in.
Bytes splits(int32_t ranks, int count) {
  Bytes b;
  RankMap parent = RankMap::direct(ranks);
  for (int k = 0; k < count; ++k) {
    if (parent.size() < 2) parent = RankMap::direct(ranks);
    int32_t n = (parent.size() + 1) / 2;
    parent = RankMap::compose(parent, RankMap::strided(n, 0, 2));
    b.ours += static_cast<double>(parent.bytes());
    b.vcrt += 8.0 * n;
  }
  return b;
}

Bytes dups(int32_t ranks, int count) {
  Bytes b;
  RankMap world = RankMap::direct(ranks);
  for (int k = 0; k < count; ++k) {
    b.ours += static_cast<double>(RankMap::compose(world, world).bytes());
    b.vcrt += 8.0 * ranks;
  }
  return b;
}

void row(int32_t ranks, const char* what, int count, Bytes b) {
  AddressVector av;
  std::vector<uint32_t> starts;
  for (int32_t p = 0; p <= ranks; ++p) starts.push_back(static_cast<uint32_t>(p));
  av.init(starts, 0);
  double vector_bytes = static_cast<double>(sizeof(AvElement)) * av.processes();
  double vc = 480.0 * ranks;
  std::printf("%8d  %3d %-16s  %10.3f + %10.4f   %10.3f + %10.3f   %6.1f\n", ranks, count, what,
              vector_bytes / 1e6, b.ours / 1e6, vc / 1e6, b.vcrt / 1e6,
              (vc + b.vcrt) / (vector_bytes + b.ours));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int32_t> sizes{4096, 32768, 262144, 786432};
  if (argc > 1) sizes.clear();
  for (int i = 1; i < argc; ++i) sizes.push_back(std::atoi(argv[i]));
  std::printf(
      "MB a process:                    address vector + maps        VC + VCRT            ratio\n");
  for (int32_t n : sizes) {
    if (n < 2) {
      std::fprintf(stderr, "ipdps17_fig3: %d ranks; allowed is 2 or more\n", n);
      return 2;
    }
    row(n, "odd/even splits", 10, splits(n, 10));
    row(n, "odd/even splits", 100, splits(n, 100));
    row(n, "dups (Nek5000)", 24, dups(n, 24));
    row(n, "dups (Nek5000)", 86, dups(n, 86));
  }
  return 0;
}
