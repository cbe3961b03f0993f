// What mpiexec -record costs ranks that read files, with -record-inputs and without: each rank reads the file to its end, and once
// more, by read() of 64 KiB. Prints the process's time on the processor for each byte: of the first rank's first time, when nothing
// is kept yet, and of all other times.
//
//   mpiexec [-record /tmp/inputs.rec [-record-inputs]] -ranks 100 bin/rewind_inputs FILE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double processor_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Reads the file; returns nanoseconds a byte.
static double read_file(const char* path) {
  static char buffer[64 << 10];
  const double start = processor_time();
  const int fd = open(path, O_RDONLY);
  double bytes = 0;
  for (ssize_t n; fd >= 0 && (n = read(fd, buffer, sizeof buffer)) > 0;) bytes += (double)n;
  if (fd >= 0) close(fd);
  if (bytes == 0) {
    fprintf(stderr, "%s cannot be read\n", path);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return (processor_time() - start) * 1e9 / bytes;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 2) MPI_Abort(MPI_COMM_WORLD, 1);
  const double first = rank == 0 ? read_file(argv[1]) : 0;
  MPI_Barrier(MPI_COMM_WORLD);
  double again = read_file(argv[1]), sum = 0;
  MPI_Reduce(&again, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.3f ns a byte the first time, %.3f again\n", first, sum / size);
  MPI_Finalize();
  return 0;
}
