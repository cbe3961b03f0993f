// FGMPI_RMA_PROGRESS=thread: rank 0 computes without MPI calls until the others have locked, read,
// written and accumulated into its own memory, by whatever way that memory is reached. Without the
// thread the operations that go by messages would wait for rank 0's next call, which never comes.
#include <mpi.h>

#include <ctime>
#include <vector>

#include "fgmpi.h"
#include "mpitest.h"

namespace {

int g_rank, g_size, g_here;
constexpr int kRounds = 20;

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Ranks of rank 0's process cannot run while it computes.
int others() { return g_size - g_here; }

void access(MPI_Win win, MPI_Aint base, MPI_Aint unit) {
  const long one = 1;
  for (int i = 0; i < kRounds; ++i) {
    long value, old;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    OK(MPI_Get(&value, 1, MPI_LONG, 0, base, 1, MPI_LONG, win));
    OK(MPI_Win_flush(0, win));
    ++value;
    OK(MPI_Put(&value, 1, MPI_LONG, 0, base, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(0, win));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, base + unit, 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, base + 2 * unit, MPI_SUM, win));
    OK(MPI_Win_flush(0, win));
    CHECK(old >= 0 && old < static_cast<long>(others()) * kRounds);
    OK(MPI_Win_unlock(0, win));
  }
  OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
  OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, base + 3 * unit, 1, MPI_LONG, MPI_SUM, win));
  OK(MPI_Win_unlock(0, win));
}

void compute(volatile long* memory) {
  const double end = now() + 60;
  while (memory[3] < others()) CHECK(now() < end);
}

void check(const volatile long* memory) {
  for (int i = 0; i < 3; ++i) CHECK(memory[i] == static_cast<long>(others()) * kRounds);
}

void run(MPI_Win win, MPI_Aint base, MPI_Aint unit, volatile long* memory) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (g_rank == 0)
    compute(memory);
  else if (g_rank >= g_here)
    access(win, base, unit);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (g_rank == 0) check(memory);
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &g_rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &g_size));
  OK(MPIX_Get_collocated_size(&g_here));
  MPI_Win win;
  std::vector<long> memory(8);
  OK(MPI_Win_create(memory.data(), 64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  run(win, 0, 1, memory.data());
  OK(MPI_Win_free(&win));

  long* allocated;
  OK(MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &win));
  run(win, 0, 1, allocated);
  OK(MPI_Win_free(&win));

  std::vector<long> attached(8);
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_attach(win, attached.data(), 64));
  MPI_Aint base;
  OK(MPI_Get_address(attached.data(), &base));
  OK(MPI_Bcast(&base, 1, MPI_AINT, 0, MPI_COMM_WORLD));
  MPIX_Stats_values before, after;
  OK(MPIX_Stats(&before));
  run(win, base, 8, attached.data());
  OK(MPIX_Stats(&after));
  if (g_rank >= g_here) CHECK(after.rma_messages > before.rma_messages);
  OK(MPI_Win_detach(win, attached.data()));
  OK(MPI_Win_free(&win));
  return finish();
}
