/* Runs programs of random_programs.py and writes down each rank's clock after each step.
 *   random_programs FILE FOLDER
 * A line of FILE is "RANK STEP ARGUMENT..."; each rank does the steps of its lines, and writes a line "CLOCK" (ns) for each to
 * FOLDER/RANK. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kLongest = 10000, kRequests = 64 };
static char out[kLongest], in[kRequests][kLongest];
static MPI_Request requests[kRequests];
static int open_requests;

static long now(void) { return (long)(MPI_Wtime() * 1e9 + 0.5); }

static void pass(long ns) {
  const struct timespec t = {ns / 1000000000, ns % 1000000000};
  nanosleep(&t, NULL);
}
static int source(int rank) { return rank < 0 ? MPI_ANY_SOURCE : rank; }

static MPI_Request* next_request(void) { return &requests[open_requests++]; }

/* Completes one of the open requests; the last one takes its place. Returns its number before. */
static int wait_any(void) {
  int i;
  MPI_Waitany(open_requests, requests, &i, MPI_STATUS_IGNORE);
  return i;
}

static void step(const char* what, int a, int b, int c) {
  const MPI_Comm w = MPI_COMM_WORLD;
  static long base;
  if (strcmp(what, "begin") == 0) {
    base += 100000000;
    pass(base - now());
    open_requests = 0;
  }
  if (strcmp(what, "sleep") == 0) pass(a);
  if (strcmp(what, "send") == 0) MPI_Send(out, c, MPI_CHAR, a, b, w);
  if (strcmp(what, "ssend") == 0) MPI_Ssend(out, c, MPI_CHAR, a, b, w);
  if (strcmp(what, "isend") == 0) MPI_Isend(out, c, MPI_CHAR, a, b, w, next_request());
  if (strcmp(what, "recv") == 0)
    MPI_Recv(in[0], kLongest, MPI_CHAR, source(a), b, w, MPI_STATUS_IGNORE);
  if (strcmp(what, "irecv") == 0) {
    char* const to = in[open_requests];
    MPI_Irecv(to, kLongest, MPI_CHAR, source(a), b, w, next_request());
  }
  if (strcmp(what, "probe") == 0) MPI_Probe(source(a), b, w, MPI_STATUS_IGNORE);
  if (strcmp(what, "waitany") == 0) printf("%d", wait_any());
  if (strcmp(what, "waitall") == 0) {
    MPI_Waitall(open_requests, requests, MPI_STATUSES_IGNORE);
    open_requests = 0;
  }
  if (strcmp(what, "barrier") == 0) MPI_Barrier(w);
  if (strcmp(what, "bcast") == 0) MPI_Bcast(in[0], b, MPI_CHAR, a, w);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, who, a, b, c;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char path[4096], what[16], line[256];
  snprintf(path, sizeof path, "%s/%d", argv[2], rank);
  FILE *const file = fopen(argv[1], "r"), *const clocks = fopen(path, "w");
  while (fgets(line, sizeof line, file)) {
    a = b = c = 0;
    if (sscanf(line, "%d %15s %d %d %d", &who, what, &a, &b, &c) < 2 || who != rank) continue;
    step(what, a, b, c);
    fprintf(clocks, "%ld\n", now());
  }
  fclose(file);
  fclose(clocks);
  MPI_Finalize();
  return 0;
}
