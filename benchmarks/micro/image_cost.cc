// Cost of private globals: processor time and resident memory an image, and nanoseconds a switch
// with and without images. Starts itself again with C ranks for each line of its table; TLS_BYTES
// of thread_local data are swapped.
//
//   image_cost        the table
#include <fgmpi.h>
#include <mpi.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>

#ifndef TLS_BYTES
#define TLS_BYTES 64
#endif

extern char** environ;

namespace {

std::map<int, int> table{{1, 2}};  // something to construct
double data[100];
thread_local volatile char
    per_thread[TLS_BYTES];  // else the compiler drops it, and nothing is swapped

double now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);  // others may use the machine
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
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
};

Cost run(const char* self, int ranks, const char* privatize, int yields) {
  setenv("FGMPI_NFG", std::to_string(ranks).c_str(), 1);
  setenv("FGMPI_PRIVATIZE", privatize, 1);
  std::string count = std::to_string(yields);
  char* arguments[] = {const_cast<char*>(self), count.data(), nullptr};
  std::fflush(stdout);
  pid_t child;
  if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ) != 0)
    std::exit(1);
  rusage usage{};
  int status = 0;
  wait4(child, &status, 0, &usage);
  if (status != 0) std::exit(1);
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return {seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss};
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
  for (const char* mode : {"off", "on"}) {
    for (int ranks : {2, 1000}) {
      std::printf("switch, %d ranks, FGMPI_PRIVATIZE=%s, %d bytes of thread_local:\n", ranks, mode,
                  TLS_BYTES);
      run(argv[0], ranks, mode, 2000000 / ranks);
    }
  }
  return 0;
}
