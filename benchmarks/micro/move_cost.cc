// What it costs when a rank goes to another process of the host (fgmpi_give_rank, fgmpi_take_rank), beside a copy of its bytes
// into memory that was not touched, as a move without shared slots would need it: a rank with so many KiB of heap goes to and
// fro between two processes, and then touches all its memory. Times are medians of the parts that processors compute; the wait
// until the other process looks for ranks is left out. Faults are those of the process that took the rank.
// usage: FGMPI_HEAP=rank FGMPI_BALANCE=on setarch -R mpiexec -n 2 -nfg 2 move_cost FILE [KIB] [MOVES]
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "../../test/mpi/heap/travellers.h"

namespace {

/// Where a move began and ended: filled in by both processes, in the rank's own variables.
int64_t g_call, g_delivery;

struct Move {
  int64_t give, take, resume, touch, copy;
  long faults;
};

long faults() {
  rusage use;
  getrusage(RUSAGE_SELF, &use);
  return use.ru_minflt;
}

void deliver(const travellers::MovingRank* rank, void* to) {
  g_delivery = travellers::now();
  travellers::post(rank, static_cast<int>(reinterpret_cast<intptr_t>(to)), false);
}

void touch(char* memory, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 4096) {
    volatile char& byte = memory[at];
    byte = static_cast<char>(byte + 1);
  }
}

/// Copies the bytes to memory that the kernel has to give first, and gives it back.
int64_t copy(const char* memory, size_t bytes) {
  const int64_t began = travellers::now();
  void* to = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  std::memcpy(to, memory, bytes);
  const int64_t took = travellers::now() - began;
  munmap(to, bytes);
  return took;
}

Move move_to(int process, char* memory, size_t bytes) {
  Move move = {};
  g_call = travellers::now();
  if (const char* reason = fgmpi_give_rank(deliver, reinterpret_cast<void*>(intptr_t{process})))
    travellers::fail("the rank stays", reason);
  const int64_t back = travellers::now();
  const travellers::Process& here = travellers::shared().processes[process];
  move.give = g_delivery - g_call;
  move.take = here.take_ended - here.take_began;
  move.resume = back - here.take_ended;
  const long before = faults();
  touch(memory, bytes);
  move.touch = travellers::now() - back;
  move.faults = faults() - before;
  move.copy = copy(memory, bytes);
  return move;
}

template <class T>
double median(std::vector<Move>& moves, T Move::*part) {
  std::vector<T> all;
  for (const Move& move : moves) all.push_back(move.*part);
  std::nth_element(all.begin(), all.begin() + static_cast<long>(all.size() / 2), all.end());
  return static_cast<double>(all[all.size() / 2]);
}

void print(const char* what, std::vector<Move>& moves) {
  std::printf(
      "%-22s give %6.2f us  take %6.2f us  go on %6.2f us | touch all %7.2f us, %4.0f faults | "
      "copy %7.2f us\n",
      what, median(moves, &Move::give) / 1e3, median(moves, &Move::take) / 1e3,
      median(moves, &Move::resume) / 1e3, median(moves, &Move::touch) / 1e3,
      median(moves, &Move::faults), median(moves, &Move::copy) / 1e3);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 2 || size != 4)
    travellers::fail("usage", "mpiexec -n 2 -nfg 2 move_cost FILE [KIB] [MOVES]");
  const size_t bytes = (argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1024) << 10;
  const int count = argc > 3 ? std::atoi(argv[3]) : 1000;
  const int process = rank / 2;
  if (rank % 2 == 0) travellers::begin(argv[1], process);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank % 2 == 0) {
    travellers::serve(process, 2);
  } else if (rank == 1) {
    auto* memory = static_cast<char*>(std::malloc(bytes));
    std::memset(memory, 1, bytes);
    std::vector<Move> first, there, back;
    first.push_back(move_to(1, memory, bytes));
    move_to(0, memory, bytes);
    for (int i = 0; i < count; ++i) {
      there.push_back(move_to(1, memory, bytes));
      back.push_back(move_to(0, memory, bytes));
    }
    std::printf("A rank with %zu KiB of heap, %d moves each way:\n", bytes >> 10, count);
    print("first visit", first);
    print("to the other process", there);
    print("home", back);
    std::free(memory);
  }
  if (rank % 2) ++travellers::shared().at_home;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
