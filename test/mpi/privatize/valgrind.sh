# valgrind's memcheck reports no error for 64 ranks in a process: it is told where their stacks are.
# Needs LIBFABRIC: parts of it run over the network.
set -u
bin=$1 programs=$2
fail() { echo "valgrind.sh: $*" >&2; cat "$programs/valgrind.out" >&2; exit 1; }
command -v valgrind >/dev/null || { echo "valgrind is not installed"; exit 0; }
for program in globals_c exceptions; do
  FGMPI_NFG=64 timeout 250 valgrind --error-exitcode=99 "$programs/$program" >"$programs/valgrind.out" 2>&1 ||
    fail "$program: status $?"
  grep -q 'No Errors' "$programs/valgrind.out" || fail "$program did not end well"
  grep -q 'ERROR SUMMARY: 0 errors' "$programs/valgrind.out" || fail "$program: valgrind found errors"
  grep -qi 'switching stacks' "$programs/valgrind.out" && fail "$program: valgrind takes ranks for stack switches"
done
# Processes of a job are each under a valgrind of their own, whatever they talk over. libfabric 2 looks at memory of its own that it
# has not set.
cat >"$programs/libfabric.supp" <<'END'
{
   libfabric itself
   Memcheck:Cond
   obj:*/libfabric.so.1*
}
END
for transport in shm ofi; do
  FGMPI_TRANSPORT=$transport timeout 250 "$bin/mpiexec" -n 2 -nfg 3 valgrind --error-exitcode=99 \
    --suppressions="$programs/libfabric.supp" "$programs/globals_c" \
    >"$programs/valgrind.out" 2>&1 || fail "two processes over $transport: status $?"
  grep -q 'No Errors' "$programs/valgrind.out" || fail "two processes over $transport did not end well"
done
# memcheck works under mpiexec: it reports an error that a program makes on purpose.
cat >"$programs/unset.c" <<'END'
#include <mpi.h>
#include <stdlib.h>
int rank;
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  volatile int* p = malloc(sizeof *p);
  if (rank == 5 && *p == 12) rank = -1;
  free((void*)p);
  return MPI_Finalize();
}
END
"$bin/mpicc" -g "$programs/unset.c" -o "$programs/unset" || fail "unset.c"
FGMPI_NFG=64 timeout 250 valgrind --error-exitcode=99 "$programs/unset" >"$programs/valgrind.out" 2>&1
[ $? = 99 ] && grep -q 'uninitialised value' "$programs/valgrind.out" || fail "an error of rank 5 was not found"
echo " No Errors"
