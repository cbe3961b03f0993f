/* Bad arguments and members that disagree: error classes through MPI_ERRORS_RETURN. */
#include <string.h>

#include "error_class.h"
#include "mpitest.h"

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
  says(MPI_Igather(in, 1, MPI_INT, out, 1, MPI_INT, -77, comm, &request), "MPI_Igather", "-77");
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

/* Datatype handle 0, and counts whose bytes, altogether, do not fit in 63 bits: 2^61 doubles are
 * 2^64 bytes. */
static void no_buffer(MPI_Comm comm) {
  const MPI_Datatype zero = (MPI_Datatype)0;
  const MPI_Count huge = (MPI_Count)1 << 61, counts[1] = {huge}, one_c[1] = {1};
  const MPI_Aint displs[1] = {0};
  MPI_Datatype types[1] = {MPI_DOUBLE};
  double in[4] = {0}, out[4] = {0};
  MPI_Request request;
  FAILS(MPI_ERR_TYPE, MPI_Bcast(in, 1, zero, 0, comm));
  FAILS(MPI_ERR_TYPE, MPI_Gather(in, 1, zero, out, 1, MPI_DOUBLE, 0, comm));
  FAILS(MPI_ERR_TYPE, MPI_Allgather(in, 1, zero, out, 1, MPI_DOUBLE, comm));
  FAILS(MPI_ERR_TYPE, MPI_Alltoall(in, 1, MPI_DOUBLE, out, 1, zero, comm));
  FAILS(MPI_ERR_TYPE, MPI_Allreduce(in, out, 1, zero, MPI_SUM, comm));
  FAILS(MPI_ERR_TYPE, MPI_Ibcast(in, 1, zero, 0, comm, &request));
  FAILS(MPI_ERR_COUNT, MPI_Bcast_c(in, huge, MPI_DOUBLE, 0, comm));
  FAILS(MPI_ERR_COUNT, MPI_Ibcast_c(in, huge, MPI_DOUBLE, 0, comm, &request));
  FAILS(MPI_ERR_COUNT, MPI_Bcast_init_c(in, huge, MPI_DOUBLE, 0, comm, MPI_INFO_NULL, &request));
  FAILS(MPI_ERR_COUNT, MPI_Gather_c(in, huge, MPI_DOUBLE, out, 1, MPI_DOUBLE, 0, comm));
  FAILS(MPI_ERR_COUNT, MPI_Scatter_c(in, 1, MPI_DOUBLE, out, huge, MPI_DOUBLE, 0, comm));
  FAILS(MPI_ERR_COUNT, MPI_Allgather_c(in, 1, MPI_DOUBLE, out, huge, MPI_DOUBLE, comm));
  FAILS(MPI_ERR_COUNT, MPI_Allgatherv_c(in, 1, MPI_DOUBLE, out, counts, displs, MPI_DOUBLE, comm));
  FAILS(MPI_ERR_COUNT, MPI_Alltoall_c(in, huge, MPI_DOUBLE, out, huge, MPI_DOUBLE, comm));
  FAILS(MPI_ERR_COUNT, MPI_Alltoallw_c(in, counts, displs, types, out, one_c, displs, types, comm));
  FAILS(MPI_ERR_COUNT, MPI_Reduce_c(in, out, huge, MPI_DOUBLE, MPI_SUM, 0, comm));
  FAILS(MPI_ERR_COUNT, MPI_Allreduce_c(in, out, huge, MPI_DOUBLE, MPI_SUM, comm));
  FAILS(MPI_ERR_COUNT, MPI_Scan_c(in, out, huge, MPI_DOUBLE, MPI_SUM, comm));
  FAILS(MPI_ERR_COUNT, MPI_Reduce_scatter_c(in, out, counts, MPI_DOUBLE, MPI_SUM, comm));
  FAILS(MPI_ERR_COUNT, MPI_Reduce_scatter_block_c(in, out, huge, MPI_DOUBLE, MPI_SUM, comm));
}

