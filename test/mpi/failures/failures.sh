#!/usr/bin/env bash
# mpiexec -ft: jobs that go on when processes fail. failures.sh BIN PROGRAMS [REPETITIONS OF THE KILLS]
# Needs LIBFABRIC: parts of it run over the network.
set -u
bin=$1 programs=$2 repetitions=${3:-3}
work=$(mktemp -d /tmp/failures.XXXXXX)
trap 'rm -rf "$work"' EXIT
out=$work/out failed=0
unset FGMPI_NFG FGMPI_RANKS

# job NAME STATUS PATTERN SECONDS COMMAND...: its exit status (a regular expression), and a line of its output.
job() {
  local name=$1 expected=$2 pattern=$3 seconds=$4 status
  shift 4
  timeout -k 5 "$seconds" "$@" </dev/null >"$out" 2>&1
  status=$?
  if ! [[ $status =~ ^($expected)$ ]] || ! grep -qE "$pattern" "$out"; then
    echo "FAILED $name: exit status $status, expected $expected and /$pattern/"
    head -20 "$out"
    failed=1
    return 1
  fi
}

# The status of a job that goes on tells of the process that has failed.
for shape in "2 1" "4 1" "2 3" "3 20"; do
  read -r p c <<<"$shape"
  job "one of $p processes x $c ranks is killed" 137 "^$(((p - 1) * c)) of $((p * c)) ranks are left" 60 \
    "$bin/mpiexec" -ft -n "$p" -nfg "$c" "$programs/one_fails" kill &&
    { [ "$(grep -c 'process .* is gone: .*; the job goes on' "$out")" = 1 ] ||
      { echo "FAILED the loss is not reported once"; cat "$out"; failed=1; }; }
done
job "a rank exits with status 1" 1 "^3 of 4 ranks are left" 60 \
  "$bin/mpiexec" -disable-auto-cleanup -n 4 "$programs/one_fails" exit
for shape in "3 1" "4 2" "3 20"; do
  read -r p c <<<"$shape"
  job "two of $p processes x $c ranks are killed and acknowledged" 137 "^rank 0 has seen all" 60 \
    "$bin/mpiexec" -ft -n "$p" -nfg "$c" "$programs/acknowledged"
done
FGMPI_SCHED=random:3 job "in a random order" 137 "^6 of 9 ranks are left" 60 \
  "$bin/mpiexec" -ft -n 3 -nfg 3 "$programs/one_fails" kill
for transport in shm,ofi ofi; do
  FGMPI_TRANSPORT=$transport job "a farm by $transport loses half of its workers" 137 "^4 workers failed" 60 \
    "$bin/mpiexec" -ft -n 8 "$programs/farm"
done
for transport in shm,ofi ofi; do
  for shape in "3 1" "4 1" "2 3" "3 4"; do
    read -r p c <<<"$shape"
    FGMPI_TRANSPORT=$transport job "windows and files at $shape by $transport" 137 "^rank 0 has seen all" 60 \
      "$bin/mpiexec" -ft -n "$p" -nfg "$c" "$programs/windows" "$work" &&
      { [ "$(grep -c '^rank .* has seen all' "$out")" = $(((p - 1) * c)) ] ||
        { echo "FAILED windows and files at $shape by $transport: not all ranks come to the end"; cat "$out"; failed=1; }; }
  done
  for shape in "2 1" "4 1" "2 3" "3 4"; do
    read -r p c <<<"$shape"
    FGMPI_TRANSPORT=$transport job "operations at $shape by $transport" 137 "^rank 0 has seen all" 60 \
      "$bin/mpiexec" -ft -n "$p" -nfg "$c" "$programs/operations" &&
      { [ "$(grep -c '^rank .* has seen all' "$out")" = $(((p - 1) * c)) ] ||
        { echo "FAILED operations at $shape by $transport: not all ranks come to the end"; cat "$out"; failed=1; }; }
  done
done
# Communicators whose ranks the system has picked, and nobody has used.
for algorithm in centralized shrink_and_balance rank_and_hash; do
  for transport in shm,ofi ofi; do
    for shape in "2 1" "5 1" "3 3"; do
      read -r p c <<<"$shape"
      FGMPI_SYSTEM_RANKED_ALGORITHM=$algorithm FGMPI_TRANSPORT=$transport \
        job "$algorithm at $shape by $transport" 137 "^$(((p - 1) * c)) of $((p * c)) ranks are left" 60 \
        "$bin/mpiexec" -ft -n "$p" -nfg "$c" "$programs/system_ranked" kill
    done
  done
