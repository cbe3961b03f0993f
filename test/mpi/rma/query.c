/* MPI_Win_shared_query of windows of all kinds (MPI-4.1 section 12.2.3): the address where there is
 * one, else size 0. */
#include <fgmpi.h>

#include "mpitest.h"

static int rank, size;

/* Ranks write their number into their own memory; all read what they can. `all`: everybody's memory
 * is shared. */
static void read_others(MPI_Win win, int* mine, int all) {
  int first = 0, collocated;
  OK(MPIX_Get_collocated_size(&collocated));
  OK(MPIX_Get_collocated_startrank(&first));
  OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
  mine[1] = 1000 + rank;
  OK(MPI_Win_sync(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_sync(win));
  for (int i = 0; i < size; ++i) {
    MPI_Aint bytes = -1;
    int unit = -1, *base = &first;
    OK(MPI_Win_shared_query(win, i, &bytes, &unit, &base));
    const int near = i >= first && i < first + collocated;
    if (near || all) CHECK(bytes == 8);
    CHECK(bytes == 8 ? base != NULL && base[1] == 1000 + i : bytes == 0 && base == NULL);
    CHECK(unit == 4);
    if (i == rank) CHECK(base == mine);
  }
  MPI_Aint bytes;
  int unit, *base, *lowest;
  OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &base));
  CHECK(bytes == 8 && base != NULL);
  OK(MPI_Win_shared_query(win, base[1] - 1000, &bytes, &unit, &lowest));
  CHECK(lowest == base);
  if (all) CHECK(base[1] == 1000);
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char** argv) {
  MPI_Win win;
  int memory[2], *base;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  OK(MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  read_others(win, memory, 0);
  OK(MPI_Win_free(&win));
  OK(MPI_Win_allocate(sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
  read_others(win, base, 0);
  OK(MPI_Win_free(&win));
  OK(MPI_Win_allocate_shared(sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
  read_others(win, base, 1);
  OK(MPI_Win_free(&win));
  /* Nobody has memory. */
  MPI_Aint bytes = 5;
  int unit = 5, class;
  OK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &base));
  CHECK(bytes == 0 && base == NULL);
  OK(MPI_Win_free(&win));
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  OK(MPI_Error_class(MPI_Win_shared_query(win, 0, &bytes, &unit, &base), &class));
  CHECK(class == MPI_ERR_RMA_FLAVOR);
  OK(MPI_Win_free(&win));
  return finish();
}
