/* A receive is cancelled while the message that it would take is under way: it is sent to a later receive, whole and in its order.
 * On the machine of machine.json, without computing; ranks 0 and 2 are on two nodes. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { kWords = 1000, kTag = 5 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, wrong = 0, words[kWords], other[kWords];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Recv(NULL, 0, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int tag = kTag; tag < kTag + 3; ++tag) {
      for (int i = 0; i < kWords; ++i) words[i] = tag * i;
      MPI_Send(words, kWords, MPI_INT, 2, tag, MPI_COMM_WORLD);
    }
  } else if (rank == 2) {
    /* The token is there after 1.5 us, and the answer reaches this node after 2.7 us. */
    const struct timespec part = {0, 2000};
    MPI_Request requests[2];
    MPI_Status status;
    int cancelled;
    MPI_Irecv(other, kWords, MPI_INT, 0, kTag + 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(words, kWords, MPI_INT, 0, kTag, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
    nanosleep(&part, NULL);
    for (int i = 1; i >= 0; --i) {
      MPI_Cancel(&requests[i]);
      MPI_Wait(&requests[i], &status);
      MPI_Test_cancelled(&status, &cancelled);
      if (!cancelled) ++wrong;
    }
    for (int tag = kTag; tag < kTag + 3; ++tag) {
      MPI_Recv(words, kWords, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      if (status.MPI_TAG != tag) ++wrong;
      for (int i = 0; i < kWords; ++i)
        if (words[i] != tag * i) ++wrong;
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong\n", wrong);
  MPI_Finalize();
  return wrong != 0;
}
