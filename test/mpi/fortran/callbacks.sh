# Functions of Fortran programs that MPI calls, by each of the three bindings: callbacks.py.
set -u
bin=$1 work=$2/callbacks.dir
source=$(cd "$(dirname "$0")" && pwd)
fail() { echo "callbacks.sh: $*" >&2; tail -40 out >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
compiler=
"${FGMPI_FC:-gfortran}" --version | grep -q "Free Software" && compiler=gnu
for binding in mpif mpi mpi_f08; do
  python3 -B "$source/callbacks.py" $binding $compiler >$binding.f90 || fail "$binding: callbacks.py"
  "$bin/mpifort" -w -O1 -g $binding.f90 -o $binding >out 2>&1 || fail "$binding: mpifort"
  for shape in 1x1 3x1 1x3 2x2; do
    timeout 60 "$bin/mpiexec" -n ${shape#*x} -nfg ${shape%x*} ./$binding >out 2>&1 || fail "$binding at $shape: status $?"
    grep -q "No Errors" out || fail "$binding at $shape"
  done
done
echo " No Errors"
