/* One collective, many times: what coll_instructions.sh counts the instructions of.
 *
 *   coll_loop KIND BYTES TIMES */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void run(const char* kind, char* in, char* out, int bytes, int* counts, int* displs) {
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Request request;
  if (!strcmp(kind, "barrier")) MPI_Barrier(world);
  if (!strcmp(kind, "bcast")) MPI_Bcast(in, bytes, MPI_BYTE, 0, world);
  if (!strcmp(kind, "reduce")) MPI_Reduce(in, out, bytes / 8, MPI_LONG, MPI_SUM, 0, world);
  if (!strcmp(kind, "allreduce")) MPI_Allreduce(in, out, bytes / 8, MPI_LONG, MPI_SUM, world);
  if (!strcmp(kind, "scan")) MPI_Scan(in, out, bytes / 8, MPI_LONG, MPI_SUM, world);
  if (!strcmp(kind, "gather")) MPI_Gather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, 0, world);
  if (!strcmp(kind, "scatter")) MPI_Scatter(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, 0, world);
  if (!strcmp(kind, "allgather")) MPI_Allgather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, world);
  if (!strcmp(kind, "alltoall")) MPI_Alltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, world);
  if (!strcmp(kind, "alltoallv"))
    MPI_Alltoallv(in, counts, displs, MPI_BYTE, out, counts, displs, MPI_BYTE, world);
  if (!strcmp(kind, "ialltoallv")) {
    MPI_Ialltoallv(in, counts, displs, MPI_BYTE, out, counts, displs, MPI_BYTE, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 4) {
    fprintf(stderr, "usage: coll_loop KIND BYTES TIMES\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  int size, bytes = atoi(argv[2]), times = atoi(argv[3]);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char* in = calloc((size_t)size, (size_t)bytes + 1);
  char* out = calloc((size_t)size, (size_t)bytes + 1);
  int* counts = malloc(sizeof(int) * (size_t)size);
  int* displs = malloc(sizeof(int) * (size_t)size);
  for (int r = 0; r < size; r++) {
    counts[r] = bytes;
    displs[r] = r * bytes;
  }
  for (int i = 0; i < times; i++) run(argv[1], in, out, bytes, counts, displs);
  free(in);
  free(out);
  free(counts);
  free(displs);
  MPI_Finalize();
  return 0;
}
