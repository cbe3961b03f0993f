/* Cost of connections with other jobs.
 *
 *   mpiexec -n 1 connect_cost cycles N      accepts and connects N times with a process that it has
 *                                           spawned, and disconnects
 *   mpiexec -n 1 connect_cost peers P       spawns P processes: memory and descriptors that one of
 *                                           them costs here
 *
 * cycles: connections a second, and resident memory, descriptors and files in the folders of
 * temporary files before and after, where "before" is after a tenth of them. */
#include <dirent.h>
#include <malloc.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Usage {
  long kib, heap;
  int descriptors, files;
};

static int entries(const char* folder) {
  int n = 0;
  DIR* d = opendir(folder);
  if (!d) return 0;
  while (readdir(d)) ++n;
  closedir(d);
  return n;
}

static struct Usage usage(void) {
  long pages = 0, ignored;
  FILE* file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &ignored, &pages) != 2) pages = 0;
  if (file) fclose(file);
  const struct Usage now = {pages * (sysconf(_SC_PAGESIZE) / 1024), (long)mallinfo2().uordblks,
                            entries("/proc/self/fd"), entries("/tmp") + entries("/dev/shm")};
  return now;
}

static void connect_again(MPI_Comm between, int accepts, int times) {
  char port[MPI_MAX_PORT_NAME];
  MPI_Comm inter;
  if (accepts) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 0, between);
  } else {
    MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 0, between, MPI_STATUS_IGNORE);
  }
  /* Without another communicator each connection and each disconnection is whole. */
  MPI_Comm_disconnect(&between);
  const int first = times / 10;
  struct Usage before = usage();
  double start = MPI_Wtime();
  for (int k = 0; k < times; ++k) {
    if (k == first) {
      before = usage();
      start = MPI_Wtime();
    }
    if (accepts)
      MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    else
      MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    MPI_Comm_disconnect(&inter);
  }
  const double seconds = MPI_Wtime() - start;
  const struct Usage after = usage();
  if (!accepts) return;
  MPI_Close_port(port);
  printf(
      "%d cycles: %.0f a second; resident %ld -> %ld KiB, heap %ld -> %ld bytes, descriptors %d -> "
      "%d, files %d -> %d\n",
      times, (times - first) / seconds, before.kib, after.kib, before.heap, after.heap,
      before.descriptors, after.descriptors, before.files, after.files);
}

int main(int argc, char** argv) {
  MPI_Comm parent, children;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (argc < 3) {
    fprintf(stderr, "usage: %s cycles N | peers P\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const int number = atoi(argv[2]), cycles = strcmp(argv[1], "cycles") == 0;
  if (parent != MPI_COMM_NULL) {
    if (cycles) {
      connect_again(parent, 0, number);
    } else {
      MPI_Barrier(parent); /* all are connected */
      MPI_Barrier(parent); /* that has been measured */
      MPI_Comm_disconnect(&parent);
    }
    MPI_Finalize();
    return 0;
  }
  if (cycles) {
    MPI_Comm_spawn(argv[0], argv + 1, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children,
                   MPI_ERRCODES_IGNORE);
    connect_again(children, 1, number);
  } else {
    /* The first connection brings what is there once. */
    for (int k = 0; k < 2; ++k) {
      const struct Usage before = usage();
      MPI_Comm_spawn(argv[0], argv + 1, k == 0 ? 1 : number, MPI_INFO_NULL, 0, MPI_COMM_SELF,
                     &children, MPI_ERRCODES_IGNORE);
      MPI_Barrier(children);
      const struct Usage after = usage();
      if (k == 1)
        printf("%d processes: %.0f bytes of heap and %.1f descriptors each\n", number,
               (double)(after.heap - before.heap) / number,
               (double)(after.descriptors - before.descriptors) / number);
      MPI_Barrier(children);
      MPI_Comm_disconnect(&children);
    }
  }
  MPI_Finalize();
  return 0;
}
