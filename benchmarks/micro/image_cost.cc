// Cost of private globals: processor time and resident memory an image, the same for each private
// library, mappings a rank, and nanoseconds a switch with and without images. Starts itself again
// with C ranks for each line of its tables; TLS_BYTES of thread_local data are swapped. Libraries
// (image_cost_library.c, in the folder of this program) are preloaded.
//
//   image_cost        the tables
#include <fgmpi.h>
#include <mpi.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#ifndef TLS_BYTES
#define TLS_BYTES 64
#endif

extern char** environ;

namespace {

std::map<int, int> table{{1, 2}};  // something to construct
double data[100];
// Else the compiler drops it, and nothing is swapped
thread_local volatile char per_thread[TLS_BYTES];

double now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);  // others may use the machine
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

constexpr int kReport = 3;  ///< the descriptor to which rank 0 writes how many mappings there are

long mappings() {
  std::ifstream maps("/proc/self/maps");
  return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
}

/// A rank: with an argument, yields that often and rank 0 prints nanoseconds a yield.
int rank_main(const char* yields) {
  int rank, size;
  MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  data[3] = rank;
  per_thread[0] = static_cast<char>(table[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  const long count = rank == 0 ? mappings() : 0;
  if (rank == 0 && write(kReport, &count, sizeof count) < 0) return 1;
  int rounds = std::atoi(yields);
  double start = now();
  for (int i = 0; i < rounds; ++i) MPIX_Yield();
  double elapsed = now() - start;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0 && rounds > 0) std::printf("  %.1f ns a switch\n", elapsed * 1e9 / rounds / size);
  MPI_Finalize();
  return 0;
}

struct Cost {
  double seconds = 0;
  long kib = 0;
  long mappings = 0;
};

Cost run(const char* self, int ranks, const char* privatize, int yields) {
  setenv("FGMPI_NFG", std::to_string(ranks).c_str(), 1);
  setenv("FGMPI_PRIVATIZE", privatize, 1);
  std::string count = std::to_string(yields);
  char* arguments[] = {const_cast<char*>(self), count.data(), nullptr};
  std::fflush(stdout);
  pid_t child;
  int ends[2];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (pipe(ends) != 0 || posix_spawn_file_actions_adddup2(&actions, ends[1], kReport) != 0 ||
      posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments, environ) != 0)
    std::exit(1);
  posix_spawn_file_actions_destroy(&actions);
  Cost cost;
  close(ends[1]);
  if (read(ends[0], &cost.mappings, sizeof cost.mappings) < 0) std::exit(1);
  close(ends[0]);
  rusage usage{};
  int status = 0;
  wait4(child, &status, 0, &usage);
  if (status != 0) std::exit(1);
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  cost.seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  cost.kib = usage.ru_maxrss;
  return cost;
}

/// LD_PRELOAD of the first `count` libraries.
std::string preloads(const std::string& folder, int count) {
  std::string list;
  for (int i = 1; i <= count; ++i)
    list += (i > 1 ? ":" : "") + folder + "/libimage_cost_" + std::to_string(i) + ".so";
  return list;
}

/// What each private library adds, by the way in which images are mapped. The least of some runs
/// counts.
void print_libraries(const char* self) {
  constexpr int kRanks = 1000, kRuns = 5;
  const std::string path(self), folder = path.substr(0, path.rfind('/'));
  std::printf("private libraries, %d ranks: processor time, memory and mappings a rank\n", kRanks);
  std::printf("%10s %10s %14s %14s %10s %14s\n", "mappings", "libraries", "us a rank", "KiB a rank",
              "mappings", "us a library");
  for (const char* layout : {"protected", "joined"}) {
    setenv("FGMPI_IMAGE_MAPPINGS", layout, 1);
    double without = 0;
    for (int libraries : {0, 1, 2, 4, 8}) {
      setenv("LD_PRELOAD", preloads(folder, libraries).c_str(), 1);
      Cost least, two;
      for (int i = 0; i < kRuns; ++i) {
        const Cost all = run(self, kRanks, "on", 0);
        if (i == 0 || all.seconds < least.seconds) least = all;
      }
      for (int i = 0; i < kRuns; ++i) {
        const Cost few = run(self, 2, "on", 0);
        if (i == 0 || few.seconds < two.seconds) two = few;
      }
      const double us = (least.seconds - two.seconds) * 1e6 / (kRanks - 2);
      if (libraries == 0) without = us;
      std::printf("%10s %10d %14.1f %14.1f %10.2f", layout, libraries, us,
                  static_cast<double>(least.kib - two.kib) / (kRanks - 2),
                  static_cast<double>(least.mappings - two.mappings) / (kRanks - 2));
      if (libraries > 0) std::printf(" %14.1f", (us - without) / libraries);
      std::printf("\n");
    }
  }
  unsetenv("LD_PRELOAD");
  unsetenv("FGMPI_IMAGE_MAPPINGS");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return rank_main(argv[1]);
  std::printf("processor time from start to end, with MPI_Init and a barrier, one process\n");
  std::printf("%8s %12s %12s %14s %14s\n", "ranks", "shared, s", "images, s", "us an image",
              "KiB an image");
  for (int ranks : {1, 100, 1000, 5000}) {
    Cost shared = run(argv[0], ranks, "off", 0), images = run(argv[0], ranks, "on", 0);
    std::printf("%8d %12.3f %12.3f %14.1f %14.1f\n", ranks, shared.seconds, images.seconds,
                (images.seconds - shared.seconds) * 1e6 / ranks,
                static_cast<double>(images.kib - shared.kib) / ranks);
  }
  print_libraries(argv[0]);
  for (const char* mode : {"off", "on"}) {
    for (int ranks : {2, 1000}) {
      std::printf("switch, %d ranks, FGMPI_PRIVATIZE=%s, %d bytes of thread_local:\n", ranks, mode,
                  TLS_BYTES);
      run(argv[0], ranks, mode, 2000000 / ranks);
    }
  }
  return 0;
}
