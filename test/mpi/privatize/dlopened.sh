# Programs that load the library at run time are ranks, one a process. Plugins of ranks call MPI as their rank.
set -u
bin=$1 programs=$2
source=$(cd "$(dirname "$0")" && pwd)
work=$programs/dlopened.dir
fail() { echo "dlopened.sh: $*" >&2; cat "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out
headers=$("$bin/mpicc" -show -c x.c | tr ' ' '\n' | grep '^-I' | tr '\n' ' ')
cc -O1 $headers "$source/dlopened.c" -o host -ldl || fail "cc"
for processes in 1 2 5; do
  for how in plain forget; do
    timeout 60 "$bin/mpiexec" -n $processes ./host $how >out 2>&1 || fail "$processes $how: status $?"
    [ "$(grep -c "^rank [0-4] of $processes is well$" out)" = $processes ] || fail "$processes $how: not $processes ranks"
  done
done
LD_LIBRARY_PATH=$(dirname "$bin")/lib timeout 60 ./host >out 2>&1 || fail "without mpiexec: status $?"
grep -q '^rank 0 of 1 is well$' out || fail "without mpiexec"
timeout 60 "$bin/mpiexec" -n 3 ./host exit >out 2>&1
[ $? = 7 ] || fail "exit(7) in one of three"
timeout 60 "$bin/mpiexec" -n 2 ./host deadlock >out 2>&1 && fail "a deadlock: status 0"
[ $? != 124 ] && grep -q 'MPI_Recv' out || fail "a deadlock was not reported"
timeout 60 "$bin/mpiexec" -n 2 -nfg 3 ./host >out 2>&1 && fail "-nfg 3: status 0"
grep -q 'loaded this library with dlopen, with 3 ranks a process; allowed is 1' out || fail "-nfg 3: not refused"

# A plugin that a rank loads: shared by the process's ranks, but its calls are the calling rank's.
cat >plugin.c <<'END'
#include <mpi.h>
int plugged(void) {
  int rank, sum;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return rank * 1000 + sum;
}
END
cat >loader.c <<'END'
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
int rank, size;
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  void* plugin = dlopen("./plugin.so", RTLD_NOW);
  int (*plugged)(void) = plugin ? (int (*)(void))dlsym(plugin, "plugged") : 0;
  int bad = !plugged || plugged() != rank * 1000 + size * (size - 1) / 2, all;
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d of %d wrong\n", all, size);
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" -shared plugin.c -o plugin.so && "$bin/mpicc" loader.c -o loader -ldl || fail "mpicc"
timeout 60 "$bin/mpiexec" -n 2 -nfg 20 ./loader >out 2>&1 || fail "plugin: status $?"
grep -q '^0 of 40 wrong$' out || fail "plugin: calls of another rank"
echo " No Errors"
