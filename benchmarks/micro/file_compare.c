/* Files, timed: what file_compare.py compiles for this library and for another MPI (ROMIO), and
 * runs beside each other.
 *
 *   file_compare [-m MIB] [-r REPEATS] FOLDER PATTERN...
 *
 * A line each: "PATTERN SECONDS BYTES", the best of the repeats, from a barrier to the last rank's
 * end; closing the file is part of a write. Patterns:
 *   segmented   each rank its own part of the file, by 1 MiB (or less) at a time, alone; _read:
 *               back
 *   strided     the same bytes, transfers of 64 KiB (or less) in turn among ranks; _read; _all:
 *               collectively
 *   sparse      each rank every size-th record of 64 bytes, through a view, alone; _all:
 *               collectively; _read
 *   array       a cube of doubles in blocks (MPI_Dims_create), collectively; _read
 *   records     64 records of 100 bytes a rank, through the shared pointer
 *   open        opens one file; closing it is not counted. close: the other way round
 *   bound       (rank 0 alone) one memcpy and one write of the bytes
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, repeats = 3;
static long total = 64L << 20;
static char name[512];
static char* data;

static void check(int code, const char* what) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  if (code == MPI_SUCCESS) return;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "%s: %s\n", what, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define OK(call) check(call, #call)

static MPI_File open_file(int mode) {
  MPI_File f;
  OK(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &f));
  return f;
}

static long smaller(long a, long b) { return a < b ? a : b; }

static long segmented(int reads) {
  const long mine = total / size, step = smaller(mine, 1 << 20);
  MPI_File f = open_file(MPI_MODE_CREATE | MPI_MODE_RDWR);
  for (long at = 0; at + step <= mine; at += step)
    if (reads)
      OK(MPI_File_read_at(f, rank * mine + at, data + at, (int)step, MPI_BYTE, MPI_STATUS_IGNORE));
    else
      OK(MPI_File_write_at(f, rank * mine + at, data + at, (int)step, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_File_close(&f));
  return mine / step * step * size;
}

static long strided(int reads, int all) {
  const long mine = total / size, step = smaller(mine, 1 << 16);
  MPI_File f = open_file(MPI_MODE_CREATE | MPI_MODE_RDWR);
  for (long i = 0; i < mine / step; i++) {
    const MPI_Offset at = (i * size + rank) * step;
    char* p = data + i * step;
    const int n = (int)step;
    if (all)
      OK(reads ? MPI_File_read_at_all(f, at, p, n, MPI_BYTE, MPI_STATUS_IGNORE)
               : MPI_File_write_at_all(f, at, p, n, MPI_BYTE, MPI_STATUS_IGNORE));
    else
      OK(reads ? MPI_File_read_at(f, at, p, n, MPI_BYTE, MPI_STATUS_IGNORE)
               : MPI_File_write_at(f, at, p, n, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  OK(MPI_File_close(&f));
  return mine / step * step * size;
}

static long sparse(int reads, int all) {
  const long mine = smaller(total, 32L << 20) / size, count = mine / 64;
  MPI_Datatype every;
  MPI_File f = open_file(MPI_MODE_CREATE | MPI_MODE_RDWR);
  OK(MPI_Type_vector((int)count, 64, 64 * size, MPI_BYTE, &every));
  OK(MPI_Type_commit(&every));
  OK(MPI_File_set_view(f, 64L * rank, MPI_BYTE, every, "native", MPI_INFO_NULL));
  const int n = (int)(64 * count);
  if (all)
    OK(reads ? MPI_File_read_all(f, data, n, MPI_BYTE, MPI_STATUS_IGNORE)
             : MPI_File_write_all(f, data, n, MPI_BYTE, MPI_STATUS_IGNORE));
  else
    OK(reads ? MPI_File_read(f, data, n, MPI_BYTE, MPI_STATUS_IGNORE)
             : MPI_File_write(f, data, n, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_Type_free(&every));
  OK(MPI_File_close(&f));
  return 64 * count * size;
}

static long array(int reads) {
  int grid[3] = {0, 0, 0}, sizes[3], parts[3], starts[3], edge = 1;
  MPI_Datatype block;
  MPI_Dims_create(size, 3, grid);
  const long most = total / size / 8;
  while ((long)(edge + 1) * (edge + 1) * (edge + 1) <= most) ++edge;
  int at = rank;
  for (int d = 2; d >= 0; d--) {
    sizes[d] = edge * grid[d];
    parts[d] = edge;
    starts[d] = at % grid[d] * edge;
    at /= grid[d];
  }
  MPI_File f = open_file(MPI_MODE_CREATE | MPI_MODE_RDWR);
  OK(MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &block));
  OK(MPI_Type_commit(&block));
  OK(MPI_File_set_view(f, 0, MPI_DOUBLE, block, "native", MPI_INFO_NULL));
  const int n = edge * edge * edge;
  OK(reads ? MPI_File_read_all(f, data, n, MPI_DOUBLE, MPI_STATUS_IGNORE)
           : MPI_File_write_all(f, data, n, MPI_DOUBLE, MPI_STATUS_IGNORE));
  OK(MPI_Type_free(&block));
  OK(MPI_File_close(&f));
  return 8L * n * size;
}

static long records(void) {
  MPI_File f = open_file(MPI_MODE_CREATE | MPI_MODE_RDWR);
  for (int i = 0; i < 64; i++) OK(MPI_File_write_shared(f, data, 100, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_File_close(&f));
  return 6400L * size;
}

static double not_counted; /* seconds */

