# Jobs whose processes are started by a launcher that offers PMIx: Open MPI's mpirun.
# Needs PMIX: the library must offer it.
set -u
bin=$1 programs=$2
out=$programs/pmix.out
command -v mpirun.openmpi >/dev/null || { echo "mpirun.openmpi is not installed"; exit 0; }
ldconfig -p | grep -q libpmix.so.2 || { echo "mpirun.openmpi is not installed with PMIx"; exit 0; }
mkdir -p "$programs"
fail() { echo "pmix.sh: $*" >&2; cat "$out" >&2; exit 1; }
unset FGMPI_NFG FGMPI_RANKS FGMPI_SINGLETON
cat >"$programs/under_pmix.c" <<'END'
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char** argv) {
  int rank, size, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d of %d sum %d\n", rank, size, sum);
  fflush(stdout);
  if (argc > 1 && rank == size - 1) {
    if (!strcmp(argv[1], "abort")) MPI_Abort(MPI_COMM_WORLD, 3);
    if (!strcmp(argv[1], "die")) raise(SIGKILL);
  }
  if (argc > 1 && strcmp(argv[1], "status"))
    for (;;) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return argc > 1 && rank == 1 ? 4 : 0;
}
END
program=$programs/under_pmix
"$bin/mpicc" "$program.c" -o "$program" >"$out" 2>&1 || fail "not compiled"
run() { timeout 60 mpirun.openmpi --allow-run-as-root --oversubscribe "$@" </dev/null >"$out" 2>&1; }
for shape in "1 1" "4 1" "2 50" "4 3"; do
  set -- $shape
  FGMPI_NFG=$2 run -x FGMPI_NFG -n $1 "$program" || fail "$shape: status $?"
  ranks=$(($1 * $2))
  [ "$(grep -c "^rank [0-9]* of $ranks sum $((ranks * (ranks - 1) / 2))$" "$out")" = $ranks ] || fail "$shape: not $ranks ranks"
done
FGMPI_RANKS=7 run -x FGMPI_RANKS -n 3 "$program" || fail "FGMPI_RANKS: status $?"
[ "$(grep -c '^rank [0-9] of 7 ' "$out")" = 7 ] || fail "FGMPI_RANKS: not 7 ranks"
run -n 3 "$program" status
[ $? = 4 ] || fail "not the status of rank 1"
for how in abort die; do
  FGMPI_NFG=2 run -x FGMPI_NFG -n 3 "$program" $how
  status=$?
  [ $status != 0 ] && [ $status != 124 ] || fail "$how: status $status"
  pgrep -f "$program $how" >/dev/null && sleep 2 && pgrep -af "$program $how" && fail "$how: processes are left"
done
echo " No Errors"
