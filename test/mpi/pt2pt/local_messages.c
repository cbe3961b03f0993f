/* MPIX_Stats counts each point-to-point message between ranks of a process once, whatever way it
 * takes, and none between processes. Ranks 0 and 1 send each other; the others wait. */
#include "fgmpi.h"
#include "mpitest.h"

static int rank, other;
static MPI_Count local(void) {
  MPIX_Stats_values values;
  OK(MPIX_Stats(&values));
  return values.local_messages;
}

enum { kMost = 1 << 20 };
static char data[kMost], got[kMost];

/* One message a way, from 0 to 1; the receive is there first or the message is. */
static int to_posted(void) {
  MPI_Request request;
  if (rank == 1) OK(MPI_Irecv(got, 8, MPI_BYTE, other, 1, MPI_COMM_WORLD, &request));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) OK(MPI_Send(data, 8, MPI_BYTE, other, 1, MPI_COMM_WORLD));
  if (rank == 1) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  return 1;
}
static int to_posted_large(void) {
  MPI_Request request;
  if (rank == 1) OK(MPI_Irecv(got, kMost, MPI_BYTE, other, 1, MPI_COMM_WORLD, &request));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) OK(MPI_Send(data, kMost, MPI_BYTE, other, 1, MPI_COMM_WORLD));
  if (rank == 1) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  return 1;
}
static int unexpected(int n) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) OK(MPI_Isend(data, n, MPI_BYTE, other, 1, MPI_COMM_WORLD, &request));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 1) OK(MPI_Recv(got, n, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  return 1;
}
static int unexpected_small(void) { return unexpected(8); }
static int unexpected_medium(void) { return unexpected(1000); }
static int unexpected_large(void) { return unexpected(kMost); }
static int empty(void) { return unexpected(0); }
static int synchronous(void) {
  if (rank == 0) OK(MPI_Ssend(data, 8, MPI_BYTE, other, 1, MPI_COMM_WORLD));
  if (rank == 1) OK(MPI_Recv(got, 8, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  return 1;
}
static int strided(void) {
  MPI_Datatype type;
  MPI_Request request;
  OK(MPI_Type_vector(10, 1, 2, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  for (int posted = 0; posted < 2; posted++) {
    request = MPI_REQUEST_NULL;
    if (rank == 1 && posted) OK(MPI_Irecv(got, 1, type, other, 1, MPI_COMM_WORLD, &request));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) OK(MPI_Send(data, 1, type, other, 1, MPI_COMM_WORLD));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 1 && !posted)
      OK(MPI_Recv(got, 1, type, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  OK(MPI_Type_free(&type));
  return 2;
}
static int both_ways(void) {
  if (rank < 2)
    OK(MPI_Sendrecv(data, 100, MPI_BYTE, other, 1, got, 100, MPI_BYTE, other, 1, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
  return 2;
}
static int persistent(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) OK(MPI_Send_init(data, 8, MPI_BYTE, other, 1, MPI_COMM_WORLD, &request));
  if (rank == 1) OK(MPI_Recv_init(got, 8, MPI_BYTE, other, 1, MPI_COMM_WORLD, &request));
  for (int i = 0; i < 3 && rank < 2; i++) {
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  if (rank < 2) OK(MPI_Request_free(&request));
  return 3;
}
static int to_nobody(void) {
  OK(MPI_Send(data, 8, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
  return 0;
}

int main(int argc, char** argv) {
  int (*const ways[])(void) = {
      to_posted,   to_posted_large, unexpected_small, unexpected_medium, unexpected_large, empty,
      synchronous, strided,         both_ways,        persistent,        to_nobody};
  int size, start, here;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPIX_Get_collocated_startrank(&start));
  OK(MPIX_Get_collocated_size(&here));
  other = 1 - rank;
  for (size_t way = 0; size > 1 && way < sizeof ways / sizeof *ways; way++) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    const MPI_Count before = local();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    const int sent = ways[way]();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    const MPI_Count now = local();
    const int collocated = start == 0 && here > 1;
    if (now - before != (collocated ? sent : 0))
      fprintf(stderr, "way %zu: %lld messages counted, %d sent\n", way, (long long)(now - before),
              sent);
    CHECK(now - before == (collocated ? sent : 0));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  return finish();
}
