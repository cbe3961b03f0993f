/* Messages and requests across a checkpoint: receives that are pending, messages that nobody has received
 * yet, those that were matched, large ones, buffered and persistent ones; all arrive once, in order. */
#include "checkpoint.h"

enum { kLarge = 200000, kMany = 20 };

static int to, from;

static void pending_receives(MPI_Comm comm) {
  MPI_Request requests[kMany];
  int got[kMany], i;
  for (i = 0; i < kMany; ++i)
    MPI_Irecv(&got[i], 1, MPI_INT, i % 2 ? from : MPI_ANY_SOURCE, i % 3 ? 5 : MPI_ANY_TAG, comm,
              &requests[i]);
  checkpoint();
  for (i = 0; i < kMany; ++i) MPI_Send(&i, 1, MPI_INT, to, 5, comm);
  MPI_Waitall(kMany, requests, MPI_STATUSES_IGNORE);
  for (i = 0; i < kMany; ++i) CHECK(got[i] == i && requests[i] == MPI_REQUEST_NULL);
}

static void half_of_the_receives(MPI_Comm comm) {
  MPI_Request requests[kMany], sends[kMany];
  MPI_Status statuses[kMany];
  int got[kMany], values[kMany], i;
  for (i = 0; i < kMany / 2; ++i) MPI_Irecv(&got[i], 1, MPI_INT, from, 6, comm, &requests[i]);
  for (i = 0; i < kMany; ++i) {
    values[i] = 100 + i;
    MPI_Isend(&values[i], 1, MPI_INT, to, 6, comm, &sends[i]);
  }
  checkpoint();
  for (i = kMany / 2; i < kMany; ++i) MPI_Irecv(&got[i], 1, MPI_INT, from, 6, comm, &requests[i]);
  MPI_Waitall(kMany, requests, statuses);
  MPI_Waitall(kMany, sends, MPI_STATUSES_IGNORE);
  for (i = 0; i < kMany; ++i) {
    int n;
    MPI_Get_count(&statuses[i], MPI_INT, &n);
    CHECK(got[i] == 100 + i && n == 1 && statuses[i].MPI_SOURCE == from &&
          statuses[i].MPI_TAG == 6);
  }
}

static void unexpected(MPI_Comm comm) {
  int* large = malloc(kLarge * sizeof(int));
  int* got = malloc(kLarge * sizeof(int));
  int small = rank, value = -1, flag, n, i;
  MPI_Request send;
  MPI_Status status;
  MPI_Message message;
  for (i = 0; i < kLarge; ++i) large[i] = i + rank, got[i] = -1;
  MPI_Isend(large, kLarge, MPI_INT, to, 7, comm, &send);
  MPI_Send(&small, 1, MPI_INT, to, 8, comm);
  MPI_Send(&small, 1, MPI_INT, to, 9, comm);
  MPI_Mprobe(from, 9, comm, &message, &status);
  checkpoint();
  MPI_Iprobe(from, 8, comm, &flag, &status);
  CHECK(flag && status.MPI_SOURCE == from && status.MPI_TAG == 8);
  MPI_Probe(MPI_ANY_SOURCE, 7, comm, &status);
  MPI_Get_count(&status, MPI_INT, &n);
  CHECK(n == kLarge && status.MPI_SOURCE == from);
  MPI_Recv(&value, 1, MPI_INT, from, 8, comm, &status);
  CHECK(value == from && status.MPI_TAG == 8);
  value = -1;
  MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
  CHECK(value == from && message == MPI_MESSAGE_NULL && status.MPI_SOURCE == from &&
        status.MPI_TAG == 9);
  MPI_Recv(got, kLarge, MPI_INT, from, MPI_ANY_TAG, comm, &status);
  for (i = 0; i < kLarge; ++i)
    if (got[i] != i + from) break;
  CHECK(i == kLarge && status.MPI_TAG == 7);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  free(large);
  free(got);
}

