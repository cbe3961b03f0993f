/* ping_pong with a tool in the program, which stands in front of MPI: its times are the same. */
#include "ping_pong.c"

static long calls;

int MPI_Init(int* argc, char*** argv) { return PMPI_Init(argc, argv); }
int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++calls;
  return PMPI_Send(data, count, type, to, tag, comm);
}
int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status* status) {
  ++calls;
  return PMPI_Recv(data, count, type, from, tag, comm, status);
}
int MPI_Finalize(void) {
  if (!calls) return 1;
  return PMPI_Finalize();
}
