/* Ranks that wait while memory is short. short_memory.sh gives the job so little that it is killed
 * unless the stacks of waiting ranks are packed. `short_memory probe`: can they be, with this kernel? */
#include <string.h>
#include <sys/mman.h>

#include "mpitest.h"

enum { kGuardInstall = 102 /* MADV_GUARD_INSTALL, Linux 6.13 */ };

static int kernel_can_pack(void) {
  void* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page != MAP_FAILED && madvise(page, 4096, kGuardInstall) == 0;
}

/* Uses so many KiB of the stack, which are nobody's afterwards. */
static int dig(int kib) {
  volatile char room[1024];
  memset((char*)room, kib, sizeof room);
  return kib > 1 ? dig(kib - 1) + room[5] : room[3];
}

/* A token goes from rank to rank: all others wait, and only the stacks of those that have had it grow
 * again. */
static void pass_token(int rank, int size, int token) {
  int value = token;
  if (rank > 0) OK(MPI_Recv(&value, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  dig(12);
  CHECK(value == token);
  if (rank + 1 < size) OK(MPI_Send(&value, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD));
}

int main(int argc, char** argv) {
  int rank, size;
  if (argc > 1 && strcmp(argv[1], "probe") == 0) return kernel_can_pack() ? 0 : 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  dig(12);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < 2; i++) pass_token(rank, size, i);
  long mine = rank, sum = 0;
  OK(MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sum == (long)size * (size - 1) / 2);
  return finish();
}