static void with_a_type(MPI_Comm comm) {
  MPI_Datatype every_second;
  int out[6] = {rank, 1, 2, 3, 4, 5}, in[6] = {-1, -1, -1, -1, -1, -1}, n, value = rank, got = -1;
  MPI_Request requests[2];
  MPI_Status status;
  MPI_Type_vector(3, 1, 2, MPI_INT, &every_second);
  MPI_Type_commit(&every_second);
  MPI_Irecv(in, 1, every_second, from, 1, comm, &requests[0]);
  MPI_Isend(out, 1, every_second, to, 2, comm, &requests[1]);
  MPI_Type_free(&every_second);
  checkpoint();
  MPI_Send(out, 3, MPI_INT, to, 1, comm);
  MPI_Wait(&requests[0], &status);
  CHECK(in[0] == from && in[2] == 1 && in[4] == 2 && in[1] == -1);
  MPI_Sendrecv(&value, 1, MPI_INT, to, 3, in, 6, MPI_INT, from, 2, comm, &status);
  MPI_Get_count(&status, MPI_INT, &n);
  CHECK(n == 3 && in[0] == from && in[1] == 2 && in[2] == 4);
  MPI_Recv(&got, 1, MPI_INT, from, 3, comm, MPI_STATUS_IGNORE);
  CHECK(got == from);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
}

static void persistent(MPI_Comm comm) {
  int got = -1, value = 0, flag = 0, i;
  MPI_Request requests[2], send;
  MPI_Recv_init(&got, 1, MPI_INT, from, 4, comm, &requests[0]);
  MPI_Send_init(&value, 1, MPI_INT, to, 4, comm, &requests[1]);
  for (i = 0; i < 4; ++i) {
    value = 10 * rank + i;
    MPI_Start(&requests[i % 2]);
    checkpoint();
    MPI_Start(&requests[1 - i % 2]);
    if (i == 2) checkpoint();
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(got == 10 * from + i && requests[0] != MPI_REQUEST_NULL);
    checkpoint();
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Isend(&value, 1, MPI_INT, to, 4, comm, &send);
  MPI_Request_free(&send);
  checkpoint();
  MPI_Irecv(&got, 1, MPI_INT, from, 4, comm, &send);
  while (!flag) MPI_Test(&send, &flag, MPI_STATUS_IGNORE);
  CHECK(send == MPI_REQUEST_NULL);
}

static void buffered(MPI_Comm comm) {
  const int bytes = 4 * (int)(sizeof(int) + MPI_BSEND_OVERHEAD);
  char* buffer = malloc((size_t)bytes);
  int got = -1, n;
  void* at;
  MPI_Buffer_attach(buffer, bytes);
  MPI_Bsend(&rank, 1, MPI_INT, to, 3, comm);
  checkpoint();
  MPI_Bsend(&rank, 1, MPI_INT, to, 3, comm);
  MPI_Recv(&got, 1, MPI_INT, from, 3, comm, MPI_STATUS_IGNORE);
  MPI_Recv(&got, 1, MPI_INT, from, 3, comm, MPI_STATUS_IGNORE);
  CHECK(got == from);
  MPI_Buffer_detach(&at, &n);
  CHECK(at == buffer && n == bytes);
  free(buffer);
}

static void collectives(MPI_Comm comm) {
  int sum = -1, sums = -1, one = 1;
  MPI_Request requests[2];
  MPI_Comm twin;
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[0]);
  MPI_Comm_idup(comm, &twin, &requests[1]);
  checkpoint();
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(sum == size);
  MPI_Allreduce_init(&one, &sums, 1, MPI_INT, MPI_SUM, twin, MPI_INFO_NULL, &requests[0]);
  checkpoint();
  MPI_Start(&requests[0]);
  checkpoint();
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  CHECK(sums == size);
  MPI_Request_free(&requests[0]);
  MPI_Comm_free(&twin);
}

int main(int argc, char** argv) {
  MPI_Comm twin;
  start(&argc, &argv);
  to = (rank + 1) % size;
  from = (rank + size - 1) % size;
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);
  for (int i = 0; i < 2; ++i) {
    MPI_Comm comm = i ? twin : MPI_COMM_WORLD;
    pending_receives(comm);
    half_of_the_receives(comm);
    unexpected(comm);
    with_a_type(comm);
    persistent(comm);
    buffered(comm);
    collectives(comm);
  }
  MPI_Comm_free(&twin);
  return finish();
}
