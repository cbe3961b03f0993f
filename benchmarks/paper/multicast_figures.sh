#!/usr/bin/env bash
# Figures 3 to 7 of Yuan, Daniels, Faraj, Karwande, "Group Management Schemes for Implementing MPI Collective Communication
# over IP-Multicast": broadcasts and scatters among hosts made of network namespaces, one rank each, whose links are shaped.
#   benchmarks/paper/multicast_figures.sh [RATE [HOSTS [BUILD]]]        100mbit (as for tc), 8 hosts, build/default
# A line a measurement: WHO WHAT BYTES AVERAGE MAXIMUM (microseconds; medians, see multicast_figures.c), WHO being
#   multicast    forced; flat: with acknowledgements straight to the root, as in the paper
#   unicast      FGMPI_MULTICAST=off: our own algorithms as the selector picks them
#   hoisted      as multicast, where the compiler has opened the group (mpicc -fgmpi-hoist)
#   mpich        the host's MPICH over tcp, where its launcher and compiler are installed
# and then the bytes that the root's link carried for broadcasts of 1 MiB, per byte of the data.
# Needs what scripts/test-multihost needs.
set -eu
root=$(cd "$(dirname -- "$0")/../.." && pwd)
rate=${1:-100mbit} hosts=${2:-8}
build=$(cd "${3:-$root/build/default}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
program=$build/benchmarks/multicast_figures
on_hosts() { "$root/scripts/test-multihost" --build "$build" --hosts "$hosts" --processes 1 --ranks 1 --rate "$rate" "$@"; }
measure() {  # measure WHO WORDS...
  local who=$1
  shift
  on_hosts -- "$program" "$@" 2>&1 | sed "s/^/$who /"
}
echo "# $rate, $hosts hosts"
names="BCAST SCATTER"
for what in "bcast 1 1 31" "bcast 1024 1048576 9" "scatter 1 16384 15" "five 1 65536 15"; do
  # shellcheck disable=SC2086
  (for n in $names; do export "FGMPI_COLL_$n=multicast"; done; measure multicast $what)
  # shellcheck disable=SC2086
  FGMPI_MULTICAST=off measure unicast $what
done
(export FGMPI_COLL_BCAST=multicast FGMPI_MULTICAST_TREE=0; measure flat bcast 1 1 31; measure flat bcast 1024 65536 9)
(export FGMPI_COLL_SCATTER=multicast; measure multicast opened 1 65536 15)
FGMPI_MULTICAST=off measure unicast opened 1 65536 15
if [ -x "${program}_hoisted" ]; then
  program=${program}_hoisted
  (export FGMPI_COLL_SCATTER=multicast; measure hoisted five 1 65536 15)
fi
if command -v mpicc.mpich >/dev/null && command -v mpiexec.hydra >/dev/null; then
  mpicc.mpich -O2 -w "$root/benchmarks/paper/multicast_figures.c" -o "$work/figures"
  for what in "bcast 1 1 31" "bcast 1024 1048576 9" "scatter 1 16384 15" "five 1 65536 15"; do
    # shellcheck disable=SC2086
    UCX_TLS=tcp on_hosts --mpiexec mpiexec.hydra -- "$work/figures" $what 2>&1 | sed "s/^/mpich /"
  done
fi
