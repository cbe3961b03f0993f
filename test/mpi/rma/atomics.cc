// Atomics hammered by all ranks at one target: exact sums for types of every size, by every way;
// compare-and-swap as a lock; results of fetches that are all different.
#include <mpi.h>

#include <algorithm>
#include <complex>
#include <vector>

#include "mpitest.h"

static int rank, size;
static const int kTimes = 40;

struct Memory {
  signed char c;
  short s;
  int i;
  long l;
  float f;
  double d;
  long double ld;
  std::complex<double> z;
  struct {
    double value;
    int index;
  } at;
  long lock, guarded, drawn;
  int swap;
};

static void add_all(MPI_Win win, MPI_Aint base) {
  const signed char c = 1;
  const short s = 1;
  const int i = 1;
  const long l = 1;
  const float f = 1;
  const double d = 0.5;
  const long double ld = 0.25;
  const std::complex<double> z(1, -2);
  struct {
    double value;
    int index;
  } at = {double((rank * 37) % size), rank};
#define PLACE(member) (base + (MPI_Aint)offsetof(Memory, member))
  for (int k = 0; k < kTimes; ++k) {
    OK(MPI_Accumulate(&c, 1, MPI_SIGNED_CHAR, 0, PLACE(c), 1, MPI_SIGNED_CHAR, MPI_BXOR, win));
    OK(MPI_Accumulate(&s, 1, MPI_SHORT, 0, PLACE(s), 1, MPI_SHORT, MPI_SUM, win));
    OK(MPI_Accumulate(&i, 1, MPI_INT, 0, PLACE(i), 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Accumulate(&l, 1, MPI_LONG, 0, PLACE(l), 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Accumulate(&f, 1, MPI_FLOAT, 0, PLACE(f), 1, MPI_FLOAT, MPI_SUM, win));
    OK(MPI_Accumulate(&d, 1, MPI_DOUBLE, 0, PLACE(d), 1, MPI_DOUBLE, MPI_SUM, win));
    OK(MPI_Accumulate(&ld, 1, MPI_LONG_DOUBLE, 0, PLACE(ld), 1, MPI_LONG_DOUBLE, MPI_SUM, win));
    OK(MPI_Accumulate(&z, 1, MPI_C_DOUBLE_COMPLEX, 0, PLACE(z), 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM,
                      win));
    OK(MPI_Accumulate(&at, 1, MPI_DOUBLE_INT, 0, PLACE(at), 1, MPI_DOUBLE_INT, MPI_MAXLOC, win));
  }
  OK(MPI_Win_flush(0, win));
}

static void draw(MPI_Win win, MPI_Aint base) {
  const long one = 1;
  std::vector<long> mine(kTimes);
  for (long& number : mine) {
    OK(MPI_Fetch_and_op(&one, &number, MPI_LONG, 0, PLACE(drawn), MPI_SUM, win));
    OK(MPI_Win_flush(0, win));
  }
  CHECK(std::is_sorted(mine.begin(), mine.end()));
  std::vector<long> all(static_cast<size_t>(kTimes) * size);
  OK(MPI_Allgather(mine.data(), kTimes, MPI_LONG, all.data(), kTimes, MPI_LONG, MPI_COMM_WORLD));
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i < all.size(); ++i) CHECK(all[i] == static_cast<long>(i));
}

// A lock of the program's own, spun on: ranks of one process must let each other run.
static void guard(MPI_Win win, MPI_Aint base) {
  const long free_value = 0, mine = rank + 1;
  for (int k = 0; k < 5; ++k) {
    long before;
    do {
      OK(MPI_Compare_and_swap(&mine, &free_value, &before, MPI_LONG, 0, PLACE(lock), win));
      OK(MPI_Win_flush(0, win));
    } while (before != 0);
    long value;
    OK(MPI_Get(&value, 1, MPI_LONG, 0, PLACE(guarded), 1, MPI_LONG, win));
    OK(MPI_Win_flush(0, win));
    if (k == 2) OK(MPI_Barrier(MPI_COMM_SELF));
    ++value;
    OK(MPI_Put(&value, 1, MPI_LONG, 0, PLACE(guarded), 1, MPI_LONG, win));
    OK(MPI_Win_flush(0, win));
    OK(MPI_Compare_and_swap(&free_value, &mine, &before, MPI_LONG, 0, PLACE(lock), win));
    OK(MPI_Win_flush(0, win));
    CHECK(before == mine);
  }
}

static void check(const Memory* m) {
  const long n = static_cast<long>(size) * kTimes;
  CHECK(m->c == (n % 2 ? 1 : 0));
  CHECK(m->s == static_cast<short>(n));
  CHECK(m->i == n);
  CHECK(m->l == n);
  CHECK(m->f == static_cast<float>(n));
  CHECK(m->d == 0.5 * n);
  CHECK(m->ld == 0.25L * n);
  CHECK(m->z == std::complex<double>(n, -2.0 * n));
  double best = 0;
  int where = 0;
  for (int r = 0; r < size; ++r)
    if ((r * 37) % size > best) {
      best = (r * 37) % size;
      where = r;
    }
  CHECK(m->at.value == best && m->at.index == where);
  CHECK(m->guarded == 5L * size && m->lock == 0);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  for (int user = 0; user < 2; ++user) {
    const MPI_Aint bytes = rank == 0 ? sizeof(Memory) : 0;
    Memory* memory = nullptr;
    MPI_Win win;
    if (user) {
      memory = static_cast<Memory*>(calloc(1, sizeof(Memory)));
      OK(MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    } else {
      OK(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    }
    OK(MPI_Win_lock_all(0, win));
    add_all(win, 0);
    draw(win, 0);
    guard(win, 0);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
      OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
      check(memory);
      OK(MPI_Win_unlock(0, win));
    }
    OK(MPI_Win_free(&win));
    if (user) free(memory);
  }
  return finish();
}
