# Ranks that load libraries while they run: the run is recorded, and repeats, also in gdb, which has a breakpoint in the dynamic
# linker before the first library is loaded.
. "$(dirname "$0")/common.sh"
for ranks in 1 4 64; do
  recorded 0 -ranks $ranks "$programs/plugins" "$programs/libplugin.so"
  grep -q "^round 2: $((ranks * (ranks + 1) / 2 * 3)) calls" out.recorded || fail "other calls: $(cat out.recorded)"
  repeated 0
done
recorded 0 -ranks 4 "$programs/plugins" "$programs/libplugin.so"
"$bin/mpiexec" -rewind run.rec -events >all || fail "-events: status"
[ "$(grep -c MPI_Allreduce all)" = 12 ] || fail "-events: not 12 reductions"
command -v gdb >/dev/null || { echo "gdb is not installed: not tested"; exit 0; }
first=$(grep -m1 MPI_Allreduce all | sed 's/ .*//')
for event in 1 "$first" last; do
  timeout 100 "$bin/mpiexec" -rewind run.rec gdb -batch -ex "fgmpi goto $event" -ex continue -ex "fgmpi goto last" >out 2>&1 </dev/null
  grep -q "differs" out && fail "gdb: from event $event: $(cat out)"
  grep -q "exited normally" out || fail "gdb: from event $event: no end: $(cat out)"
  [ "$(grep -c '^at .* MPI_Finalize' out)" -ge 2 ] || fail "gdb: from event $event: no last event: $(cat out)"
done
