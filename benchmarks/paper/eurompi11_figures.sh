#!/bin/bash
# Figures of "Scaling Performance Tool MPI Communicator Management" (EuroMPI 2011) at many ranks of two processes.
#   benchmarks/paper/eurompi11_figures.sh [BUILD [RANKS...]]     default: build/default 1000 8192 32768 131072
# Figure 1: a time step without the tracker, with world ranks in events (translated by MPI) and with local ones.
# Figure 2: seconds to unify: the original scheme (where memory allows: it takes 24 p^2 / 8 bytes and more), by gathers, by
# maps.
# Section 5: bytes of definitions and mapping tables; both programs (pflotran, irregular).
# The folder of traces is in TMPDIR: one with room for two files a rank (/dev/shm).
# Section 3: cost of MPI_Group_translate_ranks against the rank.
build=$(cd "${1:-build/default}" && pwd) || exit 2
shift
[ $# -gt 0 ] || set -- 1000 8192 32768 131072
run=$build/bin/mpiexec dump=$build/bin/fgmpi-track-dump programs=$build/benchmarks
[ -x "$programs/eurompi11_pattern" ] ||
  { echo "eurompi11_figures.sh: no programs in $programs; allowed is a build folder with benchmarks" >&2; exit 2; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export FGMPI_PRIVATIZE=off  # the pattern keeps nothing in globals
traced() {  # SETTINGS RANKS PROGRAM...: leaves $scratch/trace
  rm -rf "$scratch/trace"
  FGMPI_TRACK="report:on;$1" timeout 900 "$run" -track "$scratch/trace" -n 2 -nfg $(($2 / 2)) "${@:3}" 2>&1
}
for ranks; do
  steps=$((ranks > 20000 ? 5 : 20))
  for program in pflotran irregular; do
    pattern=("$programs/eurompi11_pattern" $program)
    echo "== $program, $ranks ranks"
    echo "-- a step: without the tracker; world ranks in events; local ranks"
    timeout 900 "$run" -n 2 -nfg $((ranks / 2)) "${pattern[@]}" $steps
    traced "record:global;files:raw;sample:$ranks" "$ranks" "${pattern[@]}" $steps
    traced "files:raw;sample:$ranks" "$ranks" "${pattern[@]}" $steps
    echo "-- unification by gathers of local ranks; keys by broadcast as well"
    traced "record:none;groups:gather;files:raw" "$ranks" "${pattern[@]}" 0
    traced "record:none;groups:gather;keys:broadcast;files:raw" "$ranks" "${pattern[@]}" 0
    echo "-- unification by maps; sizes"
    traced "record:none;files:raw" "$ranks" "${pattern[@]}" 0
    "$dump" --quiet --check "$scratch/trace" && "$dump" --quiet --otf2 --sizes "$scratch/trace"
    "$dump" --quiet --sizes "$scratch/trace" | tail -3
  done
  needed=$((4 * ranks * ranks / 1024)) free=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)
  if [ $needed -gt $((free / 10 * 9)) ]; then
    echo "== original scheme, pflotran, $ranks ranks: takes $((needed / 1024)) MB of memory, $((free / 1024)) MB are there"
  else
    echo "== original scheme, pflotran, $ranks ranks"
    FGMPI_PRIVATIZE=on timeout 900 "$run" -n 2 -nfg $((ranks / 2)) "$programs/eurompi11_original"
    FGMPI_PRIVATIZE=on timeout 900 "$run" -n 2 -nfg $((ranks / 2)) "$programs/eurompi11_original" translate
  fi
done
