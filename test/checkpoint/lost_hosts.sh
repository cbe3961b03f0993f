#!/bin/bash
# Jobs on several hosts of which some are lost at moments that are drawn (-restart-on-failure): the job goes on without them, and its
# results are those of a job that nobody has disturbed. In turn, all processes of a host are killed, its launcher's too, and the link
# of a host is taken down. With all hosts lost, the job ends with an error. Ends with status 77 where no hosts can be made.
#   lost_hosts.sh BIN_FOLDER WORK_FOLDER PROGRAM COUNT [OPTION...]     OPTION: of mpiexec, such as -ft
set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
if [ -z "${MULTIHOST_HOSTS:-}" ]; then
  work=$2
  rm -rf "$work" && mkdir -p "$work" || exit 1
  words=$(printf ' %q' "$source/test/checkpoint/lost_hosts.sh" "$@")
  exec "$source/scripts/test-multihost" --build "$1/.." --hosts 4 --processes 2 --shell "bash$words"
fi

bin=$1 work=$2 program=$3 count=$4
shift 4
cd "$work" || exit 1
name=steps.$$
cp "$program" "./$name"
RANDOM=${SEED-1}
export FGMPI_PEER_TIMEOUT=5
fail() { echo "lost_hosts.sh: $*" >&2; tail -n 30 out >&2; exit 1; }
kill_host() { # kill_host I: all processes of the host end at once
  local pids
  pids=$(ip netns pids "h$1")
  # shellcheck disable=SC2086
  [ -z "$pids" ] || kill -KILL $pids 2>/dev/null
}
unplug() { ip link set "v$1" down; }
latest() { find saved -maxdepth 1 -name '[0-9]*' ! -name '*.tmp' -printf '%f\n' | sort -n | tail -1; }
# ranks_go_on LINES: waits until so many restarts have said that they go on, and the job saves again or has ended. Before its proxies
# have connected, hydra does not notice that a host is lost.
ranks_go_on() {
  local i before
  for ((i = 0; i < 900; i++)); do
    if [ -z "${before:-}" ] && [ "$(grep -c 'the job goes on from checkpoint' out)" -ge "$1" ]; then before=$(latest); fi
    [ -n "${before:-}" ] && [ "$(latest)" -gt "$before" ] && return
    kill -0 $job 2>/dev/null || return
    sleep 0.1
  done
  fail "no restart within a minute and a half"
}
start_job() { # start_job STEPS OPTION...: in $job
  local steps=$1
  shift
  rm -rf saved
  # shellcheck disable=SC2086
  "$bin/mpiexec" -checkpoint saved -checkpoint-every 200ms -restart-on-failure "$@" $MULTIHOST_OPTIONS -n 8 -nfg 2 "./$name" "$steps" 0 \
    >out 2>&1 </dev/null &
  job=$!
  for ((i = 0; i < 300; i++)); do [ -d saved/1 ] && break; sleep 0.1; done
  [ -d saved/1 ] || fail "no checkpoint was taken"
}
end_all() {
  local i
  for i in 1 2 3 4; do kill_host $i; ip link set "v$i" up; done
}

# A list in an option, or a file of hosts.
tr , '\n' <<<"$MULTIHOST_HOSTS" >hosts
lost=0 jobs=0
while [ $lost -lt "$count" ]; do
  jobs=$((jobs + 1)) here=0
  if [ $((jobs % 2)) = 1 ]; then how=(-hosts "$MULTIHOST_HOSTS"); else how=(-f "$work/hosts"); fi
  start_job 1500 "$@" "${how[@]}"
  for victim in $(shuf -i 1-4 -n 3 --random-source=<(yes "$RANDOM")); do
    [ $lost -lt "$count" ] || break
    sleep 0.$((RANDOM % 900 + 100))
    kill -0 $job 2>/dev/null || fail "the job has ended before $((here + 1)) hosts were lost"
    lost=$((lost + 1)) here=$((here + 1))
    if [ $((lost % 2)) = 1 ]; then kill_host "$victim"; else unplug "$victim"; fi
    ranks_go_on $here
    left=$((8 - 2 * here))
    grep -q "host 10.77.0.$victim was lost: the job goes on from checkpoint [0-9]* with $left processes: 2 on 10.77.0" out ||
      fail "nobody said that host $victim was lost"
  done
  wait $job || fail "the job ended with $? behind the loss of $here hosts"
  grep -q 'No Errors' out || fail "the results are others behind the loss of $here hosts"
  end_all
done
echo "$lost hosts were lost by $jobs jobs"

start_job 5000 "$@" -hosts 10.77.0.1:8
kill_host 1
wait $job && fail "the job without hosts ended well"
grep -q 'mpiexec: -restart-on-failure: host 10.77.0.1 was lost: no host is left' out || fail "nobody said that no host is left"
end_all
echo " No Errors"
