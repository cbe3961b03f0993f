/* Makes communicators of every kind and sends messages over them: what the scripts of this folder
 * trace. With an argument: "leak" leaves two communicators behind, "abort" ends the job in the
 * middle, "stuck" waits for a message that is never sent. It checks its own results, so that a
 * tracer that changes them is found. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void check(int condition, const char* what) {
  if (!condition) {
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
}

/* A ring of messages, blocking and not, on a communicator. */
static void ring(MPI_Comm comm, int tag) {
  int r, n, got = -1, mine;
  MPI_Comm_rank(comm, &r);
  MPI_Comm_size(comm, &n);
  mine = r * 1000 + tag;
  MPI_Request request[2];
  MPI_Irecv(&got, 1, MPI_INT, (r + n - 1) % n, tag, comm, &request[0]);
  MPI_Isend(&mine, 1, MPI_INT, (r + 1) % n, tag, comm, &request[1]);
  MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
  check(got == (r + n - 1) % n * 1000 + tag, "ring");
  MPI_Sendrecv(&mine, 1, MPI_INT, (r + 1) % n, tag, &got, 1, MPI_INT, MPI_ANY_SOURCE, tag, comm,
               MPI_STATUS_IGNORE);
  check(got == (r + n - 1) % n * 1000 + tag, "sendrecv");
  if (n > 1 && r == 0) MPI_Send(&mine, 1, MPI_INT, n - 1, tag + 100, comm);
  if (n > 1 && r == n - 1)
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, tag + 100, comm, MPI_STATUS_IGNORE);
}

/* Two duplicates that complete in different orders at different ranks. */
static void idups(void) {
  MPI_Comm a, b;
  MPI_Request ra, rb;
  MPI_Comm_idup(MPI_COMM_WORLD, &a, &ra);
  MPI_Comm_idup(MPI_COMM_WORLD, &b, &rb);
  if (rank % 2) {
    MPI_Wait(&ra, MPI_STATUS_IGNORE);
    MPI_Wait(&rb, MPI_STATUS_IGNORE);
  } else {
    MPI_Wait(&rb, MPI_STATUS_IGNORE);
    MPI_Wait(&ra, MPI_STATUS_IGNORE);
  }
  ring(a, 11);
  ring(b, 12);
  MPI_Comm_free(&a);
  MPI_Comm_free(&b);
}

static void intercomms(void) {
  if (size < 2) return;
  MPI_Comm half, inter, merged, again;
  const int upper = rank >= size / 2;
  int value = rank, sum = -1, expected = 0;
  MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : size / 2, 9, &inter);
  MPI_Comm_dup(inter, &again);
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, again);
  for (int i = upper ? 0 : size / 2; i < (upper ? size / 2 : size); ++i) expected += i;
  check(sum == expected, "allreduce of an intercommunicator");
  MPI_Intercomm_merge(inter, upper, &merged);
  ring(merged, 21);
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 0, 22, inter);
  if (rank == size / 2) MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 22, inter, MPI_STATUS_IGNORE);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&again);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

static void irregular(void) {
  MPI_Comm odd, reversed, grid, row, some;
  MPI_Group world, group;
  int dims[2] = {0, 0}, periods[2] = {0, 0}, keep[2] = {0, 1}, root = -1;
  MPI_Comm_split(MPI_COMM_WORLD, (rank * 7 + rank / 3) % 3, -rank, &odd);
  ring(odd, 31);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, size - rank, &reversed);
  if (reversed != MPI_COMM_NULL) {
    ring(reversed, 32);
    root = 0;
    MPI_Bcast(&root, 1, MPI_INT, 0, reversed);
    MPI_Comm_free(&reversed);
  }
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Cart_sub(grid, keep, &row);
  ring(row, 33);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int ranges[1][3] = {{size - 1, 0, -2}};
  MPI_Group_range_incl(world, 1, ranges, &group);
  MPI_Comm_create(MPI_COMM_WORLD, group, &some);
  if (some != MPI_COMM_NULL) {
    MPI_Comm_set_name(some, "every second");
    ring(some, 34);
    MPI_Comm_free(&some);
  }
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  MPI_Comm_free(&row);
  MPI_Comm_free(&grid);
  MPI_Comm_free(&odd);
}

static void collectives(MPI_Comm comm) {
  int value = rank == 0 ? 42 : 0, sum = 0;
  MPI_Request request;
  MPI_Bcast(&value, 1, MPI_INT, 0, comm);
  check(value == 42, "bcast");
  MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check(sum == 42 * size, "iallreduce");
  MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, size - 1, comm);
  MPI_Barrier(comm);
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  MPI_Comm dups[18], selves[4];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 18; ++i) MPI_Comm_dup(i ? dups[i - 1] : MPI_COMM_WORLD, &dups[i]);
  for (int i = 0; i < 4; ++i) MPI_Comm_dup(MPI_COMM_SELF, &selves[i]);
  ring(MPI_COMM_WORLD, 1);
  ring(dups[17], 2);
  ring(selves[3], 3);
  collectives(dups[3]);
  idups();
  intercomms();
  irregular();
  if (strcmp(mode, "abort") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 7);
    MPI_Recv(&rank, 1, MPI_INT, 0, 99, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  }
  if (strcmp(mode, "stuck") == 0)
    MPI_Recv(&rank, 1, MPI_INT, 0, 99, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  const int kept = strcmp(mode, "leak") == 0;
  for (int i = kept; i < 18; ++i) MPI_Comm_free(&dups[i]);
  for (int i = kept; i < 4; ++i) MPI_Comm_free(&selves[i]);
  MPI_Finalize();
  return 0;
}
