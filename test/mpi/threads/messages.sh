# What users of threads see: deadlocks of ranks with threads and none where a thread computes, levels by MPICH's variable
# and by sessions, calls from threads that are no rank's and from the wrong thread.
set -u
bin=$1 work=$2/messages.dir
fail() { echo "messages.sh: $*" >&2; cat "$work/out" >&2; exit 1; }
expect() { grep -q -- "$1" out || fail "$2: no \"$1\""; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out

cat >waits.c <<'END'
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int rank, size, computes;
static void* work(void* nothing) {
  int value = 0;
  if (computes) {
    usleep(1500000); /* outside of MPI: nobody may call this a deadlock */
    MPI_Send(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
    return nothing;
  }
  MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return nothing;
}
int main(int argc, char** argv) {
  int provided, value;
  pthread_t thread;
  computes = atoi(argv[1]);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  pthread_create(&thread, NULL, work, NULL);
  MPI_Recv(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  pthread_join(thread, NULL);
  if (rank == 0) printf("all received\n");
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" -O1 waits.c -o waits || fail "mpicc"
for shape in "-n 1 -nfg 1" "-n 2 -nfg 1" "-n 1 -nfg 3" "-n 2 -nfg 2"; do
  timeout 30 "$bin/mpiexec" $shape ./waits 0 >out 2>&1
  status=$?
  [ $status = 1 ] || fail "$shape, a deadlock: status $status"
  expect "deadlock" "$shape"
  expect "a thread of it, in MPI_Recv" "$shape"
  timeout 30 "$bin/mpiexec" $shape ./waits 1 >out 2>&1 || fail "$shape, no deadlock: status $?"
  expect "all received" "$shape"
done

cat >level.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int level = -1, flag = 0;
  char value[64] = "";
  MPI_Info info;
  MPI_Session session;
  MPI_Init(&argc, &argv);
  MPI_Query_thread(&level);
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", argc > 1 ? argv[1] : "MPI_THREAD_SERIALIZED");
  MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Info_free(&info);
  MPI_Session_get_info(session, &info);
  MPI_Info_get(info, "thread_level", 63, value, &flag);
  MPI_Info_free(&info);
  MPI_Session_finalize(&session);
  printf("level %d, session %s\n", level, value);
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" -O1 level.c -o level || fail "mpicc"
"$bin/mpiexec" -n 1 ./level >out 2>&1 || fail "level: status $?"
expect "level 0, session MPI_THREAD_SERIALIZED" level
MPIR_CVAR_DEFAULT_THREAD_LEVEL=MPI_THREAD_MULTIPLE "$bin/mpiexec" -n 1 -nfg 2 ./level >out 2>&1 ||
  fail "level: status $?"
expect "level 3, session MPI_THREAD_MULTIPLE" "level by MPICH's variable"
MPIR_CVAR_DEFAULT_THREAD_LEVEL=many "$bin/mpiexec" -n 1 ./level >out 2>&1 && fail "a wrong level is accepted"
expect 'MPIR_CVAR_DEFAULT_THREAD_LEVEL is "many"; allowed are MPI_THREAD_SINGLE' "a wrong level"
"$bin/mpiexec" -n 1 ./level parallel >out 2>&1 && fail "a wrong session's level is accepted"
expect 'thread_level is "parallel"; allowed are MPI_THREAD_SINGLE' "a wrong session's level"

cat >nobody.cc <<'END'
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <atomic>
static std::atomic<int> go;
static void* work(void*) {
  while (!go) sched_yield();
  int rank;
  if (go == 1) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (go == 2) MPI_Finalize();
  return nullptr;
}
static pthread_t early;
struct Starts {
  Starts() { pthread_create(&early, nullptr, work, nullptr); }
};
#ifdef EARLY
static Starts starts;
#endif
int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
#ifndef EARLY
  Starts starts;
  go = 2;
#else
  go = 1;
#endif
  pthread_join(early, nullptr);
  MPI_Finalize();
}
END
"$bin/mpicxx" -O1 -DEARLY nobody.cc -o early || fail "mpicxx"
"$bin/mpicxx" -O1 nobody.cc -o late || fail "mpicxx"
timeout 30 "$bin/mpiexec" -n 1 ./early >out 2>&1 || fail "a thread that a constructor started: status $?"
# Where ranks share globals, constructors run once, before there are ranks.
FGMPI_PRIVATIZE=off timeout 30 "$bin/mpiexec" -n 1 -nfg 2 ./early >out 2>&1 && fail "a thread of nobody is served"
expect "MPI_Comm_rank: called by a thread that belongs to no rank" "a thread of nobody"
timeout 30 "$bin/mpiexec" -n 1 ./late >out 2>&1 && fail "MPI_Finalize in another thread"
expect "MPI_Finalize: called by another thread of the rank" "MPI_Finalize in another thread"
exit 0
