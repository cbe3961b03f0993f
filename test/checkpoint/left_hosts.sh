#!/bin/bash
# A job on several hosts leaves them one by one (mpiexec -leave HOST PID), at moments that are drawn: nothing of it runs there any
# more, and its results are those of a job that nobody has disturbed. Ends with status 77 where no hosts can be made.
#   left_hosts.sh BIN_FOLDER WORK_FOLDER PROGRAM
set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
if [ -z "${MULTIHOST_HOSTS:-}" ]; then
  work=$2
  rm -rf "$work" && mkdir -p "$work" || exit 1
  words=$(printf ' %q' "$source/test/checkpoint/left_hosts.sh" "$@")
  exec "$source/scripts/test-multihost" --build "$1/.." --hosts 4 --processes 2 --shell "bash$words"
fi

bin=$1 work=$2 program=$3
cd "$work" || exit 1
RANDOM=${SEED-1}
fail() { echo "left_hosts.sh: $*" >&2; tail -n 30 out >&2; exit 1; }
refused() { # refused WORDS HOST: the job goes on where it is
  "$bin/mpiexec" -leave "$2" $job 2>err && fail "-leave $2 was not refused"
  grep -q -- "-leave: .*$1" err || fail "-leave $2: $(cat err)"
}

tr , '\n' <<<"$MULTIHOST_HOSTS" >hosts
for how in "-hosts $MULTIHOST_HOSTS" "-f $work/hosts"; do
  rm -rf saved
  # shellcheck disable=SC2086
  "$bin/mpiexec" -checkpoint saved $how $MULTIHOST_OPTIONS -n 8 -nfg 2 "$program" 2500 0 >out 2>&1 </dev/null &
  job=$!
  refused 'elsewhere: the job has no such host; allowed are 10.77.0.1, 10.77.0.2, 10.77.0.3, 10.77.0.4' elsewhere
  read -r -a order <<<"$(shuf -i 1-4 --random-source=<(yes "$RANDOM") | tr '\n' ' ')"
  for victim in "${order[@]:0:3}"; do
    sleep 0.$((RANDOM % 900 + 100))
    "$bin/mpiexec" -leave "10.77.0.$victim" $job || fail "the job does not leave host $victim"
    # Its launcher's proxy there ends by itself.
    for ((i = 0; i < 100; i++)); do [ -z "$(ip netns pids "h$victim")" ] && break; sleep 0.1; done
    [ -z "$(ip netns pids "h$victim")" ] || fail "something runs on host $victim still"
  done
  refused "10.77.0.${order[3]}: no host would be left" "10.77.0.${order[3]}"
  wait $job || fail "the job has ended with $?"
  grep -q 'No Errors' out || fail "the results are others"
done

rm -rf saved
"$bin/mpiexec" -checkpoint saved -n 2 -nfg 2 "$program" 2500 0 >out 2>&1 </dev/null &
job=$!
refused 'the job was started without names of hosts' 10.77.0.1
kill -USR2 $job
for ((i = 0; i < 300; i++)); do [ -d saved/1 ] && break; sleep 0.1; done
[ -d saved/1 ] || fail "no checkpoint was taken"
kill $job
wait $job
echo " No Errors"
