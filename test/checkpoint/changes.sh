#!/bin/bash
# A job whose processes are killed (-restart-on-failure), or that is to go on in other numbers of processes (-resize), at moments that
# are drawn: its results are those of a job that nobody has disturbed.
#   changes.sh BIN_FOLDER WORK_FOLDER PROGRAM kills|resizes COUNT [EVERY]
# EVERY: so often the program asks for checkpoints itself; 0: mpiexec does, every 200 ms.
set -u
bin=$1 work=$2 program=$3 what=$4 count=$5 every=${6-10}
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
cp "$program" "./steps.$$"
fail() { echo "changes.sh: $*" >&2; tail -n 20 out >&2; pkill -KILL -x "steps.$$"; exit 1; }
options=(-checkpoint saved -n 4 -nfg 3)
[ "$what" = kills ] && options+=(-restart-on-failure)
[ "$every" = 0 ] && options+=(-checkpoint-every 200ms)
RANDOM=${SEED-1}
steps=$((300 + count * 400)) done=0
"$bin/mpiexec" "${options[@]}" "./steps.$$" $steps "$every" > out 2>&1 < /dev/null &
job=$!
for _ in $(seq 200); do [ -d saved/1 ] && break; sleep 0.05; done
[ -d saved/1 ] || fail "no checkpoint was taken"
while [ $done -lt "$count" ] && kill -0 $job 2> /dev/null; do
  sleep 0.$((RANDOM % 400 + 100))
  if [ "$what" = kills ]; then
    victim=$(pgrep -x "steps.$$" | sort -R --random-source=<(yes $RANDOM) | head -1)
    [ -n "$victim" ] && kill -KILL "$victim" && done=$((done + 1)) && sleep 0.6
  else
    "$bin/mpiexec" -resize $((RANDOM % 5 + 1)) $job > asked 2>&1 && done=$((done + 1))
  fi
done
wait $job || fail "the job ended with $? behind $done $what"
grep -q 'No Errors' out || fail "the results are others behind $done $what"
[ $done -gt 0 ] || fail "the job has ended before anything happened"
echo "$done $what"
echo " No Errors"
