// What malloc and operator new cost where ranks have heaps (FGMPI_HEAP=rank) and where not: blocks of random sizes below a
// bound that replace each other at random, and a C++ code that allocates much (trees, maps of strings, streams). One rank
// computes at a time. Run in turn with FGMPI_HEAP=rank and without.
// usage: mpiexec -n 1 -nfg 4 heap_cost [-threads]     -threads: ranks have threads, main() and then a thread are measured
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

constexpr int kSteps = 200000;
long g_sum = 0;

void replace_blocks(unsigned below) {
  std::vector<void*> blocks(1000);
  unsigned drawn = 1;
  for (int i = 0; i < kSteps; ++i) {
    drawn = drawn * 1664525U + 1013904223U;
    void*& block = blocks[drawn >> 8 & 511];
    std::free(block);
    block = std::malloc((size_t{drawn} * below >> 32) + 1);
    *static_cast<volatile char*>(block) = 1;
  }
  for (void* block : blocks) std::free(block);
}

struct Tree {
  Tree *left, *right;
};
Tree* make_tree(int depth) {
  return depth ? new Tree{make_tree(depth - 1), make_tree(depth - 1)} : nullptr;
}
void delete_tree(Tree* tree) {
  if (!tree) return;
  delete_tree(tree->left);
  delete_tree(tree->right);
  delete tree;
}

void run_containers() {
  for (int i = 0; i < 10; ++i) delete_tree(make_tree(13));
  std::map<std::string, int> keys;
  for (int i = 0; i < 20000; ++i)
    keys["a key of some length " + std::to_string(i * 7919 % 20011)] = i;
  std::unordered_map<int, std::vector<int>> lists;
  for (int i = 0; i < 50000; ++i) lists[i % 997].push_back(i);
  std::ostringstream out;
  for (const auto& [key, value] : keys) out << key << value;
  g_sum += static_cast<long>(out.str().size());
}

template <class F>
void measure(const char* name, int rank, int per, F&& f) {
  double best = 1e9;
  for (int batch = 0; batch < 7; ++batch) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    f();
    best = std::min(best, MPI_Wtime() - begin);
  }
  if (rank == 0) std::printf("%-28s %10.1f ns\n", name, best / per * 1e9);
}

}  // namespace

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool threads = argc > 1 && !std::strcmp(argv[1], "-threads");
  if (threads) std::thread([] { g_sum += static_cast<long>(std::string(100, 'x').size()); }).join();
  for (unsigned below : {64U, 512U, 4000U, 32000U, 300000U})
    measure(("up to " + std::to_string(below) + " bytes").c_str(), rank, kSteps,
            [&] { replace_blocks(below); });
  measure("containers", rank, 1, run_containers);
  for (unsigned below : {64U, 512U, 4000U})
    if (threads)
      measure(("up to " + std::to_string(below) + " bytes, in a thread").c_str(), rank, kSteps,
              [&] { std::thread(replace_blocks, below).join(); });
  MPI_Finalize();
  return g_sum == 0;
}
