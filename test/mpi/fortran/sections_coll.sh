# Collectives of mpi_f08 with array sections, in all forms, with plain and large counts: sections_coll.py writes the programs.
set -u
bin=$1 programs=$2
source=$(cd "$(dirname "$0")" && pwd)
work=$programs/sections_coll.dir
fail() { echo "sections_coll.sh: $*" >&2; cat "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out

# run PROGRAM SHAPE...: each shape is CxP (ranks a process x processes).
run() {
  program=$1
  shift
  for shape; do
    timeout 120 "$bin/mpiexec" -n "${shape#*x}" -nfg "${shape%x*}" "./$program" >out 2>&1 || fail "$program at $shape: status $?"
  done
}

# The mpi_f08 of MPICH 5.0.2 asks for a distributed graph in MPI_Neighbor_alltoallv and _alltoallw, under MPICH, too.
version=$("$bin/fgmpi-info" | sed -n 's/^host version  *MPICH \([0-9]*\).*/\1/p')
for counts in small large; do
  python3 "$source/sections_coll.py" $counts "mpich$version" >$counts.f90 || fail "sections_coll.py $counts"
  "$bin/mpifort" -w -O1 -g -ffree-line-length-none $counts.f90 -o $counts >out 2>&1 || fail "mpifort, $counts"
  run $counts 1x1 3x2
done
run small 1x4 4x1 64x2
FGMPI_SCHED=random:7 run small 7x2
FGMPI_SCHED=random:42 run large 16x1
