# mpiexec -rewind FILE -goto EVENT: the numbers and places of events, the memory of snapshots; and the same commands in gdb.
. "$(dirname "$0")/common.sh"
recorded 1 -ranks 4 "$programs/ends" deadlock
printf '%s\n' back 'back 2' forward 'rank 3' 'goto 1' back 'goto 101' 'events 2' snapshots quit back |
  timeout 60 "$bin/mpiexec" -rewind run.rec -goto last >out 2>&1 || fail "-goto last: status"
"$bin/mpiexec" -rewind run.rec -events >all
# Each answer names the event as the list does.
sed -n 's/^at \([0-9]*\) of 100: \(.*\): process [0-9]*, in .*/\1 \2/p' out >answers
[ "$(wc -l <answers)" = 6 ] || fail "-goto: not 6 answers: $(cat out)"
while read -r line; do grep -qxF "$line" all || fail "-goto: $line is no event"; done <answers
set -- $(cut -d' ' -f1 answers)
[ "$1" = 100 ] && [ "$6" = 1 ] && [ "$2" -lt "$1" ] && [ "$3" -lt "$2" ] && [ "$4" -gt "$3" ] || fail "-goto: $*"
[ "$(grep -c "^rank [0-9] has no such event" out)" = 1 ] || fail "before the first event"
grep -q "^goto 101: allowed is an event from 1 to 100" out || fail "behind the last event"
grep -qE "^[0-9]+ snapshots, [0-9.]+ MiB" out || fail "snapshots"

# A longer run has more snapshots; with less memory there are fewer, and the same events are reached.
recorded 0 -ranks 8 "$programs/order" 2000
printf 'goto 700\nsnapshots\n' | timeout 100 "$bin/mpiexec" -rewind run.rec -goto last >out || fail "order: status"
printf 'goto 700\nsnapshots\n' | FGMPI_REWIND_MEMORY=1m timeout 100 "$bin/mpiexec" -rewind run.rec -goto last >less || fail "less memory: status"
[ "$(sed -n 's/^at 700 of \(.*\): process.*/\1/p' out)" = "$(sed -n 's/^at 700 of \(.*\): process.*/\1/p' less)" ] || fail "less memory: another event"

command -v gdb >/dev/null || { echo "gdb is not installed: not tested"; exit 0; }
recorded 1 -ranks 4 "$programs/ends" deadlock
timeout 100 "$bin/mpiexec" -rewind run.rec gdb -batch -ex "print rank" -ex "fgmpi back 2" -ex "print i" -ex "fgmpi goto 40" -ex "info proclets" \
  -ex "break MPI_Barrier" -ex "continue" -ex "fgmpi events 1" >out 2>&1 </dev/null
event=$(sed -n 's/^40 //p' all)
grep -qF "at 40 of 100: $event: process" out || fail "gdb: event 40: $(cat out)"
grep -q '^\$1 = 0' out || fail "gdb: rank: $(cat out)"
grep -q '^\$2 = 19' out || fail "gdb: the last exchange: $(cat out)"
grep -qE "^\* [0-9] +running" out || fail "gdb: info proclets: $(cat out)"
grep -q "MPI_Barrier" out || fail "gdb: a breakpoint behind the event: $(cat out)"

# A cell that another rank has overwritten long before: the line, the rank and the time of the write.
recorded 0 -ranks 4 "$programs/writes"
timeout 200 "$bin/mpiexec" -rewind run.rec gdb -batch -ex "fgmpi rank 0" -ex "fgmpi last-write g_cells[6]" -ex "print i" >out 2>&1 </dev/null
grep -qE "^g_cells\[6\] was written by rank 3 here, behind event [0-9]+" out || fail "last-write: $(cat out)"
grep -q "the mistake" out || fail "last-write: another line: $(cat out)"
grep -q '^\$1 = 700' out || fail "last-write: another time: $(cat out)"
timeout 200 "$bin/mpiexec" -rewind run.rec gdb -batch -ex "fgmpi rank 0" -ex "fgmpi who-else &g_cells[6]" >out 2>&1 </dev/null
tail -n 3 out | head -n 2 >writers
grep -qE "^rank 3 changed it once, last behind event [0-9]+ at writes.c:12" writers || fail "who-else: $(cat out)"
grep -qE "^rank 0 changed it once, last behind event [0-9]+ at writes.c:25" writers || fail "who-else: the first value: $(cat out)"

# From a receive of one rank to the send of another one, whose variables gdb then shows.
recorded 0 -ranks 6 "$programs/messages"
receive=$("$bin/mpiexec" -rewind run.rec -events 3 -call MPI_Sendrecv | sed -n '2s/ .*//p')
timeout 200 "$bin/mpiexec" -rewind run.rec gdb -batch -ex "fgmpi goto $receive" -ex "fgmpi sender" -ex "print g_rank" -ex "fgmpi back" -ex "print g_rank" >out 2>&1 </dev/null
[ "$(grep -E '^\$[12] = 2' out | wc -l)" = 2 ] || fail "sender: another rank: $(cat out)"
