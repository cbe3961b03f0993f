/* Messages to ranks of a system-ranked communicator whose address is not known yet: every kind of
 * send, all of them local where MPI says so, in order with later ones to the same rank, freed and
 * cancelled while they wait; the communicator freed meanwhile; more ranks than addresses are
 * kept. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <fgmpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "mpitest.h"

static int world_rank, world_size;

static MPI_Comm new_group(int color) {
  MPI_Comm comm;
  OK(MPIX_Comm_split(MPI_COMM_WORLD, color, MPIX_SYSTEM_RANKED, &comm));
  return comm;
}

enum { kTo = 5 };

/* Sends return although nobody who could say where a rank lives is in MPI: all ranks stay out of it
 * until all have made theirs. They count each other in shared memory. Where every rank is a process
 * of its own: a rank that stays out of MPI keeps its process. */
static void sends_return_at_once(MPI_Comm comm, int rank, int size) {
  char path[64] = "/tmp/system_ranked_messages.XXXXXX";
  int file = -1, collocated, out[4], in[4];
  OK(MPIX_Get_collocated_size(&collocated));
  if (collocated > 1 || size < 2) return;
  if (rank == 0) {
    file = mkstemp(path);
    CHECK(file >= 0 && ftruncate(file, 4096) == 0);
  }
  OK(MPI_Bcast(path, sizeof path, MPI_CHAR, 0, comm));
  if (rank > 0) file = open(path, O_RDWR);
  _Atomic int* sent = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  CHECK(sent != MAP_FAILED);
  close(file);
  OK(MPI_Barrier(comm));
  if (rank == 0) unlink(path);
  char buffer[sizeof(int) + MPI_BSEND_OVERHEAD];
  OK(MPI_Buffer_attach(buffer, sizeof buffer));
  MPI_Request requests[8];
  int to = (rank + size / 2) % size, from = (rank + size - size / 2) % size;
  for (int i = 0; i < 4; ++i) {
    out[i] = rank + i;
    OK(MPI_Irecv(&in[i], 1, MPI_INT, from, 1, comm, &requests[i]));
  }
  OK(MPI_Isend(&out[0], 1, MPI_INT, to, 1, comm, &requests[4]));
  OK(MPI_Issend(&out[1], 1, MPI_INT, to, 1, comm, &requests[5]));
  OK(MPI_Bsend(&out[2], 1, MPI_INT, to, 1, comm));
  OK(MPI_Isend(&out[3], 1, MPI_INT, to, 1, comm, &requests[6]));
  ++*sent;
  struct timespec pause = {0, 100000};
  while (*sent < size) syscall(SYS_nanosleep, &pause, NULL); /* MPI would move in the C library's */
  OK(MPI_Waitall(7, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 4; ++i) CHECK(in[i] == from + i);
  void* detached;
  int bytes;
  OK(MPI_Buffer_detach(&detached, &bytes));
  munmap((void*)sent, 4096);
}

/* All kinds, to each of some ranks, in one stream: they arrive in the order in which they were
 * made. */
static void all_kinds_in_order(MPI_Comm comm, int rank, int size) {
  enum { kKinds = 12, kLong = 60000 };
  char buffer[20 * (sizeof(int) + MPI_BSEND_OVERHEAD)];
  OK(MPI_Buffer_attach(buffer, sizeof buffer));
  int to = (rank + size / 2 + 1) % size, from = (rank + size - (size / 2 + 1) % size) % size;
  int in[kKinds], out[kKinds];
  MPI_Request receives[kKinds], sends[kKinds];
  int* large = calloc(kLong, sizeof(int));
  int* large_in = calloc(kLong, sizeof(int));
  for (int i = 0; i < kLong; ++i) large[i] = rank * 7 + i;
  for (int i = 0; i < kKinds; ++i) {
    out[i] = rank * kKinds + i;
    OK(i == 5 ? MPI_Irecv(large_in, kLong, MPI_INT, from, kTo, comm, &receives[i])
              : MPI_Irecv(&in[i], 1, MPI_INT, from, kTo, comm, &receives[i]));
    sends[i] = MPI_REQUEST_NULL;
  }
  OK(MPI_Barrier(MPI_COMM_WORLD)); /* ready sends: the receives are there */
  MPI_Request freed;
  OK(MPI_Isend(&out[0], 1, MPI_INT, to, kTo, comm, &sends[0]));
  OK(MPI_Ibsend(&out[1], 1, MPI_INT, to, kTo, comm, &sends[1]));
  OK(MPI_Irsend(&out[2], 1, MPI_INT, to, kTo, comm, &sends[2]));
  OK(MPI_Issend(&out[3], 1, MPI_INT, to, kTo, comm, &sends[3]));
  OK(MPI_Bsend(&out[4], 1, MPI_INT, to, kTo, comm));
  OK(MPI_Isend(large, kLong, MPI_INT, to, kTo, comm, &sends[5]));
  OK(MPI_Send_init(&out[6], 1, MPI_INT, to, kTo, comm, &sends[6]));
  OK(MPI_Start(&sends[6]));
  OK(MPI_Isend(&out[7], 1, MPI_INT, to, kTo, comm, &freed));
  OK(MPI_Request_free(&freed));
  OK(MPI_Bsend_init(&out[8], 1, MPI_INT, to, kTo, comm, &sends[8]));
  OK(MPI_Start(&sends[8]));
  MPI_Datatype strided;
  OK(MPI_Type_vector(1, 1, 3, MPI_INT, &strided));
  OK(MPI_Type_commit(&strided));
  OK(MPI_Isend(&out[9], 1, strided, to, kTo, comm, &sends[9]));
  OK(MPI_Type_free(&strided));
  OK(MPI_Send(&out[10], 1, MPI_INT, to, kTo, comm));
  OK(MPI_Rsend(&out[11], 1, MPI_INT, to, kTo, comm));
  OK(MPI_Waitall(kKinds, receives, MPI_STATUSES_IGNORE));
  for (int i = 0; i < kKinds; ++i)
    if (i != 5) CHECK(in[i] == from * kKinds + i);
  for (int i = 0; i < kLong; ++i) CHECK(large_in[i] == from * 7 + i);
  OK(MPI_Waitall(kKinds, sends, MPI_STATUSES_IGNORE));
  OK(MPI_Request_free(&sends[6]));
  OK(MPI_Request_free(&sends[8]));
  void* detached;
  int bytes;
  OK(MPI_Buffer_detach(&detached, &bytes));
  free(large);
  free(large_in);
}

static void blocking_kinds(MPI_Comm comm, int rank, int size) {
  int peer = size - 1 - rank;
  if (peer == rank) return;
  int in = -1;
  if (rank < peer) {
    OK(MPI_Ssend(&rank, 1, MPI_INT, peer, 6, comm));
    OK(MPI_Recv(&in, 1, MPI_INT, peer, 6, comm, MPI_STATUS_IGNORE));
  } else {
    OK(MPI_Recv(&in, 1, MPI_INT, peer, 6, comm, MPI_STATUS_IGNORE));
    OK(MPI_Ssend(&rank, 1, MPI_INT, peer, 6, comm));
  }
  CHECK(in == peer);
}

static void both_in_one(MPI_Comm comm, int rank, int size) {
  int to = (rank + 1) % size, from = (rank + size - 1) % size, in[2] = {-1, -1};
  MPI_Request request;
  OK(MPI_Isendrecv(&rank, 1, MPI_INT, to, 7, &in[0], 1, MPI_INT, from, 7, comm, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  in[1] = rank;
  OK(MPI_Sendrecv_replace(&in[1], 1, MPI_INT, from, 8, to, 8, comm, MPI_STATUS_IGNORE));
  CHECK(in[0] == from && in[1] == to);
}

static void in_partitions(MPI_Comm comm, int rank, int size) {
  enum { kParts = 4 };
  int to = (rank + 2) % size, from = (rank + size - 2 % size) % size;
  int out[kParts] = {0}, in[kParts];
  MPI_Request requests[2];
  OK(MPI_Psend_init(out, kParts, 1, MPI_INT, to, 9, comm, MPI_INFO_NULL, &requests[0]));
  OK(MPI_Precv_init(in, kParts, 1, MPI_INT, from, 9, comm, MPI_INFO_NULL, &requests[1]));
  for (int round = 0; round < 3; ++round) {
    OK(MPI_Startall(2, requests));
    for (int i = kParts - 1; i >= 0; --i) {
      out[i] = rank * 100 + round * 10 + i;
      OK(MPI_Pready(i, requests[0]));
    }
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < kParts; ++i) CHECK(in[i] == from * 100 + round * 10 + i);
  }
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
}

/* A send that is cancelled while it may still wait is either received or not, never both or
 * neither. */
static void cancelled(MPI_Comm comm, int rank, int size) {
  int to = (rank + 3) % size, from = (rank + size - 3 % size) % size, flag;
  int first = rank, second = rank + 1000, in = -1;
  MPI_Request request;
  MPI_Status status;
  OK(MPI_Issend(&first, 1, MPI_INT, to, 10, comm, &request));
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &flag));
  MPI_Request last;
  OK(MPI_Isend(&second, 1, MPI_INT, to, 11, comm, &last));
  int sent = !flag, expected;
  OK(MPI_Sendrecv(&sent, 1, MPI_INT, to, 12, &expected, 1, MPI_INT, from, 12, comm,
                  MPI_STATUS_IGNORE));
  if (expected) {
    OK(MPI_Recv(&in, 1, MPI_INT, from, 10, comm, MPI_STATUS_IGNORE));
    CHECK(in == from);
  }
  OK(MPI_Recv(&in, 1, MPI_INT, from, 11, comm, MPI_STATUS_IGNORE));
  CHECK(in == from + 1000);
  OK(MPI_Iprobe(from, 10, comm, &flag, MPI_STATUS_IGNORE));
  CHECK(!flag);
  OK(MPI_Wait(&last, MPI_STATUS_IGNORE));
}

