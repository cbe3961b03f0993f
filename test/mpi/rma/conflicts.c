/* Accesses that conflict, and others that nearly do; conflicts.sh looks at what FGMPI_RMA_CHECK
 * says of them. */
#include <mpi.h>
#include <string.h>

#include "mpitest.h"

static int rank, size, target;
static int* memory;
static MPI_Win win;
static int x[16], y[16];

static int is(const char* mode, const char* name) { return !strcmp(mode, name); }
static void barrier(void) { OK(MPI_Barrier(MPI_COMM_WORLD)); }
static void put(int from, int count) {
  OK(MPI_Put(x, count, MPI_INT, target, from, count, MPI_INT, win));
}

/* Ranks 0 and 1 access the last rank's memory in one epoch of a fence. */
static void fenced(const char* mode) {
  OK(MPI_Win_fence(0, win));
  if (rank == 0 && is(mode, "self")) put(0, 2), put(1, 1);
  if (rank == 0 && !is(mode, "self")) {
    if (is(mode, "put_put") || is(mode, "put_get")) put(2, 4);
    if (is(mode, "sum_put") || is(mode, "sum_prod") || is(mode, "types"))
      OK(MPI_Accumulate(x, 2, MPI_INT, target, 2, 2, MPI_INT, MPI_SUM, win));
  }
  if (rank == 1) {
    if (is(mode, "put_put") || is(mode, "sum_put")) put(3, 1);
    if (is(mode, "put_get")) OK(MPI_Get(y, 2, MPI_INT, target, 5, 2, MPI_INT, win));
    if (is(mode, "sum_prod"))
      OK(MPI_Accumulate(x, 1, MPI_INT, target, 2, 1, MPI_INT, MPI_PROD, win));
    if (is(mode, "types"))
      OK(MPI_Accumulate(x, 1, MPI_FLOAT, target, 2, 1, MPI_FLOAT, MPI_SUM, win));
  }
  OK(MPI_Win_fence(0, win));
}

static void posted(void) {
  MPI_Group all, one;
  OK(MPI_Win_get_group(win, &all));
  if (rank == target) {
    OK(MPI_Group_incl(all, 2, (int[]){0, 1}, &one));
    OK(MPI_Win_post(one, 0, win));
    OK(MPI_Win_wait(win));
    OK(MPI_Group_free(&one));
  } else if (rank < 2) {
    OK(MPI_Group_incl(all, 1, &target, &one));
    OK(MPI_Win_start(one, 0, win));
    put(4, 2);
    OK(MPI_Win_complete(win));
    OK(MPI_Group_free(&one));
  }
  OK(MPI_Group_free(&all));
}

/* Rank 0's put is not flushed when others come. */
static void locked(const char* mode) {
  OK(MPI_Win_lock_all(0, win));
  if (rank == 0) put(0, 4);
  barrier();
  if (rank == 1 && is(mode, "pending")) put(3, 1);
  if (rank == target && is(mode, "exposed"))
    OK(MPI_Allreduce(memory, y, 2, MPI_INT, MPI_SUM, MPI_COMM_SELF));
  if (rank == 0 && is(mode, "origin"))
    OK(MPI_Sendrecv(y, 1, MPI_INT, 0, 1, x + 2, 1, MPI_INT, 0, 1, MPI_COMM_SELF,
                    MPI_STATUS_IGNORE));
  if (rank == 0 && is(mode, "result")) {
    OK(MPI_Get(y, 4, MPI_INT, 1, 0, 4, MPI_INT, win));
    OK(MPI_Bcast(y, 1, MPI_INT, 0, MPI_COMM_SELF));
  }
  barrier();
  OK(MPI_Win_unlock_all(win));
}

