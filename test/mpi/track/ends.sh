# However a rank ends, the tracker changes neither the messages nor the status of the job, nothing hangs, and the files
# hold what was recorded until then: ends without MPI_Finalize, aborts, killed processes, deadlocks; sessions before, beside and after MPI_Init.
. "$(dirname "$0")/begin.bash"
source=$sources/ends.c
export FGMPI_TRACK="files:raw"

# traced C P STATUS ARGUMENTS...: runs ends, whose status is the one it has without the tracker; reads its files in every way.
traced() {
  local c=$1 p=$2 status=$3 got
  shift 3
  rm -rf trace
  timeout -s KILL 60 "$bin/mpiexec" -track trace -n "$p" -nfg "$c" "$folder/ends" "$@" >out 2>&1
  got=$?
  [ $got = "$status" ] || fail "ends $* at ${c}x$p: status $got, not $status: $(head -3 out)"
  "$dump" --quiet --check --otf2 --json trace || fail "ends $* at ${c}x$p: fgmpi-track-dump"
  "$dump" trace >summary || fail "ends $* at ${c}x$p: fgmpi-track-dump"
  "$dump" --comms trace >comms || fail "ends $* at ${c}x$p: fgmpi-track-dump --comms"
  "$dump" --events --no-times trace >events || fail "ends $* at ${c}x$p: fgmpi-track-dump --events"
  python3 -c 'import json; json.load(open("trace/trace.json"))' || fail "ends $* at ${c}x$p: trace.json"
  if command -v otf2-print >/dev/null; then
    otf2-print trace/traces.otf2 >otf2 2>otf2.errors || fail "ends $* at ${c}x$p: otf2-print: status $?"
    [ -s otf2.errors ] && fail "ends $* at ${c}x$p: otf2-print: $(head -3 otf2.errors)"
    [ "$(grep -c '^ENTER ' otf2)" = "$(wc -l <events)" ] ||
      fail "ends $* at ${c}x$p: $(grep -c '^ENTER ' otf2) calls in traces.otf2, $(wc -l <events) in the trace"
  fi
}

# definitions C P: what ends makes at any shape, and the records of every rank.
definitions() {
  local ranks=$(($1 * $2))
  grep -q "^communicators: 5 (4 of several processes, 0 inter, 1 self-like) in 4 groups, $((4 * ranks)) records" summary ||
    fail "at ${1}x$2: $(cat summary)"
  grep -q "^group 0 world size $ranks members 0 1" comms || fail "at ${1}x$2: $(cat comms)"
  [ "$(grep -c ' MPI_Allreduce comm 1 ' events)" = $((10 * ranks)) ] ||
    fail "at ${1}x$2: $(grep -c ' MPI_Allreduce comm 1 ' events) of $((10 * ranks)) records of MPI_Allreduce"
}

