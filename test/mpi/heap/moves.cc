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

void use_the_rest(int hops) {
  std::signal(SIGUSR1, [](int) { g_signals = g_signals + 1; });
  std::srand(1000 + static_cast<unsigned>(g_rank));
  std::vector<int> drawn;
  for (int i = 0; i < hops; ++i) drawn.push_back(std::rand());
  std::srand(1000 + static_cast<unsigned>(g_rank));
  std::fesetround(g_rank % 2 ? FE_UPWARD : FE_DOWNWARD);
  char text[] = "one two three four five six seven eight nine ten";
  int words = 0;
  for (char* word = std::strtok(text, " "); word; word = std::strtok(nullptr, " ")) {
    ++words;
    hop();
  }
  check(words == 10, "strtok");
  std::vector<char*> blocks;
  for (int i = 0; i < hops; ++i) {
    check(std::rand() == drawn[static_cast<size_t>(i)], "rand");
    const size_t bytes = i % 5 == 0 ? 200'000 : 40 + static_cast<size_t>(i);
    blocks.push_back(static_cast<char*>(std::malloc(bytes)));
    std::memset(blocks.back(), i, bytes);
    if (i % 3 == 2) {  // allocated in one process, freed in another
      std::free(blocks.front());
      blocks.erase(blocks.begin());
    }
    g_words[i] = std::string(30, static_cast<char>('a' + i % 26));
    t_sum += i;
    const int signals = g_signals;
    hop();
    raise(SIGUSR1);
    check(g_signals == signals + 1, "a handler of a signal");
    check(std::fegetround() == (g_rank % 2 ? FE_UPWARD : FE_DOWNWARD), "the rounding mode");
  }
  for (char* block : blocks) {
    check(block[30] == block[0], "a block");
    std::free(block);
  }
  for (const auto& [i, word] : g_words)
    check(word == std::string(30, static_cast<char>('a' + i % 26)), "a map");
  check(t_sum == 5 + long{hops} * (hops - 1) / 2, "a thread-local variable");
  std::fesetround(FE_TONEAREST);
}

void print_on_the_way() {
  std::printf("rank %d came by", g_rank);
  for (int i = 0; i < g_processes; ++i) {
    std::printf(" %d", g_here);
    hop();
  }
  std::printf(".\n");
}

void refusals() {
  const char* reason = travellers::travel(g_process);
  check(!reason, "a rank may be taken by its own process");
  const int child = fork();
  if (child == 0) _exit(0);
  reason = travellers::travel(g_process);
  check(reason && std::strstr(reason, "children"), "a rank with a child stays");
  int status;
  check(wait(&status) == child, "wait");
  void* memory = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(memory, 4096, PROT_READ);
  reason = travellers::travel(g_process);
  check(reason && std::strstr(reason, "protection"), "a rank with protected memory stays");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3) travellers::fail("usage", "moves FILE HOPS");
  const int hops = std::atoi(argv[2]);
  int size, start;
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPIX_Get_collocated_startrank(&start);
  std::vector<int> starts(static_cast<size_t>(size));
  MPI_Allgather(&start, 1, MPI_INT, starts.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) {
    g_processes += starts[static_cast<size_t>(r)] == r;
    if (r <= g_rank) g_process = g_here = g_processes - 1;
  }
  const int local = g_rank - start;
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
    use_the_rest(hops);
    print_on_the_way();
    while (g_here != g_process) hop();
    check(getpid() == g_home_pid, "home");
    if (local == 1) refusals();
    ++travellers::shared().at_home;
  }
  long made = g_hops_made, all = 0;
  MPI_Reduce(&made, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (g_rank == 0) std::printf("%ld moves of %d ranks\n No Errors\n", all, travelling);
  MPI_Finalize();
}
