#!/usr/bin/env bash
# Table I and figures 3 to 7 of Yuan, Daniels, Faraj, Karwande, "Group Management Schemes for Implementing MPI Collective
# Communication over IP-Multicast": messages, broadcasts and scatters among hosts made of network namespaces, one rank each,
# whose links are shaped.
#   benchmarks/paper/multicast_figures.sh [RATE [HOSTS [BUILD [PART...]]]]        100mbit (as for tc), 8 hosts, build/default
# Parts: bcast, scatter, five, table1 (2 hosts), mpich, carried; all of them where none is named.
# A line a measurement: WHO WHAT BYTES AVERAGE MAXIMUM (microseconds; medians, see multicast_figures.c), WHO being
#   multicast    forced; flat: with acknowledgements straight to the root, as in the paper
#   unicast      FGMPI_MULTICAST=off: our own algorithms as the selector picks them
#   picked       as the selector picks, multicast or not
#   dynamic, static     forced, and FGMPI_MULTICAST_GROUPS so
#   hoisted      as multicast, where the compiler has opened the group (mpicc -fgmpi-hoist)
#   mpich        the host's MPICH over tcp, where its launcher and compiler are installed. Its ranks spin, and the hosts share
#                processors: they give way after each poll, and it is measured without BEFORE as well (mpich_plain)
# carried: for broadcasts of 1 MiB, what the root has sent and what came in and went out at the bridge in a broadcast, in
# bytes of a byte of the data, and in packets. That is the difference of two jobs, so that their start does not count.
# Needs what scripts/test-multihost needs. BEFORE="chrt -r 20": what programs are started by.
set -eu
root=$(cd "$(dirname -- "$0")/../.." && pwd)
rate=${1:-100mbit} hosts=${2:-8}
build=$(cd "${3:-$root/build/default}" && pwd)
shift $(($# < 3 ? $# : 3))
parts=" ${*:-bcast scatter five table1 mpich carried} "
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
program=$build/benchmarks/multicast_figures
on_hosts() { "$root/scripts/test-multihost" --build "$build" --hosts "$hosts" --processes 1 --ranks 1 --rate "$rate" "$@"; }
measure() {  # measure WHO WORDS...
  local who=$1
  shift
  # shellcheck disable=SC2086
  on_hosts -- ${BEFORE:-} "$program" "$@" 2>&1 | sed "s/^/$who /"
}
part() { [[ $parts == *" $1 "* ]]; }
forced() { FGMPI_COLL_BCAST=multicast FGMPI_COLL_SCATTER=multicast measure "$@"; }
echo "# $rate, $hosts hosts"
if part bcast; then
  for what in "bcast 1 1 31" "bcast 1024 1048576 9"; do
    # shellcheck disable=SC2086
    {
      forced multicast $what
      FGMPI_MULTICAST=off measure unicast $what
      measure picked $what
    }
  done
  FGMPI_MULTICAST_TREE=0 forced flat bcast 1 1 31
  FGMPI_MULTICAST_TREE=0 forced flat bcast 1024 65536 9
fi
if part scatter; then
  forced multicast scatter 1 16384 15
  FGMPI_MULTICAST=off measure unicast scatter 1 16384 15
fi
if part five; then
  forced multicast five 1 65536 15
  forced multicast opened 1 65536 15
  for groups in dynamic static; do FGMPI_MULTICAST_GROUPS=$groups forced $groups five 1 65536 15; done
  FGMPI_MULTICAST=off measure unicast five 1 65536 15
  FGMPI_MULTICAST=off measure unicast opened 1 65536 15
  if [ -x "${program}_hoisted" ]; then
    program=${program}_hoisted
    forced hoisted five 1 65536 15
    program=$build/benchmarks/multicast_figures
  fi
fi
if part table1; then
  (hosts=2; forced multicast datagrams 1 1048576 15; FGMPI_MULTICAST=off measure unicast message 1 1048576 15)
fi
if part mpich && command -v mpicc.mpich >/dev/null && command -v mpiexec.hydra >/dev/null; then
  mpicc.mpich -O2 -w "$root/benchmarks/paper/multicast_figures.c" -o "$work/figures"
  mpich_of() {  # mpich_of WHO BEFORE HOSTS WORDS...
    # shellcheck disable=SC2086
    MPIR_CVAR_POLLS_BEFORE_YIELD=1 UCX_TLS=tcp timeout -k 1 45 "$root/scripts/test-multihost" --build "$build" --hosts "$3" \
      --processes 1 --rate "$rate" --mpiexec mpiexec.hydra -- $2 "$work/figures" "${@:4}" 2>&1 | sed "s/^/$1 /"
  }
  mpich() {
    mpich_of mpich "${BEFORE:-}" "$@"
    if [ "${BEFORE:-}" ]; then mpich_of mpich_plain "" "$@"; fi
  }
  for what in "bcast 1 1 31" "bcast 1024 1048576 9" "scatter 1 16384 15" "five 1 65536 15"; do
    # shellcheck disable=SC2086
    mpich "$hosts" $what
  done
  mpich 2 message 1 1048576 15
fi
# Counters of a job: of the root's link and of the bridge, on one line: BYTES PACKETS BYTES PACKETS BYTES PACKETS.
counters() {
  on_hosts --count -- "$program" bcast 1048576 1048576 "$1" |
    awk '/^link of h1:/ { printf "%s %s ", $5, $8 } /^bridge,/ { print $6, $9, $12, $14 }'
}
carried() {  # carried WHO
  local few many
  few=$(counters 1)
  many=$(counters 11)
  echo "$few $many" | awk -v who="$1" '{
    for (i = 1; i <= 6; i += 2) { bytes[i] = ($(i + 6) - $i) / 10 / 1048576; packets[i] = ($(i + 7) - $(i + 1)) / 10 }
    printf "%s carried: root sent %.3f (%d packets), bridge in %.3f (%d), out %.3f (%d)\n", who, bytes[1], packets[1],
      bytes[3], packets[3], bytes[5], packets[5] }'
}
if part carried; then
  (export FGMPI_COLL_BCAST=multicast; carried multicast)
  (export FGMPI_MULTICAST=off; carried unicast)
fi
