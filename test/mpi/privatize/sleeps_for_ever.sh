# Ranks that sleep for ever sleep, and their processes use no processor meanwhile: alone, with shared memory, and with the
# network between them.   sleeps_for_ever.sh BIN PROGRAMS
# Needs LIBFABRIC: parts of it run over the network.
set -u
bin=$1 program=$2/sleeps_for_ever
out=$program.out failed=0
ticks() { # processor time of the processes, in ticks of 10 ms
  local sum=0 pid
  for pid in $pids; do
    set -- $(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null) 0 0 0 0 0 0 0 0 0 0 0 0 0
    sum=$((sum + ${12} + ${13}))
  done
  echo $sum
}
try() { # try PROCESSES RANKS MPIEXEC-OPTIONS...
  local processes=$1 ranks=$2 before after
  shift 2
  : >"$out"
  "$bin/mpiexec" -n "$processes" -nfg "$ranks" "$@" "$program" >"$out" 2>&1 </dev/null &
  local launcher=$!
  for ((i = 0; i < 600; ++i)); do
    [ "$(grep -c '^sleeps' "$out")" = $((processes * ranks)) ] && break
    sleep 0.1
  done
  # The processes of this job: descendants of its launcher that run the program.
  pids=$(children "$launcher")
  [ "$(wc -w <<<"$pids")" = "$processes" ] || { echo "FAILED $*: processes are '$pids'"; failed=1; }
  sleep 1
  before=$(ticks)
  sleep 3
  after=$(ticks)
  grep -q woke "$out" && { echo "FAILED $processes x $ranks $*: a rank woke up"; failed=1; }
  [ $((after - before)) -le $((3 * processes)) ] ||
    { echo "FAILED $processes x $ranks $*: $((after - before)) ticks of processor time in 3 s"; failed=1; }
  echo "$processes x $ranks $*: $((after - before)) ticks in 3 s"
  kill -TERM "$launcher"
  wait "$launcher" 2>/dev/null
}
children() { # children PID: those below it that run the program
  local child
  for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
    [ "$(readlink "/proc/$child/exe")" = "$program" ] && echo "$child"
    children "$child"
  done
}
try 1 5
try 2 5
try 2 1
try 2 5 -env FGMPI_TRANSPORT ofi
exit $failed
