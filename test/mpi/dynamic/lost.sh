#!/usr/bin/env bash
# What becomes of a job whose connected job is killed, aborts, or ends although somebody waits for it: an end within
# seconds, a bad status and a line that says why; and nothing of that after a disconnection. Strangers are refused.
#   lost.sh BIN PROGRAMS
set -u
bin=$1 program=$2/lost failed=0
[ -x "$program" ] || { echo "no program $program"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# run HOW CxP STATUS TEXT [VARIABLE=VALUE]: STATUS good or bad, of the job that waits; TEXT in its output.
run() {
  local how=$1 shape=$2 wanted=$3 text=$4 a status=good
  shift 4
  rm -f "$work/port"
  timeout 60 "$bin/mpiexec" -n "${shape#*x}" -nfg "${shape%x*}" "$program" wait "$work/port" "$how" >"$work/a" 2>&1 &
  a=$!
  if [ "$how" = disconnect ]; then  # somebody who does not know the key comes first
    for ((i = 0; i < 1000; i++)); do [ -s "$work/port" ] && break; sleep 0.01; done
    port=$((16#$(cut -d: -f4 "$work/port")))
    for ((i = 0; i < 5; i++)); do (echo "GET / HTTP/1.0 and some more so that it is as long as what they expect to be said" >"/dev/tcp/127.0.0.1/$port") 2>/dev/null; done
    (sleep 3 >"/dev/tcp/127.0.0.1/$port") 2>/dev/null &  # says nothing
  fi
  env "$@" timeout 60 "$bin/mpiexec" -n "${shape#*x}" -nfg "${shape%x*}" "$program" go "$work/port" "$how" >"$work/b" 2>&1
  SECONDS=0
  wait $a || status=bad
  if [ $status = "$wanted" ] && grep -q "$text" "$work/a" && [ $SECONDS -lt 15 ]; then
    echo "ok $how $shape $*"
  else
    echo "FAILED $how $shape $*: the job that waits ended $status after $SECONDS s"
    head -20 "$work/a" "$work/b" | cut -c1-300
    failed=1
  fi
}
for shape in 1x1 3x2; do
  run kill $shape bad "of a connected job"
  run kill $shape bad "of a connected job" FGMPI_HOST_ID=elsewhere
  run abort $shape bad "of a connected job"
  run end $shape bad "deadlock"
  run disconnect $shape good "No Errors"
done
exit $failed
