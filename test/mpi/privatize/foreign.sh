# Programs that our wrappers did not make, and libraries with state of their own.
set -u
bin=$1 programs=$2
source=$(cd "$(dirname "$0")" && pwd)
library=$(dirname "$bin")/lib
work=$programs/foreign.dir
fail() { echo "foreign.sh: $*" >&2; cat "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1

# Built with the host's own mpicc: position-independent, lazily bound, copies of stdout, environ and optarg.
mpicc.mpich -O1 -I"$source/.." "$source/globals_c.c" -o host_globals || fail "mpicc.mpich"
mpicc.mpich -O1 -I"$source/.." "$source/libc_state.c" -o host_state || fail "mpicc.mpich"
for program in host_globals host_state; do
  LD_LIBRARY_PATH=$library timeout 100 "$bin/mpiexec" -n 2 -nfg 20 "./$program" >out 2>&1 || fail "$program: status $?"
  grep -q 'No Errors' out || fail "$program: did not end well"
done

# A library that keeps state between MPI calls: shared by default, with a warning that names it; private on demand.
cat >counting.c <<'END'
#include <mpi.h>
#include <stdlib.h>
static int calls, last = -1;
_Thread_local int per_thread = 5;
int (*self)(void);
__attribute__((constructor)) static void start(void) { calls = 100; }
int count_and_sync(void) {
  int rank;
  if (!self) self = count_and_sync;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (last == -1) last = rank;
  per_thread += rank;
  calls++;
  MPI_Barrier(MPI_COMM_WORLD);
  if (last != rank || self != count_and_sync) return -1;
  return calls * 1000 + per_thread;
}
END
cat >user.c <<'END'
#include <mpi.h>
#include <stdio.h>
int count_and_sync(void);
int rounds;
int main(int argc, char** argv) {
  int rank, bad = 0, all;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (rounds = 1; rounds <= 4; ++rounds)
    bad += count_and_sync() != (100 + rounds) * 1000 + 5 + rounds * rank;
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong\n", all);
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" -shared -fPIC counting.c -o libcounting.so || fail "library"
"$bin/mpicc" user.c -o user -L. -lcounting -Wl,-rpath,"$work" || fail "user"
timeout 100 "$bin/mpiexec" -n 2 -nfg 10 ./user >out 2>&1 || fail "shared: status $?"
grep -q '^0 wrong' out && fail "the ranks should have shared the library"
[ "$(grep -c 'fgmpi: warning.*libcounting.so.*FGMPI_PRIVATIZE_LIBS=libcounting.so' out)" = 1 ] || fail "no warning, or more"
FGMPI_PRIVATIZE_LIBS=libcounting.so timeout 100 "$bin/mpiexec" -n 2 -nfg 10 ./user >out 2>&1 || fail "private: status $?"
grep -q '^0 wrong' out || fail "the ranks shared a private library"
grep -q warning out && fail "a warning without cause"
echo " No Errors"
