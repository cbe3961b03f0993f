# MPI's special constants in Fortran (MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE, MPI_UNWEIGHTED, ...), in each call that
# takes them, from mpif.h, mpi and mpi_f08, at one and at several ranks a process. sentinels.py writes the programs,
# and automatic_buffer.py those for MPI_BUFFER_AUTOMATIC.
set -u
bin=$1 programs=$2
source=$(cd "$(dirname "$0")" && pwd)
library=$(dirname "$bin")/lib
work=$programs/sentinels.dir
fail() { echo "sentinels.sh: $*" >&2; cat "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out
flags="-w -O1 -g -ffree-line-length-none"

# run PROGRAM SHAPE...: each shape is CxP (ranks a process x processes).
run() {
  program=$1
  shift
  for shape; do
    LD_LIBRARY_PATH=$library timeout 60 "$bin/mpiexec" -n "${shape#*x}" -nfg "${shape%x*}" "./$program" >out 2>&1 ||
      fail "$program at $shape: status $?"
    [ "$(grep -c '^No Errors$' out)" = 1 ] || fail "$program at $shape: did not run as one job"
  done
}

for binding in mpif mpi mpi_f08 mpi_f08_large; do
  python3 "$source/sentinels.py" $binding >$binding.f90 || fail "sentinels.py $binding"
  "$bin/mpifort" $flags $binding.f90 -o $binding >out 2>&1 || fail "mpifort, $binding"
  run $binding 1x1 1x4 4x1 2x2
  FGMPI_SCHED=random:7 run $binding 7x2
done
FGMPI_PRIVATIZE=off run mpi_f08 1x3
for binding in mpif mpi mpi_f08; do
  python3 "$source/automatic_buffer.py" $binding >automatic_$binding.f90 || fail "automatic_buffer.py $binding"
  "$bin/mpifort" $flags automatic_$binding.f90 -o automatic_$binding >out 2>&1 || fail "mpifort, automatic_$binding"
  run automatic_$binding 1x1 4x1 2x2
done

# By the host's wrapper, without -fPIC: the constants of mpi_f08 are in the program then, too. mpif.h declares no procedures, and
# Debian's wrapper of MPICH 5.0 does not let gfortran accept calls with other arguments than before.
for binding in mpif mpi_f08; do
  mpifort.mpich $flags -fallow-argument-mismatch $binding.f90 -o host_$binding >out 2>&1 || fail "mpifort.mpich, $binding"
  run host_$binding 1x2 4x1 2x2
done
readelf -Wr host_mpi_f08 | grep -q 'R_[A-Z0-9_]*_COPY.*MPIR_F08_MPI_BOTTOM' || fail "no copy of MPI_BOTTOM: the test tests nothing"