/* What synchronisation orders, and what may happen at once. */
static void allowed(void) {
  MPI_Datatype even;
  OK(MPI_Type_vector(4, 1, 2, MPI_INT, &even));
  OK(MPI_Type_commit(&even));
  OK(MPI_Win_fence(0, win));
  OK(MPI_Accumulate(x, 4, MPI_INT, target, 8, 4, MPI_INT, MPI_SUM, win));
  OK(MPI_Get_accumulate(NULL, 0, MPI_INT, y, 4, MPI_INT, target, 8, 4, MPI_INT, MPI_NO_OP, win));
  if (rank < 2) OK(MPI_Put(x, 4, MPI_INT, target, rank, 1, even, win));
  OK(MPI_Win_fence(0, win));
  OK(MPI_Get(y + 4, 4, MPI_INT, target, 0, 4, MPI_INT, win));
  OK(MPI_Allreduce(MPI_IN_PLACE, y, 4, MPI_INT, MPI_SUM, MPI_COMM_SELF));
  OK(MPI_Win_fence(0, win));
  if (rank == 1) put(0, 4);
  OK(MPI_Win_fence(0, win));
  OK(MPI_Bcast(memory, 4, MPI_INT, 0, MPI_COMM_SELF));
  OK(MPI_Allreduce(MPI_IN_PLACE, memory, 4, MPI_INT, MPI_SUM, MPI_COMM_SELF));
  barrier();
  for (int k = 0; k < 20; ++k) {
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
    OK(MPI_Get(y, 4, MPI_INT, target, 0, 4, MPI_INT, win));
    OK(MPI_Win_flush(target, win));
    memcpy(x, y, sizeof y);
    put(0, 4);
    OK(MPI_Win_unlock(target, win));
  }
  barrier();
  OK(MPI_Win_lock_all(0, win));
  for (int k = 0; k < size; ++k) {
    if (k == rank) put(0, 8);
    OK(MPI_Win_flush(target, win));
    barrier();
  }
  /* A lock of the program's own: compare-and-swap and exchanges of one word. */
  const int free_value = 0, mine = rank + 1;
  for (int k = 0; k < 10; ++k) {
    do {
      OK(MPI_Compare_and_swap(&mine, &free_value, y, MPI_INT, target, 15, win));
      OK(MPI_Win_flush(target, win));
    } while (*y != 0);
    put(4, 2);
    OK(MPI_Win_flush(target, win));
    OK(MPI_Fetch_and_op(&free_value, y, MPI_INT, target, 15, MPI_REPLACE, win));
    OK(MPI_Win_flush(target, win));
  }
  MPI_Request request;
  OK(MPI_Rget(y, 4, MPI_INT, target, 0, 4, MPI_INT, win, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Send(y, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Type_free(&even));
}

static void fails_early(void) {
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  OK(MPI_Win_lock_all(0, win));
  for (int i = 0; i < 16; ++i) x[i] = 7 + rank;
  if (rank == 0) put(0, 4);
  barrier();
  if (rank == 1) {
    int class;
    OK(MPI_Error_class(MPI_Put(x, 4, MPI_INT, target, 1, 4, MPI_INT, win), &class));
    CHECK(class == MPI_ERR_RMA_CONFLICT);
  }
  barrier();
  OK(MPI_Win_unlock_all(win));
  barrier();
  if (rank == target)
    for (int i = 0; i < 16; ++i) CHECK(memory[i] == (i < 4 ? 7 : 0));
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "allowed";
  const char* flavor = argc > 2 ? argv[2] : "allocate";
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  target = size - 1;
  const MPI_Aint bytes = 16 * sizeof(int);
  if (is(flavor, "allocate"))
    OK(MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  else if (is(flavor, "shared"))
    OK(MPI_Win_allocate_shared(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  else
    OK(MPI_Win_create(memory = malloc(bytes), bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  memset(memory, 0, bytes);
  OK(MPI_Win_set_name(win, "board"));
  barrier();
  if (is(mode, "allowed"))
    allowed();
  else if (is(mode, "posted"))
    posted();
  else if (is(mode, "fails_early"))
    fails_early();
  else if (is(mode, "pending") || is(mode, "exposed") || is(mode, "origin") || is(mode, "result"))
    locked(mode);
  else
    fenced(mode);
  barrier();
  OK(MPI_Win_free(&win));
  OK(MPI_Finalize());
  return 0;
}
