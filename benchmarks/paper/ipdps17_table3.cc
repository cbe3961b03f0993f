// IPDPS'17 Table III: instructions of one rank-to-address translation, by model.
// modules: ch4_av_rankmap
//
//   valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=translate_rank
//   ipdps17_table3 MODEL
//   benchmarks/paper/ipdps17_table3.sh BUILD      runs that for every model and prints the table
//
// The paper counts 9, 11, 13, 11 and 15 for direct, offset, stride, lut and mlut, between two marks
// on the send path; its VC-VCRT takes 7. The rule here: communicator rank and map are in registers;
// counted is all from there to the address in a register, as the compiler puts it in line. The
// function that stands for the send path is no part of it: what an empty one with a frame takes
// (one instruction to make it, one to leave it, the return) is counted by the same tool and
// subtracted by the script. Without an argument: nanoseconds by the clock instead, over random
// ranks.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "ch4-av-rankmap/av.h"
#include "ch4-av-rankmap/mlut.h"
#include "ch4-av-rankmap/rankmap.h"

using namespace fgmpi;

/// The frame of the functions below, which is subtracted.
extern "C" [[gnu::noinline]] void translate_nothing(const RankMap*, int32_t) {
  asm volatile("" ::: "rbx");
}

/// What the paper counts: communicator rank -> index in the address vector -> element, one rank a
/// process.
extern "C" [[gnu::noinline]] uint64_t translate_rank(const RankMap* map, int32_t rank) {
  return g_av.address(static_cast<uint32_t>(map->world_of(rank)));
}

/// With many ranks a process: world rank -> (process, local proclet) in between.
extern "C" [[gnu::noinline]] uint64_t translate_proclet(const RankMap* map, int32_t rank) {
  Location at = g_av.locate(static_cast<uint32_t>(map->world_of(rank)));
  return g_av.address(at.process) + at.local;
}

/// The same for communicators that merge process groups: the check of the model, the pair, its
/// group's vector.
extern "C" [[gnu::noinline]] uint64_t translate_merged(const RankMap* map, int32_t rank) {
  const MlutMap* merged = mlut_of(*map);
  return merged ? merged_address(*merged, rank) : translate_rank(map, rank);
}

extern "C" [[gnu::noinline]] uint64_t translate_merged_proclet(const RankMap* map, int32_t rank) {
  const MlutMap* merged = mlut_of(*map);
  if (!merged) return translate_proclet(map, rank);
  Location at = merged_locate(*merged, rank);
  return g_av.address(at.process) + at.local;
}

namespace {

constexpr int32_t kWorld = 1 << 20, kProcesses = 1 << 10;

struct Case {
  const char* name;
  int paper;
  RankMap map;
};

std::vector<Case> cases() {
  std::vector<int32_t> block, grid, mixed;
  for (int32_t b = 0; b < 1000; ++b)
    for (int32_t i = 0; i < 40; ++i) block.push_back(b * 1000 + i);
  for (int32_t x = 0; x < 50; ++x)
    for (int32_t y = 0; y < 50; ++y)
      for (int32_t z = 0; z < 50; z += 2) grid.push_back(x * 10000 + y * 100 + z);
  for (int32_t w = 0; w < 50000; ++w) mixed.push_back(w * 3);
  std::shuffle(mixed.begin(), mixed.end(), std::mt19937(1));
  groupmap::Strategy array;
  if (!groupmap::parse_strategy("array", &array).ok()) return {};
  return {{"direct", 9, RankMap::direct(kWorld)},
          {"offset", 11, RankMap::strided(50000, 1000, 1)},
          {"stride", 13, RankMap::strided(50000, 7, 2)},
          {"blockstride", 0, RankMap::from_ranks(block)},
          {"md-blockstride", 0, RankMap::from_ranks(grid)},
          {"lut", 11, RankMap::from_ranks(mixed, array)},
          {"lut-hybrid", 0, RankMap::from_ranks(mixed)}};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<uint32_t> starts;
  for (int32_t p = 0; p <= kProcesses; ++p)
    starts.push_back(static_cast<uint32_t>(p) * (kWorld / kProcesses));
  g_av.init(starts, 0);
  for (uint32_t p = 0; p < kProcesses; ++p) g_av.set_address(p, p * 64, p & 1);
  const std::vector<uint32_t> counts(kProcesses, kWorld / kProcesses);
  uint32_t other;
  std::vector<GroupRank> pairs;
  for (uint32_t k = 0; k < 1000; ++k) pairs.push_back({k % 2, k * 7 % kProcesses});
  RankMap merged;
  // Only where it is asked for: with another group known, ordinary maps are looked up out of line.
  if (argc > 1 && std::strcmp(argv[1], "mlut") == 0 &&
      (!g_process_groups.add({1, 1}, counts, &other).ok() || !merged_map(pairs, &merged).ok()))
    return 1;
  if (argc > 1 && std::strcmp(argv[1], "mlut") == 0)
    return translate_merged(&merged, 77) + translate_merged_proclet(&merged, 77) == 1;
  for (const Case& c : cases()) {
    if (argc > 1) {
      if (std::strcmp(argv[1], c.name) != 0) continue;
      translate_nothing(&c.map, 77);
      // One call each is what the tool counts
      return translate_rank(&c.map, 77) + translate_proclet(&c.map, 77) == 1;
    }
    constexpr int kCount = 1 << 16;
    std::vector<int32_t> ranks(kCount);
    std::mt19937 random(5);
    for (int32_t& r : ranks)
      r = static_cast<int32_t>(random() % static_cast<uint32_t>(c.map.size()));
    uint64_t sum = 0;
    auto start = std::chrono::steady_clock::now();
    for (int round = 0; round < 20; ++round)
      for (int32_t r : ranks) sum += translate_proclet(&c.map, r);
    double ns =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() /
        20 / kCount;
    std::printf("%-15s %-12s %6.2f ns  (%zu bytes, checksum %llx)\n", c.name, c.map.model_name(),
                ns, c.map.bytes(), static_cast<unsigned long long>(sum));
  }
  return 0;
}
