/* Threads of a rank spawn at once: each on a communicator of its own over all ranks, then each of
 * the first ranks' threads on MPI_COMM_SELF; threads of one rank accept at ports at which those of
 * its neighbour connect (MPI-4.0 sections 11.6 and 11.8). Children use their intercommunicators in
 * threads, too. */
#include "../dynamic/exercise.h"
#include "threads.h"

enum { kThreads = 3, kSpawners = 2 };

static int rank, size;
static char* program;
static MPI_Comm comms[kThreads];

static void spawn_on(MPI_Comm comm, int maxprocs, const char* nfg) {
  MPI_Comm children, merged;
  MPI_Info info;
  int codes[4] = {-1, -1, -1, -1}, own, all, ranks;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "nfg", nfg));
  OK(MPI_Comm_spawn(program, MPI_ARGV_NULL, maxprocs, info, 0, comm, &children, codes));
  for (int i = 0; i < maxprocs; ++i) CHECK(codes[i] == MPI_SUCCESS);
  exercise(children, 0);
  OK(MPI_Intercomm_merge(children, 0, &merged));
  OK(MPI_Comm_size(comm, &own));
  OK(MPI_Comm_size(merged, &all));
  CHECK(all == own + maxprocs);
  OK(MPI_Allreduce(&own, &ranks, 1, MPI_INT, MPI_MAX, merged));
  CHECK(ranks == own);
  OK(MPI_Comm_free(&merged));
  OK(MPI_Comm_disconnect(&children));
  OK(MPI_Info_free(&info));
}

static void on_all(int thread) { spawn_on(comms[thread], 1 + thread % 2, thread % 2 ? "2" : "1"); }

static void on_self(int thread) { spawn_on(MPI_COMM_SELF, 2 - thread % 2, "1"); }

/* Each thread of an even rank meets the same thread of the next rank at a port. */
static char ports[kMostThreads][MPI_MAX_PORT_NAME];
static void at_ports(int thread) {
  MPI_Comm other;
  int out = 100 * rank + thread, in = -1;
  if (rank % 2 == 0) {
    OK(MPI_Comm_accept(ports[thread], MPI_INFO_NULL, 0, MPI_COMM_SELF, &other));
  } else {
    OK(MPI_Comm_connect(ports[thread], MPI_INFO_NULL, 0, MPI_COMM_SELF, &other));
  }
  OK(MPI_Sendrecv(&out, 1, MPI_INT, 0, 7, &in, 1, MPI_INT, 0, 7, other, MPI_STATUS_IGNORE));
  CHECK(in == 100 * (rank ^ 1) + thread);
  OK(MPI_Comm_disconnect(&other));
}

static MPI_Comm parent;
static void child(int thread) {
  MPI_Comm merged;
  int own = 0, ranks;
  (void)thread;
  exercise(parent, 1);
  OK(MPI_Intercomm_merge(parent, 1, &merged));
  OK(MPI_Allreduce(&own, &ranks, 1, MPI_INT, MPI_MAX, merged));
  OK(MPI_Comm_free(&merged));
}

int main(int argc, char** argv) {
  init_threads(&argc, &argv);
  program = argv[0];
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_get_parent(&parent));
  if (parent != MPI_COMM_NULL) {
    run_threads(1, child);
    OK(MPI_Comm_disconnect(&parent));
    OK(MPI_Finalize());
    return 0;
  }
  for (int t = 0; t < kThreads; ++t) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]));
  run_threads(kThreads, on_all);
  if (rank < kSpawners) run_threads(kThreads, on_self);
  const int partner = rank ^ 1;
  for (int threads = 1; partner < size && threads <= kMostThreads; threads *= 2) {
    const int bytes = threads * MPI_MAX_PORT_NAME;
    for (int t = 0; rank % 2 == 0 && t < threads; ++t) OK(MPI_Open_port(MPI_INFO_NULL, ports[t]));
    if (rank % 2 == 0)
      OK(MPI_Send(ports, bytes, MPI_CHAR, partner, 9, MPI_COMM_WORLD));
    else
      OK(MPI_Recv(ports, bytes, MPI_CHAR, partner, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    run_threads(threads, at_ports);
    for (int t = 0; rank % 2 == 0 && t < threads; ++t) OK(MPI_Close_port(ports[t]));
  }
  for (int t = 0; t < kThreads; ++t) OK(MPI_Comm_free(&comms[t]));
  return finish();
}
