/* For reports.sh: a file that is not closed, an error that ends the job, a pipe between two ranks
 * of a process. */
#include <fcntl.h>
#include <mpitest.h>
#include <string.h>
#include <unistd.h>

static void through_a_pipe(int rank) {
  MPI_File f;
  MPI_Status s;
  int v = 0, end = -1;
  if (rank == 1) end = open("pipe", O_RDWR);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    OK(MPI_File_open(MPI_COMM_SELF, "pipe", MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL,
                     &f));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_read_shared(f, &v, sizeof v, MPI_BYTE, &s));
    printf("the pipe said %d\n", v);
    OK(MPI_File_close(&f));
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    v = 42;
    usleep(20000);
    CHECK(write(end, &v, sizeof v) == sizeof v);
  }
}

int main(int argc, char** argv) {
  MPI_File f;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!strcmp(argv[1], "pipe")) {
    through_a_pipe(rank);
  } else {
    if (!strcmp(argv[1], "fatal")) MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    OK(MPI_File_open(MPI_COMM_WORLD, "left.dat", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                     &f));
    if (!strcmp(argv[1], "fatal") && rank == 0) {
      MPI_File_set_errhandler(f, MPI_ERRORS_ARE_FATAL);
      MPI_File_seek(f, 0, 99);
    }
  }
  MPI_Finalize();
  return 0;
}
