# Every procedure of mpif.h, the module mpi and the module mpi_f08, with its arguments as C gets them and its results as Fortran gets
# them: every_call.py. C's functions are the program's, so nothing is sent.
set -u
bin=$1 programs=$2
source=$(cd "$(dirname "$0")" && pwd)
fail() { echo "every_call.sh: $*" >&2; tail -40 out >&2; exit 1; }
for binding in mpif mpi mpi_f08; do
  for prefix in MPI PMPI; do
    [ $prefix = MPI ] || [ $binding = mpi_f08 ] || continue
    work=$programs/every_call.dir/$binding.$prefix
    rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
    python3 -B "$source/every_call.py" $binding $prefix . >out 2>&1 || fail "$binding: every_call.py"
    "$bin/mpicc" -w -O0 -c answers.c >out 2>&1 || fail "$binding: mpicc"
    "$bin/mpifort" -w -O0 calls.f90 answers.o -o every_call >out 2>&1 || fail "$binding: mpifort"
    timeout 60 ./every_call >out 2>&1 || fail "$binding, $prefix: status $?"
    grep -q "No Errors" out || fail "$binding, $prefix"
  done
done
echo " No Errors"
