# Programs that MPICH's wrapper has linked find this library's procedures before libmpichfort's, also where they name both
# libraries, libmpichfort first.
set -u
bin=$1 programs=$2
source=$(cd "$(dirname "$0")" && pwd)
work=$programs/linked.dir
fail() { echo "linked.sh: $*" >&2; cat "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out

echo '#include <mpi.h>
int initialised(void) { int flag; MPI_Initialized(&flag); return flag; }' >part.c
mpicc.mpich -c part.c >out 2>&1 || fail "mpicc.mpich"
for program in indices_mpif indices_f08 sections_pt2pt; do
  for part in "" part.o; do
    mpifort.mpich -w -O1 "$source/$program.f90" $part -o $program >out 2>&1 || fail "mpifort.mpich, $program $part"
    [ -z "$part" ] || readelf -Wd $program | grep NEEDED | sed -n '1s/.*\[libmpichfort.*/first/p;2s/.*\[libmpich\.so.*/second/p' |
      tr -d '\n' | grep -q firstsecond || fail "$program does not name libmpichfort and libmpich first: the test tests nothing"
    for shape in 1x2 3x2; do
      timeout 60 "$bin/mpiexec" -n "${shape#*x}" -nfg "${shape%x*}" ./$program >out 2>&1 || fail "$program $part at $shape: status $?"
    done
  done
done
