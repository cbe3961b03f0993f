/* What the tests of files share: rank and size, the name of a file that is the test's alone,
 * classes of errors. */
#ifndef FGMPI_TEST_FILETEST_H
#define FGMPI_TEST_FILETEST_H

#include <error_class.h>
#include <mpitest.h>
#include <unistd.h>

static int rank, size;
static char name[256];

/* MPI_Init, and the name: the same at all ranks, another one in each job. */
static inline void start(int* argc, char*** argv, const char* test) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int pid = getpid();
  MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(name, sizeof name, "fgmpi_%s_%d", test, pid);
}

/* A call that must fail with an error of this class. */
#define FAILS(call, error) CHECK(class_of(call) == (error))

static inline int count_of(MPI_Status* s, MPI_Datatype type) {
  int n;
  OK(MPI_Get_count(s, type, &n));
  return n;
}

#endif
