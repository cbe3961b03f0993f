// FGMPI_HEAP=rank: the images of libraries that a rank loads while it runs lie in its slot. For loaded.sh.
//   loaded PLUGIN ALIGNED_PLUGIN | loaded PLUGIN ends
#include <dlfcn.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "memory_of.h"

namespace {

uint32_t g_index;

struct Library {
  void* handle;
  int (*code)(int);
  int* variable;
  const int* constant;
  char* space;
  char* (*allocate)(size_t bytes);
};
constexpr size_t kSpace = 4 << 20;

template <class T>
T* find(void* handle, const char* name) {
  void* found = dlsym(handle, name);
  check(found, std::string("dlsym ") + name);
  return reinterpret_cast<T*>(found);
}

Library open_library(const char* path) {
  Library it{};
  it.handle = dlopen(path, RTLD_NOW);
  check(it.handle, std::string("dlopen: ") + (it.handle ? "" : dlerror()));
  it.code = find<int(int)>(it.handle, "plugin_code");
  it.variable = find<int>(it.handle, "plugin_variable");
  it.constant = find<const int>(it.handle, "plugin_constant");
  it.space = find<char>(it.handle, "plugin_space");
  it.allocate = find<char*(size_t)>(it.handle, "plugin_allocate");
  return it;
}

void check_part(const Memory& memory, const void* at, size_t bytes, int protection,
                const char* what) {
  const RankMemoryRange& range = range_of(memory, at, bytes, what);
  check(range.part == RankMemoryPart::kImage, std::string(what) + " is in no image");
  check(range.protection == protection, std::string(what) + ": another protection");
}

bool is_told(const void* at) {
  for (const OfRank& m : memory_of(g_index, 1))
    if (at >= m.range.low && at < m.range.high) return true;
  return false;
}

void check_library(const Library& it) {
  check(it.code(3) == *it.constant + 3, "its code");
  const Memory memory = memory_of(g_index, 1);
  check_part(memory, it.variable, sizeof(int), PROT_READ | PROT_WRITE, "a variable");
  check_part(memory, it.space, kSpace, PROT_READ | PROT_WRITE, "space");
  const RankMemoryRange& code = range_of(memory, reinterpret_cast<void*>(it.code), 1, "code");
  check(code.part == RankMemoryPart::kImage && (code.protection & PROT_EXEC), "code's place");
  check(!(range_of(memory, it.constant, 4, "a constant").protection & PROT_WRITE), "a constant");
  const char* end = nullptr;
  for (const OfRank& m : memory) {
    check(m.range.low >= end, "ranges are not in order");
    end = m.range.high;
  }
  char* block = it.allocate(1000);
  check(range_of(memory_of(g_index, 1), block, 1000, "its block").part == RankMemoryPart::kHeap,
        "what it allocates is not in the heap");
  std::free(block);
}

long resident_kib() {
  long pages = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  check(file && std::fscanf(file, "%*d %ld", &pages) == 1, "statm");
  std::fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/// Ranks that end without dlclose() give their images back.
int end_with_library(const char* path, int size) {
  const Library it = open_library(path);
  MPI_Barrier(MPI_COMM_WORLD);
  const long before = resident_kib();
  MPI_Barrier(MPI_COMM_WORLD);
  if (g_rank > 0) std::memset(it.space, 1, kSpace);
  MPI_Barrier(MPI_COMM_WORLD);
  const long all = resident_kib(), others = (size - 1) * static_cast<long>(kSpace / 1024);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  if (g_rank > 0) return 0;
  check(all - before >= others * 9 / 10, "space takes no memory");
  for (int tries = 0; tries < 1000; ++tries) {
    if (resident_kib() - before < others / 10) return 0;
    usleep(10000);  // lets others run to their ends
  }
  std::fprintf(stderr, "%ld KiB before, %ld with all ranks, %ld now\n", before, all,
               resident_kib());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  int start, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPIX_Get_collocated_startrank(&start);
  g_index = static_cast<uint32_t>(g_rank - start);
  check(argc == 3, "arguments");
  if (std::strcmp(argv[2], "ends") == 0) return end_with_library(argv[1], size);
  auto* mapped = static_cast<char*>(
      mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  Library plugin = open_library(argv[1]);
  const Library aligned = open_library(argv[2]);
  check(plugin.handle != aligned.handle && plugin.variable != aligned.variable, "one image of two");
  *plugin.variable += g_rank;
  *aligned.variable += 2 * g_rank;
  MPI_Barrier(MPI_COMM_WORLD);
  check(*plugin.variable == 5 + g_rank && *aligned.variable == 5 + 2 * g_rank,
        "its variable is another rank's");
  check_library(plugin);
  check_library(aligned);
  std::memset(mapped, 1, 1 << 20);
  // What is closed is told no more; what others have open stays as it is.
  const void* before = plugin.variable;
  for (int round = 0; round < 50; ++round) {
    std::memset(plugin.space, round + 1, kSpace / 64);
    check(dlclose(plugin.handle) == 0, "dlclose");
    check(!is_told(before), "it is told after dlclose()");
    plugin = open_library(argv[1]);
    check(*plugin.variable == 5, "its variable is not as at the start");
    check(plugin.space[0] == 0 && plugin.space[kSpace / 64 - 1] == 0, "its space is not zero");
    check(is_told(plugin.variable) && plugin.variable == before, "its place moves");
  }
  for (size_t i = 0; i < 1 << 20; ++i)
    check(mapped[i] == 1, "a mapping of the program was changed");
  check(munmap(mapped, 1 << 20) == 0, "munmap");
  check_library(plugin);
  check_library(aligned);
  check(*aligned.variable == 5 + 2 * g_rank, "the other library's variable has changed");
  check(dlclose(aligned.handle) == 0, "dlclose");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
