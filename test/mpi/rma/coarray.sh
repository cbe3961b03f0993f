#!/usr/bin/env bash
# Coarray Fortran over OpenCoarrays, where it is installed: a program of ours, and those of the package's own tests.
# usage: coarray.sh BIN PROGRAMS
# Needs LIBFABRIC: parts of it run over the network.
set -u
bin=$1 programs=$2
home=/usr/lib/$(uname -m)-linux-gnu/open-coarrays/mpich
library=$home/lib/libcaf_mpich.a
if [ ! -f "$library" ] || ! command -v gfortran > /dev/null; then
  echo "OpenCoarrays is not installed"
  exit 0
fi
if nm "$library" | grep -q ' U ompi_mpi_'; then
  echo "OpenCoarrays for MPICH is not installed: the package holds one for Open MPI in its place"
  exit 0
fi
failed=0
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
source=$(dirname "$0")/coarray/ring.f90
"$bin/mpifort" -fcoarray=lib -O1 -g "$source" "$library" -o "$out/ring" || exit 1
run() {  # P C WORDS PROGRAM
  local said
  said=$(timeout 100 "$bin/mpiexec" -n "$1" -nfg "$2" "$4" 2>&1)
  local status=$?
  [ $status -eq 0 ] && grep -qi "$3" <<< "$said" && return
  echo "$1 x $2: $(basename "$4") ended with $status:"
  echo "$said"
  failed=1
}
for shape in "1 1" "1 4" "4 1" "2 3" "2 16"; do
  read -r p c <<< "$shape"
  run "$p" "$c" "no errors" "$out/ring"
done
FGMPI_TRANSPORT=ofi run 2 2 "no errors" "$out/ring"
tests=$(ls -d "$home"/bin/OpenCoarrays-*-tests 2> /dev/null)
for name in get_array send_array atomics co_sum_test; do
  [ -x "$tests/$name" ] || continue
  run 1 4 "passed" "$tests/$name"
  run 4 1 "passed" "$tests/$name"
  run 2 2 "passed" "$tests/$name"
done
exit $failed
