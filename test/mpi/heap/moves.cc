// FGMPI_BALANCE=on: ranks go from process to process of a host, in the midst of functions, and go on there with their stack,
// variables, heap, exceptions, streams, descriptors and handlers; nothing of them is copied. usage: moves FILE HOPS
#include <cerrno>
#include <cfenv>
#include <csignal>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "../../../include/fgmpi.h"
#include "travellers.h"

namespace {

int g_process, g_processes, g_rank, g_here, g_home_pid, g_hops_made;
thread_local long t_sum = 5;
volatile sig_atomic_t g_signals;
std::map<int, std::string> g_words;

void check(bool fine, const char* what) {
  if (!fine) travellers::fail("after a move", what);
}

/// To the next process, home after the last.
void hop() {
  g_here = (g_here + 1) % g_processes;
  errno = 77;
  if (const char* reason = travellers::travel(g_here)) travellers::fail("a rank stays", reason);
  check(errno == 77, "errno");
  check(getpid() == travellers::shared().processes[g_here].pid,
        "it runs in the process that took it");
  ++g_hops_made;
}

long sum_of(int depth) {
  volatile long numbers[500];
  for (int i = 0; i < 500; ++i) numbers[i] = long{depth} * i + g_rank;
  const volatile long* const first = numbers;
  if (depth == 0) hop();
  const long below = depth > 0 ? sum_of(depth - 1) : 0;
  hop();
  check(first == numbers, "an address in the stack");
  long sum = 0;
  for (int i = 0; i < 500; ++i) sum += first[i] - (long{depth} * i + g_rank);
  check(sum == 0, "the stack");
  return below + depth;
}

struct Thrown : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void throw_on_the_way() {
  try {
    try {
      throw Thrown("thrown in process " + std::to_string(g_here));
    } catch (const Thrown&) {
      const int before = std::uncaught_exceptions();
      hop();
      check(std::uncaught_exceptions() == before, "exceptions that are not caught");
      throw;
    }
  } catch (const std::exception& e) {
    hop();
    check(std::strncmp(e.what(), "thrown in process ", 18) == 0, "a caught exception");
  }
}

void use_streams(const std::string& path) {
  FILE* file = std::fopen(path.c_str(), "w+");
  check(file != nullptr, "fopen");
  int ends[2];
  check(pipe(ends) == 0, "pipe");
  for (int i = 0; i < 40; ++i) {
    std::fprintf(file, "line %d of rank %d\n", i, g_rank);
    check(write(ends[1], &i, sizeof i) == sizeof i, "write to a pipe");
    hop();
    int read_back = -1;
    check(read(ends[0], &read_back, sizeof read_back) == sizeof i && read_back == i, "a pipe");
    if (i == 20) std::fflush(file);
  }
  close(ends[1]);
  while (g_here != g_process) hop();
  char byte;
  check(read(ends[0], &byte, 1) == 0, "the end of a pipe, as no process holds it open");
  close(ends[0]);
  std::rewind(file);
  for (int i = 0; i < 40; ++i) {
    char line[80] = "", wanted[80];
    std::snprintf(wanted, sizeof wanted, "line %d of rank %d\n", i, g_rank);
    check(std::fgets(line, sizeof line, file) && std::strcmp(line, wanted) == 0, "a stream");
    if (i % 7 == 0) hop();
  }
  std::fclose(file);
  std::remove(path.c_str());
}

void print_on_the_way() {
  std::printf("rank %d came by", g_rank);
  for (int i = 0; i < g_processes; ++i) {
    std::printf(" %d", g_here);
    hop();
  }
  std::printf(".\n");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3) travellers::fail("usage", "moves FILE HOPS");
  int size, local, each;
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPIX_Get_collocated_size(&each);
  g_process = g_here = g_rank / each;
  g_processes = size / each;
  local = g_rank % each;
  if (local == 0) travellers::begin(argv[1], g_process);
  MPI_Barrier(MPI_COMM_WORLD);
  g_home_pid = getpid();
  const int travelling = size - g_processes;
  if (local == 0) {
    travellers::serve(g_process, travelling);
  } else {
    std::atexit([] { std::printf("rank %d ends at home: %d\n", g_rank, getpid() == g_home_pid); });
    check(sum_of(20) == 210, "a recursion");
    throw_on_the_way();
    use_streams(std::string(argv[1]) + "." + std::to_string(g_rank));
    print_on_the_way();
    while (g_here != g_process) hop();
    check(getpid() == g_home_pid, "home");
    ++travellers::shared().at_home;
  }
  long made = g_hops_made, all = 0;
  MPI_Reduce(&made, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (g_rank == 0) std::printf("%ld moves of %d ranks\n No Errors\n", all, travelling);
  MPI_Finalize();
}
