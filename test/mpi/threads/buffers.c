/* Buffered sends of several threads of a rank into one buffer, which another thread flushes and
 * detaches: a flush ends, although further messages come. */
#include <fgmpi.h>
#include <stdatomic.h>

#include "threads.h"

enum { kSenders = 3, kMessages = 40, kLong = 70000 };

static int rank, size, right, left;
static MPI_Comm comm;
static atomic_int sending;

static void* put(void* argument) {
  const int tag = *(int*)argument;
  int* data = calloc(kLong, 1);
  for (int i = 0; i < kMessages; ++i) {
    data[0] = i;
    data[kLong / 4 - 1] = rank;
    OK(MPI_Bsend(data, i % 3 ? kLong / 4 : 1, MPI_INT, right, tag, comm));
  }
  free(data);
  --sending;
  return NULL;
}

static void* take(void* argument) {
  const int tag = *(int*)argument;
  int* data = calloc(kLong, 1);
  for (int i = 0; i < kMessages; ++i) {
    OK(MPI_Recv(data, kLong / 4, MPI_INT, left, tag, comm, MPI_STATUS_IGNORE));
    CHECK(data[0] == i && (i % 3 == 0 || data[kLong / 4 - 1] == left));
  }
  free(data);
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0));
  pthread_t senders[kSenders], receivers[kSenders];
  int tags[kSenders];
  sending = kSenders;
  for (int i = 0; i < kSenders; ++i) {
    tags[i] = i;
    CHECK(!pthread_create(&senders[i], NULL, put, &tags[i]));
    CHECK(!pthread_create(&receivers[i], NULL, take, &tags[i]));
  }
  while (sending) {
    MPI_Request requests[2];
    OK(MPI_Comm_iflush_buffer(comm, &requests[0]));
    OK(MPI_Comm_iflush_buffer(comm, &requests[1]));
    OK(MPI_Comm_flush_buffer(comm));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  }
  void* address;
  int bytes;
  OK(MPI_Comm_detach_buffer(comm, &address, &bytes));
  CHECK(address == MPI_BUFFER_AUTOMATIC);
  for (int i = 0; i < kSenders; ++i) {
    CHECK(!pthread_join(senders[i], NULL));
    CHECK(!pthread_join(receivers[i], NULL));
  }
  OK(MPI_Comm_free(&comm));
  return finish();
}
