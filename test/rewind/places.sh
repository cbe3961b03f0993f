# Snapshots have places in files, and shared memory, of their own: going back and forwards, a run that reads files and
# changes shared memory a step at a time finds both as they were.
. "$(dirname "$0")/common.sh"
awk 'BEGIN { for (i = 1; i <= 6000; ++i) print "line", i, i * i }' >data
# goes OPTION...: the run is recorded with these, repeats, and its events are visited from all sides.
goes() {
  recorded 0 "$@" -ranks 3 "$programs/places" data
  [ "$(wc -l <out.recorded)" = 3 ] || fail "the run itself differs: $(head -n 3 out.recorded)"
  repeated 0
  events=$(timeout 60 "$bin/mpiexec" -rewind run.rec -events | wc -l)
  [ "$events" -gt 1500 ] || fail "$events events"
  printf '%s\n' "goto 1200" "back 20" "forward 5" "goto 700" "back 40" "goto 1500" "goto 300" "goto last" "back 2" "goto 1201" quit |
    timeout 200 "$bin/mpiexec" -rewind run.rec -goto last >out.repeated 2>err.repeated || fail "-goto: $(cat err.repeated)"
  grep -q differs err.repeated && fail "$*: $(cat err.repeated)"
  [ "$(grep -c "^at [0-9]* of $events: " out.repeated)" = 11 ] || fail "not 11 events"
}
goes
goes -record-inputs
# Runs end from there as they have ended.
if command -v gdb >/dev/null; then
  for event in 300 700 1200; do
    timeout 200 "$bin/mpiexec" -rewind run.rec gdb -batch -ex "fgmpi goto $event" -ex continue -ex "fgmpi goto $((event + 100))" \
      -ex continue </dev/null >out.repeated 2>err.repeated
    [ "$(grep -c 'exited normally' out.repeated)" = 2 ] || fail "gdb: no end behind event $event"
  done
fi