/* Sums over the members: each part fits, all of them do not. Every member gets the error. */
static void no_sum(int size) {
  const MPI_Count part = (((MPI_Count)1 << 60) - 1) / size + 2; /* doubles */
  double in[4] = {0}, out[4] = {0};
  MPI_Comm w = MPI_COMM_WORLD;
  MPI_Count* counts = malloc(sizeof(MPI_Count) * (size_t)size);
  MPI_Aint* displs = calloc((size_t)size, sizeof(MPI_Aint));
  for (int i = 0; i < size; i++) counts[i] = part;
  FAILS(MPI_ERR_COUNT, MPI_Allgather_c(in, 1, MPI_DOUBLE, out, part, MPI_DOUBLE, w));
  FAILS(MPI_ERR_COUNT, MPI_Allgatherv_c(in, 1, MPI_DOUBLE, out, counts, displs, MPI_DOUBLE, w));
  FAILS(MPI_ERR_COUNT, MPI_Alltoall_c(in, part, MPI_DOUBLE, out, part, MPI_DOUBLE, w));
  FAILS(MPI_ERR_COUNT, MPI_Reduce_scatter_c(in, out, counts, MPI_DOUBLE, MPI_SUM, w));
  FAILS(MPI_ERR_COUNT, MPI_Reduce_scatter_block_c(in, out, part, MPI_DOUBLE, MPI_SUM, w));
  free(counts);
  free(displs);
}

/* Nowhere to put the request: an error, in every nonblocking and persistent form. */
static void no_request(MPI_Comm comm) {
  int in[4] = {0}, out[4] = {0}, one[1] = {1}, zero[1] = {0};
  MPI_Datatype types[1] = {MPI_INT};
  const MPI_Info info = MPI_INFO_NULL;
  FAILS(MPI_ERR_ARG, MPI_Ibarrier(comm, NULL));
  FAILS(MPI_ERR_ARG, MPI_Ibcast(in, 1, MPI_INT, 0, comm, NULL));
  FAILS(MPI_ERR_ARG, MPI_Igather(in, 1, MPI_INT, out, 1, MPI_INT, 0, comm, NULL));
  FAILS(MPI_ERR_ARG, MPI_Iscatterv(in, one, zero, MPI_INT, out, 1, MPI_INT, 0, comm, NULL));
  FAILS(MPI_ERR_ARG, MPI_Iallgather(in, 1, MPI_INT, out, 1, MPI_INT, comm, NULL));
  FAILS(MPI_ERR_ARG, MPI_Ialltoallw(in, one, zero, types, out, one, zero, types, comm, NULL));
  FAILS(MPI_ERR_ARG, MPI_Ireduce(in, out, 1, MPI_INT, MPI_SUM, 0, comm, NULL));
  FAILS(MPI_ERR_ARG, MPI_Iallreduce_c(in, out, 1, MPI_INT, MPI_SUM, comm, NULL));
  FAILS(MPI_ERR_ARG, MPI_Iscan(in, out, 1, MPI_INT, MPI_SUM, comm, NULL));
  FAILS(MPI_ERR_ARG, MPI_Barrier_init(comm, info, NULL));
  FAILS(MPI_ERR_ARG, MPI_Bcast_init(in, 1, MPI_INT, 0, comm, info, NULL));
  FAILS(MPI_ERR_ARG, MPI_Allreduce_init(in, out, 1, MPI_INT, MPI_SUM, comm, info, NULL));
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
  no_buffer(comm);
  no_sum(size);
  no_request(comm);
  /* What is not significant is not looked at. */
  int* all = malloc(sizeof(int) * (size_t)size);
  OK(MPI_Gather(in, 1, MPI_INT, rank == 0 ? all : NULL, rank == 0 ? 1 : -5,
                rank == 0 ? MPI_INT : MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
  free(all);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  return finish();
}
