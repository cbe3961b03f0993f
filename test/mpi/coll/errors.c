/* Bad arguments and members that disagree: error classes through MPI_ERRORS_RETURN. */
#include <string.h>

#include "mpitest.h"

static int class_of(int code) {
  int c;
  OK(MPI_Error_class(code, &c));
  return c;
}
#define FAILS(class_, call) CHECK(class_of(call) == (class_))

/* The message names the call and the value. */
static void says(int code, const char* call, const char* value) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  OK(MPI_Error_string(code, text, &length));
  CHECK(strstr(text, call) != NULL && strstr(text, value) != NULL);
}

/* MPI_IN_PLACE where the standard has a buffer only, and roots that there are not. */
static void in_place_and_roots(MPI_Comm comm) {
  int in[4] = {0}, out[4] = {0}, one[1] = {1}, zero[1] = {0};
  MPI_Datatype types[1] = {MPI_INT};
  MPI_Request request;
  FAILS(MPI_ERR_BUFFER, MPI_Gather(in, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Scatter(MPI_IN_PLACE, 1, MPI_INT, out, 1, MPI_INT, 0, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Allgather(in, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Alltoall(in, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Alltoallw(in, one, zero, types, MPI_IN_PLACE, one, zero, types, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Reduce(in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, 0, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Scan(in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Exscan(in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Reduce_scatter_block(in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Ibcast(MPI_IN_PLACE, 1, MPI_INT, 0, comm, &request));
  FAILS(MPI_ERR_BUFFER, MPI_Iallgather(in, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm, &request));
  says(MPI_Bcast(in, 1, MPI_INT, 4711, comm), "MPI_Bcast", "4711");
  says(MPI_Igather(in, 1, MPI_INT, out, 1, MPI_INT, -3, comm, &request), "MPI_Igather", "-3");
  says(MPI_Reduce_init(in, out, 1, MPI_INT, MPI_SUM, 99, comm, MPI_INFO_NULL, &request),
       "MPI_Reduce_init", "99");
  says(MPI_Scatter_c(in, -7, MPI_INT, out, 1, MPI_INT, 0, comm), "MPI_Scatter_c", "-7");
}

/* Memory that both sides name, on a communicator of one. */
static void same_memory(MPI_Comm comm) {
  int b[4] = {0}, one[1] = {1}, two[1] = {2}, zero[1] = {0};
  MPI_Datatype types[1] = {MPI_INT};
  MPI_Request request;
  FAILS(MPI_ERR_BUFFER, MPI_Gather(b, 1, MPI_INT, b, 1, MPI_INT, 0, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Gatherv(b + 2, 1, MPI_INT, b, one, two, MPI_INT, 0, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Scatter(b, 1, MPI_INT, b, 1, MPI_INT, 0, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Scatterv(b, one, two, MPI_INT, b + 2, 1, MPI_INT, 0, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Allgather(b, 1, MPI_INT, b, 1, MPI_INT, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Allgatherv(b, 1, MPI_INT, b, one, zero, MPI_INT, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Alltoall(b, 1, MPI_INT, b, 1, MPI_INT, comm));
  FAILS(MPI_ERR_BUFFER,
        MPI_Ialltoallv(b, one, zero, MPI_INT, b, one, zero, MPI_INT, comm, &request));
  FAILS(MPI_ERR_BUFFER, MPI_Alltoallw(b, one, zero, types, b, one, zero, types, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Reduce_local(b, b, 1, MPI_INT, MPI_SUM));
  OK(MPI_Gatherv(b, 1, MPI_INT, b, one, two, MPI_INT, 0, comm)); /* b and b + 2 */
  OK(MPI_Alltoallv(b, zero, zero, MPI_INT, b, zero, zero, MPI_INT, comm));
  OK(MPI_Alltoallv(b, one, zero, MPI_INT, b, one, two, MPI_INT, comm));
}

/* Null pointers, each named; a type that no data has need not be one. */
static void nothing_there(MPI_Comm comm) {
  int b[4] = {0}, one[1] = {1}, zero[1] = {0};
  MPI_Datatype types[1] = {MPI_INT}, none[1] = {MPI_DATATYPE_NULL};
  says(MPI_Gather(NULL, 3, MPI_INT, b, 3, MPI_INT, 0, comm), "sendbuf", "count 3");
  says(MPI_Scatter(b, 1, MPI_INT, NULL, 1, MPI_INT, 0, comm), "recvbuf", "null");
  says(MPI_Allgather(b, 1, MPI_INT, b + 1, -7, MPI_INT, comm), "recvcount", "-7");
  says(MPI_Gatherv(b, 1, MPI_INT, NULL, one, zero, MPI_INT, 0, comm), "recvbuf", "null");
  says(MPI_Alltoallv(NULL, one, zero, MPI_INT, b, one, zero, MPI_INT, comm), "sendbuf", "null");
  says(MPI_Alltoallw(b, one, zero, types, b, one, zero, none, comm), "recvtypes[0]",
       "MPI_DATATYPE_NULL");
  says(MPI_Reduce_local(NULL, b, 1, MPI_INT, MPI_SUM), "inbuf", "null");
  says(MPI_Reduce_local(MPI_IN_PLACE, b, 1, MPI_INT, MPI_SUM), "inbuf", "MPI_IN_PLACE");
  OK(MPI_Reduce_local(NULL, NULL, 0, MPI_INT, MPI_SUM));
  OK(MPI_Alltoallw(NULL, zero, zero, none, NULL, zero, zero, none, comm));
  OK(MPI_Alltoallv(NULL, zero, zero, MPI_INT, NULL, zero, zero, MPI_INT, comm));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int rank, size, in[4] = {0}, out[4] = {0}, negative[1] = {-1};
  MPI_Comm comm = MPI_COMM_SELF;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  FAILS(MPI_ERR_COUNT, MPI_Bcast(in, -1, MPI_INT, 0, comm));
  FAILS(MPI_ERR_ROOT, MPI_Bcast(in, 1, MPI_INT, 1, comm));
  FAILS(MPI_ERR_ROOT, MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, -1, comm));
  FAILS(MPI_ERR_TYPE, MPI_Bcast(in, 1, MPI_DATATYPE_NULL, 0, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Bcast(NULL, 1, MPI_INT, 0, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, comm));
  FAILS(MPI_ERR_OP, MPI_Allreduce(in, out, 1, MPI_INT, MPI_OP_NULL, comm));
  FAILS(MPI_ERR_OP, MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_BAND, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Allreduce(in, in, 1, MPI_INT, MPI_SUM, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Allreduce(in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm));
  FAILS(MPI_ERR_COUNT, MPI_Reduce_scatter(in, out, negative, MPI_INT, MPI_SUM, comm));
  FAILS(MPI_ERR_ARG, MPI_Gatherv(in, 1, MPI_INT, out, NULL, NULL, MPI_INT, 0, comm));
  FAILS(MPI_ERR_COMM, MPI_Barrier(MPI_COMM_NULL));
  FAILS(MPI_ERR_TOPOLOGY, MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, comm));
  FAILS(MPI_ERR_TRUNCATE, MPI_Allgather(in, 4, MPI_INT, out, 2, MPI_INT, comm));
  in_place_and_roots(comm);
  same_memory(comm);
  nothing_there(comm);
  /* What is not significant is not looked at. */
  int* all = malloc(sizeof(int) * (size_t)size);
  OK(MPI_Gather(in, 1, MPI_INT, rank == 0 ? all : NULL, rank == 0 ? 1 : -5,
                rank == 0 ? MPI_INT : MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
  free(all);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  return finish();
}
