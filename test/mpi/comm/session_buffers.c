/* A program of sessions alone: MPI_Session_finalize sends what is in the buffer of a communicator
 * that was freed. The buffer may be used for other things as soon as it returns. */
#include <fgmpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kLong = 300 << 10 };

static int rank = -1;
#define CHECK(what)                                                             \
  do {                                                                          \
    if (!(what)) {                                                              \
      fprintf(stderr, "rank %d: %s:%d: %s\n", rank, __FILE__, __LINE__, #what); \
      abort();                                                                  \
    }                                                                           \
  } while (0)
#define OK(call) CHECK((call) == MPI_SUCCESS)

int main(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int size;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  OK(MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
  OK(MPI_Group_free(&group));
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  char* memory = malloc(kLong + MPI_BSEND_OVERHEAD);
  char* data = malloc(kLong);
  memset(data, 1 + rank % 100, kLong);
  if (rank == 0) printf(" No Errors\n");
  if (rank % 2 == 0 && rank + 1 < size) {
    OK(MPI_Comm_attach_buffer(comm, memory, kLong + MPI_BSEND_OVERHEAD));
    OK(MPI_Bsend(data, kLong, MPI_CHAR, rank + 1, 0, comm));
  } else if (rank % 2) {
    OK(MPIX_Usleep(20000));
    OK(MPI_Recv(data, kLong, MPI_CHAR, rank - 1, 0, comm, MPI_STATUS_IGNORE));
    for (int i = 0; i < kLong; ++i) CHECK(data[i] == 1 + (rank - 1) % 100);
  }
  OK(MPI_Comm_free(&comm));
  OK(MPI_Session_finalize(&session));
  memset(memory, 0, kLong);
  free(memory);
  free(data);
  return 0;
}
