/* Communication of every kind while processes are killed from outside at any moment: what fails is
   revoked, shrunk and goes on with who is left. Ends after so many rounds, and writes the process
   id of each process into a folder first. Each rank that comes to the end says so. */
#include <fgmpi.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int work(MPI_Comm comm, int round) {
  int rank, size, code = MPI_SUCCESS, sum = 0, one = 1, got = -1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Request requests[2];
  static char large[2][200000];
  switch (round % 7) {
    case 0:
      code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
      if (code == MPI_SUCCESS && sum != size) MPI_Abort(MPI_COMM_WORLD, 3);
      return code;
    case 1:
      return MPI_Sendrecv(&rank, 1, MPI_INT, next, 1, &got, 1, MPI_INT, before, 1, comm,
                          MPI_STATUS_IGNORE);
    case 2: {
      char* all = malloc((size_t)size * 100);
      code = MPI_Allgather(large[0], 100, MPI_CHAR, all, 100, MPI_CHAR, comm);
      free(all);
      return code;
    }
    case 3:
      code = MPI_Ibarrier(comm, requests);
      return code == MPI_SUCCESS ? MPI_Wait(requests, MPI_STATUS_IGNORE) : code;
    case 4:
      code = MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 4, comm, requests);
      if (code != MPI_SUCCESS) return code;
      code = MPI_Send(&rank, 1, MPI_INT, next, 4, comm);
      if (code == MPI_SUCCESS) code = MPI_Wait(requests, MPI_STATUS_IGNORE);
      if (requests[0] != MPI_REQUEST_NULL) {
        MPI_Cancel(requests);
        MPI_Request_free(requests);
      }
      return code;
    case 5:
      if ((code = MPI_Irecv(large[0], sizeof large[0], MPI_CHAR, before, 5, comm, requests)))
        return code;
      if ((code = MPI_Isend(large[1], sizeof large[1], MPI_CHAR, next, 5, comm, requests + 1))) {
        MPI_Cancel(requests);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
        return code;
      }
      return MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    default: {
      MPI_Comm made = MPI_COMM_NULL;
      code = MPI_Comm_split(comm, rank % 2, rank, &made);
      if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
      return code;
    }
  }
}

int main(int argc, char** argv) {
  int rank, size, first, world_size, shrinks = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm comm;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPIX_Get_collocated_startrank(&first);
  const int rounds = atoi(argv[1]);
  if (first == rank) {
    char name[300], ready[300];
    snprintf(name, sizeof name, "%s/%d.new", argv[2], rank);
    snprintf(ready, sizeof ready, "%s/%d", argv[2], rank);
    FILE* file = fopen(name, "w");
    fprintf(file, "%d\n", getpid());
    fclose(file);
    rename(name, ready);
  }
  for (int round = 0; round < rounds; ++round) {
    int fine = work(comm, round) == MPI_SUCCESS;
    if (!fine) MPIX_Comm_revoke(comm);
    const int agreed = MPIX_Comm_agree(comm, &fine);
    if (fine && agreed == MPI_SUCCESS) continue;
    if (fine)
      MPIX_Comm_revoke(comm); /* somebody failed during the agreement: all have the same result */
    MPI_Comm next;
    int code = MPIX_Comm_shrink(comm, &next);
    if (code != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 5);
    MPI_Comm_set_errhandler(next, MPI_ERRORS_RETURN);
    MPI_Comm_free(&comm);
    comm = next;
    ++shrinks;
  }
  MPI_Comm_size(comm, &size);
  /* All say it: any of them may be killed before it has. */
  printf("%d of %d ranks are left after %d rounds, %d shrinks\n", size, world_size, rounds,
         shrinks);
  fflush(stdout);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
