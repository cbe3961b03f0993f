#!/usr/bin/env bash
# What mpiexec -report adds to a message: instructions by callgrind of an 8-byte MPI_Send and MPI_Recv between collocated
# ranks, without and with the counting library, the calls' own only (its sampler runs beside, by the clock); then nanoseconds,
# the least of many runs of both in turn.
# usage: report_cost.sh BUILD_FOLDER [RUNS]
set -eu
build=$(cd "$1" && pwd)
runs=${2:-20}
pair=$build/benchmarks/pt2pt_pair
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export FGMPI_REPORT_DIR=$out FGMPI_NFG=2
# instructions LIBRARY TIMES: of the ranks' thread.
instructions() {
  rm -f "$out"/report-* "$out"/cg*
  LD_PRELOAD=$1 valgrind --tool=callgrind --callgrind-out-file="$out/cg" --separate-threads=yes "$pair" latency "$2" \
    > "$out/log" 2>&1
  sed -n 's/^totals: //p' "$out/cg-01"
}
each() { few=$(instructions "$1" 1000) many=$(instructions "$1" 3000) && echo $(((many - few) / 2000 / 5 / 2)); }
off=$(each "") on=$(each "$build/lib/libfgmpi-report.so")
echo "instructions a message: $off without, $on with the report"
times=400000
# latency LIBRARY: nanoseconds a message, with start and end of the program.
latency() {
  rm -f "$out"/report-*
  begin=$(date +%s%N)
  LD_PRELOAD=$1 "$pair" latency $times
  echo $((($(date +%s%N) - begin) / times / 10)).$((($(date +%s%N) - begin) / times % 10))
}
for _ in $(seq "$runs"); do
  latency "" >> "$out/off"
  latency "$build/lib/libfgmpi-report.so" >> "$out/on"
done
least() { sort -n "$1" | head -1; }
awk -v off="$(least "$out/off")" -v on="$(least "$out/on")" \
  'BEGIN { printf "nanoseconds a message: %.1f without, %.1f with: %.1f more\n", off, on, on - off }'
