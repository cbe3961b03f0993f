/* FGMPI_HEAP=rank: programs that join running processes have heaps of their own, which are given back when they end, with
 * what their streams hold written. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kChildren = 4, kRounds = 6, kBytes = 8 << 20 };

static int fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}

static long resident_kib(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%*d %ld", &pages) != 1) exit(2);
  fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static int run_child(MPI_Comm parent, const char* path) {
  char name[200];
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* block = malloc(kBytes);
  memset(block, 1, kBytes);
  for (int i = 0; i < 1000; ++i) memset(malloc(500), 2, 500);
  uintptr_t place = (uintptr_t)block;
  MPI_Send(&place, sizeof place, MPI_BYTE, 0, 0, parent);
  snprintf(name, sizeof name, "%s-%d", path, rank);
  FILE* left = fopen(name, "w");
  if (!left) return fail("fopen");
  fprintf(left, "child %d\n", rank);
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return 0; /* neither the blocks nor the stream are given back */
}

static void check_file(const char* path, int child) {
  char name[200], line[100] = "", wanted[100];
  snprintf(name, sizeof name, "%s-%d", path, child);
  snprintf(wanted, sizeof wanted, "child %d\n", child);
  for (int tries = 0; tries < 500; ++tries) {
    FILE* file = fopen(name, "r");
    const int whole = file && fgets(line, sizeof line, file) && !strcmp(line, wanted);
    if (file) fclose(file);
    if (whole) {
      remove(name);
      return;
    }
    usleep(10000); /* lets children run to their ends */
  }
  fail("a stream that a child has left open was not written");
}

int main(int argc, char** argv) {
  MPI_Comm parent, children;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) return run_child(parent, argv[1]);
  const int in_slots = getenv("FGMPI_HEAP") && !strcmp(getenv("FGMPI_HEAP"), "rank");
  char path[100];
  snprintf(path, sizeof path, "/tmp/fgmpi-spawned-%d", (int)getpid());
  char* arguments[] = {path, NULL};
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "fgmpi_where", "here");
  long before = 0;
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm_spawn(argv[0], arguments, kChildren, info, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
    for (int child = 0; rank == 0 && child < kChildren; ++child) {
      uintptr_t place;
      MPI_Recv(&place, sizeof place, MPI_BYTE, child, 0, children, MPI_STATUS_IGNORE);
      const int has_slot = place >> 44 >= 1 && place >> 40 < 80;
      if (in_slots != has_slot) return fail("a child's block is elsewhere");
    }
    MPI_Comm_disconnect(&children);
    for (int child = 0; rank == 0 && child < kChildren; ++child) check_file(path, child);
    MPI_Barrier(MPI_COMM_WORLD);
    if (round == 1) before = resident_kib();
  }
  /* Without heaps of their own, what children have not freed is lost: more than this each round. */
  long after = 0;
  for (int tries = 0; in_slots && tries < 500; ++tries) {
    after = resident_kib();
    if (after - before < kBytes / 1024) break;
    usleep(10000);
  }
  if (in_slots && after - before >= kBytes / 1024) {
    fprintf(stderr, "%ld KiB, then %ld\n", before, after);
    return fail("the memory of children is not given back");
  }
  MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}
