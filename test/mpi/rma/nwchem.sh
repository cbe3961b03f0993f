#!/usr/bin/env bash
# NWChem, which does everything by ARMCI over one-sided communication, in Debian's own build: the energy of water, at
# several shapes, with windows over ARMCI's memory and over memory that MPI allocated. Installed, or unpacked below the
# folder FGMPI_TEST_NWCHEM (dpkg-deb -x of nwchem-mpich, nwchem-data and what they depend on).
# usage: nwchem.sh BIN PROGRAMS
# Needs LIBFABRIC: parts of it run over the network.
set -u
bin=$1 programs=$2 root=${FGMPI_TEST_NWCHEM:-}
nwchem=$root/usr/bin/nwchem.mpich
if [ ! -x "$nwchem" ]; then
  echo "NWChem is not installed"
  exit 0
fi
libraries=$root/usr/lib/x86_64-linux-gnu
[ -z "$root" ] || export LD_LIBRARY_PATH=$libraries:$libraries/blas:$libraries/lapack
export NWCHEM_BASIS_LIBRARY=$root/usr/share/nwchem/libraries/ NWCHEM_NWPW_LIBRARY=$root/usr/share/nwchem/libraryps/
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$bin/mpicc" -O1 -fPIC -shared -I"$here/../../../include" "$here/nwchem/ways.c" -o "$out/ways.so" || exit 1
failed=0
# run P C ALLOCATE WAY...: one of the ways at least must have been taken, and the energy be right: -75.983974473598. Whoever
# is free takes the next task, so that sums are in another order in each run: one more or less in the last digit.
run() {
  local p=$1 c=$2 allocate=$3 said status way taken=0
  shift 3
  mkdir -p "$out/$p.$c.$allocate" && cd "$out/$p.$c.$allocate" || exit 1
  said=$(ARMCI_USE_WIN_ALLOCATE=$allocate LD_PRELOAD=$out/ways.so timeout 200 "$bin/mpiexec" -n "$p" -nfg "$c" \
    "$nwchem" "$here/nwchem/water.nw" 2>&1 </dev/null)
  status=$?
  for way in "$@"; do grep -q "one-sided operations:.* $way [1-9]" <<<"$said" && taken=1; done
  if [ $status = 0 ] && [ $taken = 1 ] && grep -qE "Total SCF energy = *-75\.98397447359[789]" <<<"$said"; then
    echo "$p x $c, ARMCI_USE_WIN_ALLOCATE=$allocate: $(grep -m1 'Total SCF' <<<"$said" | tr -s ' ')," \
      "$(grep 'one-sided' <<<"$said" | sort | tail -1)"
  else
    echo "FAILED $p x $c, ARMCI_USE_WIN_ALLOCATE=$allocate: exit status $status"
    tail -20 <<<"$said"
    failed=1
  fi
}
for allocate in 0 1; do
  run 1 1 $allocate here
  run 1 4 $allocate here
  case ${FGMPI_TRANSPORT:-}.$allocate in
    ofi.*) between=messages ;;
    *.0) between=attached ;;
    *) between=mapped ;;
  esac
  run 2 1 $allocate $between
  run 4 1 $allocate $between
  run 2 3 $allocate $between
done
FGMPI_TRANSPORT=ofi run 2 2 1 messages
exit $failed