static long open_close(int opens) {
  double begin = MPI_Wtime();
  MPI_File f = open_file(MPI_MODE_CREATE | MPI_MODE_RDWR);
  if (opens) begin = MPI_Wtime();
  if (!opens) {
    MPI_Barrier(MPI_COMM_WORLD);
    not_counted = MPI_Wtime() - begin;
  }
  OK(MPI_File_close(&f));
  if (opens) not_counted = MPI_Wtime() - begin;
  return 0;
}

static long bound(void) {
  if (rank != 0) return total;
  char* copy = malloc((size_t)total);
  char* from = malloc((size_t)total);
  memset(from, 1, (size_t)total);
  memset(copy, 2, (size_t)total);
  const double begin = MPI_Wtime();
  memcpy(copy, from, (size_t)total);
  const double copied = MPI_Wtime();
  const int fd = open(name, O_CREAT | O_RDWR, 0666);
  for (long at = 0; at < total;) at += write(fd, copy + at, (size_t)(total - at));
  close(fd);
  printf("bound_seconds %.6f %.6f\n", copied - begin, MPI_Wtime() - begin);
  free(copy);
  free(from);
  return total;
}

static long run(const char* pattern) {
  const int reads = strstr(pattern, "_read") != NULL, all = strstr(pattern, "_all") != NULL;
  if (!strncmp(pattern, "segmented", 9)) return segmented(reads);
  if (!strncmp(pattern, "strided", 7)) return strided(reads, all);
  if (!strncmp(pattern, "sparse", 6)) return sparse(reads, all);
  if (!strncmp(pattern, "array", 5)) return array(reads);
  if (!strcmp(pattern, "records")) return records();
  if (!strcmp(pattern, "open")) return open_close(1);
  if (!strcmp(pattern, "close")) return open_close(0);
  if (!strcmp(pattern, "bound")) return bound();
  fprintf(stderr, "file_compare: unknown pattern %s\n", pattern);
  MPI_Abort(MPI_COMM_WORLD, 2);
  return 0;
}

static void measure(const char* folder, const char* pattern) {
  const char* end = strchr(pattern, '_');
  snprintf(name, sizeof name, "%s/file_compare_%.*s", folder,
           end ? (int)(end - pattern) : (int)strlen(pattern), pattern);
  const int fresh = !strstr(pattern, "_read");
  double best = 1e9;
  long bytes = 0;
  for (int i = 0; i < repeats; i++) {
    if (rank == 0 && fresh) unlink(name);
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = MPI_Wtime(), slowest;
    not_counted = 0;
    bytes = run(pattern);
    seconds = MPI_Wtime() - seconds - not_counted;
    MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (slowest < best) best = slowest;
  }
  if (rank == 0) {
    printf("%s %.6f %ld\n", pattern, best, bytes);
    fflush(stdout);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int i = 1;
  for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
    if (argv[i][1] == 'm') total = atol(argv[i + 1]) << 20;
    if (argv[i][1] == 'r') repeats = atoi(argv[i + 1]);
  }
  const char* folder = argv[i];
  data = malloc((size_t)(total / size + 8));
  memset(data, rank, (size_t)(total / size + 8));
  for (++i; i < argc; i++) measure(folder, argv[i]);
  MPI_Finalize();
  return 0;
}
