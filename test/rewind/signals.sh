# Signals from outside, from timers and from the program itself: their handlers run at the same places when the run is repeated.
. "$(dirname "$0")/common.sh"
for ranks in 1 4; do
  rm -f out.recorded
  "$bin/mpiexec" -record run.rec -ranks $ranks "$programs/signals" wait </dev/null >out.recorded 2>err.recorded &
  process=$!
  until grep -q "signal 14 in round" out.recorded 2>/dev/null; do
    kill -0 $process 2>/dev/null || fail "the program has ended early: $(cat err.recorded)"
    sleep 0.01
  done
  for ((i = 0; i < 10; ++i)); do
    kill -USR1 $process
    sleep 0.002
  done
  kill -TERM $process
  wait $process || fail "-record: status $?"
  grep -q "^signal 10 in round .* from others" out.recorded || fail "no signal from outside"
  for ((i = 0; i < 3; ++i)); do repeated 0; done
done
# A program with a handler does not keep Ctrl-C from ending the repeated run.
recorded 0 -ranks 2 "$programs/signals"
"$bin/mpiexec" -rewind run.rec </dev/null >out.repeated 2>/dev/null &
process=$!
for ((i = 0; i < 200; ++i)); do kill -TERM $process 2>/dev/null || break; done
wait $process
case $? in 0 | 143) ;; *) fail "SIGTERM to a repeated run: status $?" ;; esac