for shape in "1 4" "4 1" "64 2"; do
  # shellcheck disable=SC2086
  set -- $shape
  for end in "return:5" "exit:3" "_exit:3" "zero:0"; do
    mode=${end%:*} status=${end#*:}
    # All, and one: those take part in the unification all the same.
    traced "$1" "$2" "$status" "$mode"
    definitions "$1" "$2"
    grep -q 'unified by the job' summary || fail "$mode at ${1}x$2: $(cat summary)"
    grep -q "^files: $2 processes, $2 of them not ended in order" summary || fail "$mode at ${1}x$2: $(cat summary)"
    traced "$1" "$2" "$status" "$mode" 1
    definitions "$1" "$2"
    grep -q 'unified by the job' summary || fail "$mode 1 at ${1}x$2: $(cat summary)"
    grep -q "^files: $2 processes, 1 of them not ended in order" summary || fail "$mode 1 at ${1}x$2: $(cat summary)"
    [ "$(grep -c ' MPI_Finalize$' events)" = $(($1 * $2 - 1)) ] || fail "$mode 1 at ${1}x$2: MPI_Finalize of the others"
    grep -q deadlock out && fail "$mode 1 at ${1}x$2: $(cat out)"
  done
  # Others wait for that one: a deadlock, as without the tracker.
  traced "$1" "$2" 3 exit 1 waits
  definitions "$1" "$2"
  grep -q '^fgmpi: deadlock' out || fail "exit 1 waits at ${1}x$2: $(cat out)"
  grep -q 'MPI_Recv (not returned)' events || fail "exit 1 waits at ${1}x$2: no call that did not return"
  traced "$1" "$2" 7 abort 2
  definitions "$1" "$2"
  grep -q 'rank 2 called MPI_Abort with error code 7' out || fail "abort at ${1}x$2: $(cat out)"
  grep -q '^rank 2 MPI_Abort (not returned)' events || fail "abort at ${1}x$2: MPI_Abort is not there"
  traced "$1" "$2" 9 kill 3
  definitions "$1" "$2"
  grep -q 'unified by this program' summary || fail "kill at ${1}x$2: $(cat summary)"
  traced "$1" "$2" 1 deadlock
  definitions "$1" "$2"
  grep -q '^fgmpi: deadlock' out || fail "deadlock at ${1}x$2: $(cat out)"
  [ "$(grep -c 'MPI_Recv (not returned)' events)" = $(($1 * $2)) ] || fail "deadlock at ${1}x$2: $(grep -c 'not returned' events)"
done

# On the system's MPICH, where keys are broadcast: they are complete although the job was not.
if command -v mpicc.mpich >/dev/null && command -v mpiexec.hydra >/dev/null; then
  mpicc.mpich -w -g "$source" -o host || fail "mpicc.mpich"
  for mode in "abort 2" "kill 1"; do
    rm -rf host.trace
    # shellcheck disable=SC2086
    FGMPI_TRACK_DIR=host.trace timeout -s KILL 100 mpiexec.hydra -n 4 \
      env LD_PRELOAD="$(cd "$bin/../lib" && pwd)/libfgmpi-track.so" ./host $mode >out 2>&1 && fail "$mode on MPICH went well"
    "$dump" host.trace >summary && "$dump" --comms host.trace >comms && "$dump" --events host.trace >events ||
      fail "$mode on MPICH: fgmpi-track-dump"
    definitions 4 1
  done
  # A second job in the same folder leaves the first one's files alone.
  FGMPI_TRACK_DIR=host.trace timeout 100 mpiexec.hydra -n 2 env LD_PRELOAD="$(cd "$bin/../lib" && pwd)/libfgmpi-track.so" \
    ./host if >out 2>&1 || fail "a second job in a folder: status $?: $(head -5 out)"
  [ "$("$dump" host.trace | grep -c '^job ')" = 2 ] || fail "two jobs in a folder: $("$dump" host.trace)"
fi

# Sessions before, beside and after the world; what delete functions of MPI_COMM_SELF's attributes make in MPI_Finalize.
# STEPS COMMUNICATORS
for line in "s 1" "ss 2" "if 2" "iaf 3" "ia 3" "sif 3" "sisf 4" "isfs 4" "ifss 4" "ssiaf 5"; do
  # shellcheck disable=SC2086
  set -- $line
  traced 3 2 0 "$1"
  grep -q "^communicators: $2 (.* unified by" summary || fail "$1: not $2 communicators: $(cat summary)"
  # A rank that only ended its world without MPI_Finalize is not ended in order.
  in_order=$([ "$1" = ia ] && echo 2 || echo 0)
  grep -q "^files: 2 processes, $in_order of them not ended in order" summary || fail "$1: $(cat summary)"
  "$dump" --leaks trace | grep -q '^leaked: none' || fail "$1: $("$dump" --leaks trace)"
  grep -q 'comm 4294967295' events && fail "$1: events on a communicator without a number: $(grep -m1 4294967295 events)"
  [ "$(grep -c ' created comm ' events)" = "$(grep -c ' freed comm ' events)" ] || fail "$1: $(cat events)"
done
echo ok