/* Everybody sends two messages to everybody: more addresses than are kept, whatever their order. */
static void to_all(MPI_Comm comm, int rank, int size) {
  if (size > 300) return;
  MPI_Request requests[1200];
  int in[600], n = 0, out[600];
  memset(in, -1, sizeof in);
  for (int i = 0; i < size; ++i) {
    int from = (i * 7 + rank) % size;
    if (size % 7 == 0) from = (i + rank) % size;
    OK(MPI_Irecv(&in[2 * from], 1, MPI_INT, from, 13, comm, &requests[n++]));
    OK(MPI_Irecv(&in[2 * from + 1], 1, MPI_INT, from, 13, comm, &requests[n++]));
  }
  for (int k = 0; k < 2; ++k)
    for (int i = 0; i < size; ++i) {
      int to = (i * 5 + rank) % size;
      if (size % 5 == 0) to = (i + rank) % size;
      out[2 * i + k] = rank * 2 + k;
      OK(MPI_Isend(&out[2 * i + k], 1, MPI_INT, to, 13, comm, &requests[n++]));
    }
  OK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2 * size; ++i) CHECK(in[i] == i);
}

/* The communicator is freed while a buffered send of it waits; the group is asked for while sends
 * wait. */
static void freed_and_asked_meanwhile(void) {
  int rank, size, in = -1;
  char buffer[sizeof(int) + MPI_BSEND_OVERHEAD];
  MPI_Comm comm = new_group(0);
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  OK(MPI_Buffer_attach(buffer, sizeof buffer));
  MPI_Request request, sends[2];
  OK(MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, &request));
  OK(MPI_Bsend(&rank, 1, MPI_INT, size - 1 - rank, 1, comm));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(in == size - 1 - rank);
  void* detached;
  int bytes;
  OK(MPI_Buffer_detach(&detached, &bytes));

  comm = new_group(world_rank % 2);
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  int out[2] = {rank, rank + 1}, got[2];
  OK(MPI_Isend(&out[0], 1, MPI_INT, size - 1 - rank, 2, comm, &sends[0]));
  MPI_Group group;
  OK(MPI_Comm_group(comm, &group));
  OK(MPI_Group_free(&group));
  OK(MPI_Isend(&out[1], 1, MPI_INT, size - 1 - rank, 2, comm, &sends[1]));
  for (int i = 0; i < 2; ++i)
    OK(MPI_Recv(&got[i], 1, MPI_INT, size - 1 - rank, 2, comm, MPI_STATUS_IGNORE));
  CHECK(got[0] == size - 1 - rank && got[1] == size - rank);
  OK(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE));
  OK(MPI_Comm_free(&comm));
}

static void run(void (*part)(MPI_Comm, int, int), int color) {
  /* A new group each time: what the one before has learned is of no use. */
  MPI_Comm comm = new_group(color);
  int rank, size;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  part(comm, rank, size);
  OK(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &world_size));
  void (*const parts[])(MPI_Comm, int, int) = {
      sends_return_at_once, all_kinds_in_order, blocking_kinds, both_in_one,
      in_partitions,        cancelled,          to_all};
  for (int colors = 1; colors <= 3; colors += 2)
    for (int i = 0; i < 7; ++i) {
      /* all_kinds_in_order has a barrier of the world in it: all ranks run it */
      run(parts[i], world_rank % colors);
    }
  freed_and_asked_meanwhile();
  return finish();
}
