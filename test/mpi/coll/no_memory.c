/* When memory runs out, the call that needed it returns an error; all other calls still work.
 * Address space is limited by the program itself, once MPI runs. */
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "error_class.h"
#include "mpitest.h"

static struct rlimit unlimited;

static void limit_to(long more_bytes) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (fscanf(file, "%ld", &pages) != 1) pages = 0;
  fclose(file);
  struct rlimit limit = unlimited;
  limit.rlim_cur = (rlim_t)pages * 4096 + (rlim_t)more_bytes;
  setrlimit(RLIMIT_AS, &limit);
}

static void unlimit(void) { setrlimit(RLIMIT_AS, &unlimited); }

/* Nonblocking barriers run on coroutines: with no room for more of them, the call of the member
 * that comes last fails, and it can come again once others are done. */
static void barriers(MPI_Comm comm) {
  enum { kMost = 20000 };
  static MPI_Request r[kMost];
  int rank, started = 0, refused = 0;
  MPI_Comm_rank(comm, &rank);
  if (rank == 1) OK(MPI_Recv(NULL, 0, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE));
  if (rank == 1) limit_to(48 << 20);
  for (int i = 0; i < kMost; i++) {
    int code = MPI_Ibarrier(comm, &r[i]);
    if (code != MPI_SUCCESS) {
      CHECK(rank == 1);
      CHECK(class_of(code) == MPI_ERR_NO_MEM);
      refused++;
      OK(MPI_Waitall(i - started, r + started, MPI_STATUSES_IGNORE));
      started = i--;
    }
  }
  if (rank == 0) OK(MPI_Send(NULL, 0, MPI_INT, 1, 1, comm));
  OK(MPI_Waitall(kMost - started, r + started, MPI_STATUSES_IGNORE));
  if (rank == 1) {
    unlimit();
    CHECK(refused > 0);
  }
  OK(MPI_Barrier(comm));
}

/* A message of 64 MiB with gaps, which is laid out in pieces: 8 MiB are enough. */
static void pieces(MPI_Comm comm, int from, int to) {
  enum { kBlocks = 8 << 20 };
  int rank, code;
  MPI_Datatype gaps;
  MPI_Comm_rank(comm, &rank);
  MPI_Status status;
  if (rank == to) {
    double* room = calloc(2 * kBlocks, sizeof(double));
    OK(MPI_Type_vector(kBlocks, 1, 2, MPI_DOUBLE, &gaps));
    OK(MPI_Type_commit(&gaps));
    OK(MPI_Recv(room, 1, gaps, from, 1, comm, &status));
    CHECK(room[2] == 1 && room[3] == 0 && room[2 * kBlocks - 2] == kBlocks - 1);
    memset(room, 0, 2 * kBlocks * sizeof(double));
    limit_to(8 << 20);
    code = MPI_Recv(room, 1, gaps, from, 2, comm, &status);
    unlimit();
    CHECK(code == MPI_SUCCESS && status.MPI_SOURCE == from && status.MPI_TAG == 2);
    CHECK(room[2] == 1 && room[3] == 0 && room[2 * kBlocks - 2] == kBlocks - 1);
    OK(MPI_Type_free(&gaps));
    free(room);
  } else if (rank == from) {
    double* data = malloc(kBlocks * sizeof(double));
    for (int i = 0; i < kBlocks; i++) data[i] = i;
    for (int tag = 1; tag <= 2; tag++) OK(MPI_Send(data, kBlocks, MPI_DOUBLE, to, tag, comm));
    free(data);
  }
  OK(MPI_Barrier(comm));
}

/* A broadcast of 64 MiB of columns, which goes in pieces: 24 MiB are enough. */
static void columns(void) {
  enum { kRows = 1 << 20, kColumns = 16, kTaken = 8 };
  int rank;
  MPI_Datatype taken;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double* matrix = calloc((size_t)kRows * kColumns, sizeof(double));
  OK(MPI_Type_vector(kRows, kTaken, kColumns, MPI_DOUBLE, &taken));
  OK(MPI_Type_commit(&taken));
  if (rank == 0)
    for (long i = 0; i < (long)kRows * kColumns; i++) matrix[i] = (double)i;
  for (int round = 0; round < 2; round++) {
    if (rank > 0) memset(matrix, 0, (size_t)kRows * kColumns * sizeof(double));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (round == 1) limit_to(24 << 20);
    const int code = MPI_Bcast(matrix, 1, taken, 0, MPI_COMM_WORLD);
    unlimit();
    CHECK(code == MPI_SUCCESS);
    for (long i = 0; rank > 0 && i < kRows; i++) {
      CHECK(matrix[i * kColumns] == (double)(i * kColumns));
      CHECK(matrix[i * kColumns + kTaken - 1] == (double)(i * kColumns + kTaken - 1));
      CHECK(matrix[i * kColumns + kTaken] == 0);
    }
  }
  OK(MPI_Type_free(&taken));
  free(matrix);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Comm pair;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  getrlimit(RLIMIT_AS, &unlimited);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair));
  OK(MPI_Comm_set_errhandler(pair, MPI_ERRORS_RETURN));
  if (argc > 1 && !strcmp(argv[1], "barriers")) barriers(pair);
  if (argc > 1 && !strcmp(argv[1], "pieces")) pieces(MPI_COMM_WORLD, 0, size - 1);
  if (argc > 1 && !strcmp(argv[1], "columns")) columns();
  OK(MPI_Comm_free(&pair));
  return finish();
}