done
# In rounds of persistent collectives; in every eighth one all processes wait for each other.
for shape in "2 1" "5 1" "3 3"; do
  read -r p c <<<"$shape"
  for round in "7" "8" "24 fail"; do
    for communicator in 0 1 2 3; do
      # shellcheck disable=SC2086
      job "round $round of communicator $communicator at $shape" 137 "^$(((p - 1) * c)) of $((p * c)) ranks are left" 60 \
        "$bin/mpiexec" -ft -n "$p" -nfg "$c" "$programs/rounds" $communicator $round
    done
  done
done
# Over a network the loss is learned in the middle of an agreement more often.
for run in 1 2 3 4 5 6; do
  FGMPI_TRANSPORT=ofi job "round 8 of communicator 3 at 5 1 by ofi, run $run" 137 "^4 of 5 ranks are left" 60 \
    "$bin/mpiexec" -ft -n 5 -nfg 1 "$programs/rounds" 3 8
done
# A deadlock of those that are left is reported, also when the process is gone that reports others; and what only the limit of
# buffering holds back is taken in.
for shape in "2 1" "4 1" "3 2" "2 64"; do
  read -r p c <<<"$shape"
  for victim in $((p * c - 1)) 0; do
    left=$(((p - 1) * c))
    who="all $left ranks that have"
    [ "$left" -gt 1 ] || who="the only rank that has"
    job "a deadlock after rank $victim of $p x $c is killed" 137 "^fgmpi: deadlock: $who not ended" 60 \
      "$bin/mpiexec" -ft -n "$p" -nfg "$c" "$programs/stuck" dead $victim
    FGMPI_UNEXPECTED_LIMIT=200k job "a limit gives way after rank $victim of $p x $c is killed" 137 \
      "^$left ranks have all messages" 60 "$bin/mpiexec" -ft -n "$p" -nfg "$c" "$programs/stuck" limit $victim
  done
done
FGMPI_DEADLOCK=report job "a deadlock is reported only" 124 "^fgmpi: deadlock: all 3 ranks" 5 \
  "$bin/mpiexec" -ft -n 4 "$programs/stuck" dead
# A process that ends before the others have started: the job cannot start.
printf '#!/bin/sh\n[ "$PMI_RANK" != "$VICTIM" ] || kill -9 $$\nexec "$@"\n' >"$work/early.sh"
chmod +x "$work/early.sh"
for victim in 0 2; do
  VICTIM=$victim job "process $victim ends at once" 15 "a process has failed before all were connected" 30 \
    "$bin/mpiexec" -ft -n 3 "$work/early.sh" "$programs/stuck" dead
done
# Without -ft the job ends.
job "without -ft" 9 "killed by signal 9" 60 "$bin/mpiexec" -n 3 "$programs/one_fails" kill || true

# Kills at any moment: K of P processes, some time after all have started.
kills() { # kills P C K ROUNDS SEED
  local p=$1 c=$2 k=$3 rounds=$4 seed=$5 job i
  RANDOM=$seed
  rm -rf "$work/pids" && mkdir "$work/pids"
  timeout -k 5 120 "$bin/mpiexec" -ft -n "$p" -nfg "$c" "$programs/random_kills" "$rounds" "$work/pids" \
    </dev/null >"$out" 2>&1 &
  job=$!
  for ((i = 0; i < 2000; i++)); do
    [ "$(find "$work/pids" -name '*[0-9]' | wc -l)" = "$p" ] && break
    sleep 0.01
  done
  for victim in $(shuf -i 0-$((p - 1)) -n "$k" --random-source=<(yes "$seed")); do
    sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
    kill -KILL "$(cat "$work/pids/$((victim * c))")" 2>/dev/null
  done
  wait $job
  local status=$?
  if { [ $status != 0 ] && [ $status != 137 ]; } || ! grep -qE "^[0-9]+ of $((p * c)) ranks are left" "$out"; then
    echo "FAILED kills $*: exit status $status"
    head -20 "$out"
    failed=1
  fi
}
for ((r = 1; r <= repetitions; r++)); do
  kills 4 1 2 300 "$r"
  kills 3 4 1 200 "$((r + 1000))"
  kills 5 1 4 300 "$((r + 2000))"
done
exit $failed
