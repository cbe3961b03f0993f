/* Communicators made in all ways: copies. Each rank makes three by MPI_Comm_idup of MPI_COMM_WORLD,
 * of which it frees one, one by MPI_Comm_idup_with_info of the last of them, one by
 * MPI_Comm_create_group of the even or odd ranks, of the two halves an intercommunicator, a copy of
 * that by MPI_Comm_idup, and merges it. An MPI_Allreduce on each. */
#include <mpi.h>

enum { kCopies = 3 };

static void add(MPI_Comm comm) {
  int one = 1, sum;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
}

int main(int argc, char** argv) {
  int rank, size, members[4096], count = 0;
  MPI_Comm copies[kCopies], informed, half, inter, inter_copy, merged;
  MPI_Request requests[kCopies];
  MPI_Group world, part;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
#pragma GCC unroll 1 /* one place */
  for (int i = 0; i < kCopies; ++i) MPI_Comm_idup(MPI_COMM_WORLD, &copies[i], &requests[i]);
  MPI_Waitall(kCopies, requests, MPI_STATUSES_IGNORE);
  MPI_Comm_idup_with_info(copies[kCopies - 1], MPI_INFO_NULL, &informed, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  for (int i = rank % 2; i < size; i += 2) members[count++] = i;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, count, members, &part);
  MPI_Comm_create_group(MPI_COMM_WORLD, part, 5, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 6, &inter);
  MPI_Comm_idup(inter, &inter_copy, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Intercomm_merge(inter, rank % 2, &merged);
  for (int i = 0; i < kCopies; ++i) add(copies[i]);
  add(informed);
  add(half);
  add(inter);
  add(inter_copy);
  add(merged);
  MPI_Comm_free(&copies[0]);
  MPI_Comm_free(&inter_copy);
  MPI_Group_free(&world);
  MPI_Group_free(&part);
  return MPI_Finalize();
}
