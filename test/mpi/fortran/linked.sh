# Programs that MPICH's wrapper has linked use this library's libmpichfort in place of MPICH's, also where they name that first, and
# where they have an RPATH of their own.
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

# MPICH's own libraries are the ones that the RPATH finds; mpiexec preloads ours.
theirs=$(ldd ./indices_f08 | sed -n 's/.*libmpichfort[^ ]* => \([^ ]*\)\/.*/\1/p')
mpifort.mpich -w -O1 "$source/indices_f08.f90" -o with_rpath -Wl,--disable-new-dtags,-rpath,"$theirs" >out 2>&1 || fail "with an RPATH"
readelf -Wd with_rpath | grep -q '(RPATH)' || fail "with_rpath has no RPATH: the test tests nothing"
for shape in 1x2 3x2; do
  timeout 60 "$bin/mpiexec" -n "${shape#*x}" -nfg "${shape%x*}" ./with_rpath >out 2>&1 || fail "with_rpath at $shape: status $?"
done
