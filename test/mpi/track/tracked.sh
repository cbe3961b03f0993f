# Traces of pattern.c: the same definitions whatever the shape, the way to keys and groups and the MPI library, peers that
# translate to what a trace with world ranks recorded, files that analysers read, and what an aborted job leaves.
. "$(dirname "$0")/begin.bash"

# trace NAME SETTINGS MPIEXEC-ARGUMENTS...: traces pattern into the folder NAME; its definitions go to NAME.comms.
trace() {
  local name=$1 settings=$2
  shift 2
  FGMPI_TRACK="$settings" timeout 100 "$bin/mpiexec" -track "$name" "$@" >"$name.out" 2>&1 ||
    fail "$name: status $?: $(head -5 "$name.out")"
  "$dump" --check --quiet "$name" || fail "$name: the job's own unification is another one"
  "$dump" "$name" | grep -q 'unified by the job' || fail "$name: was not unified by the job"
  "$dump" --comms "$name" >"$name.comms" || fail "$name: fgmpi-track-dump --comms"
}
same() {
  diff "$1" "$2" >diff.out || fail "$1 and $2 differ: $(head -5 diff.out)"
}

# One program, one answer: 6 ranks in 1, 2, 3 and 6 processes.
trace one "" -n 1 -nfg 6 "$folder/pattern"
grep -q '^comm 0 group 0 by MPI_Init "MPI_COMM_WORLD"' one.comms || fail "the world has not number 0: $(cat one.comms)"
grep -q '^group 0 world size 6 members 0 1 2 3 4 5' one.comms || fail "group of the world: $(head -1 one.comms)"
[ "$(grep -c 'by MPI_Comm_dup$' one.comms)" = 23 ] || fail "18 duplicates of world, 4 of self, 1 of an intercommunicator: $(cat one.comms)"
trace two "" -n 2 -nfg 3 "$folder/pattern"
trace six "files:raw" -n 6 -nfg 1 "$folder/pattern"
trace broadcast "keys:broadcast;files:raw" -n 2 -nfg 3 "$folder/pattern"
trace gather "groups:gather;files:raw" -n 3 -nfg 2 "$folder/pattern"
trace paper "keys:broadcast;groups:gather;files:raw" -n 1 -nfg 6 "$folder/pattern"
for other in two six broadcast gather paper; do same one.comms $other.comms; done

# The same on the system's MPICH.
if command -v mpicc.mpich >/dev/null && command -v mpiexec.hydra >/dev/null; then
  mpicc.mpich -w -O1 -g "$sources/pattern.c" -o host || fail "mpicc.mpich"
  FGMPI_TRACK="" FGMPI_TRACK_DIR=$scratch/host.trace timeout 200 mpiexec.hydra -n 6 \
    env LD_PRELOAD="$library" ./host >host.out 2>&1 || fail "on MPICH: status $?: $(head -5 host.out)"
  "$dump" --check --quiet host.trace || fail "on MPICH: the job's own unification is another one"
  "$dump" --comms host.trace >host.comms
  same one.comms host.comms
fi

# Several threads of a rank in MPI at once, each a thread of the trace.
check_threads() {  # TRACE RANKS
  local received='comm 0 from [0-9]* tag 1*[123] bytes 4 request [0-9]*' sent='sent request [0-9]*' waits
  "$dump" --check --quiet "$1" || fail "$1: the job's own unification is another one"
  "$dump" --events --no-times "$1" | grep MPI_Waitall >"$1.waits"
  waits=$(grep -c "thread [123] MPI_Waitall $received $received $sent $sent\$" "$1.waits")
  [ "$waits" = $((600 * $2)) ] || fail "$1: $waits whole completions of $((600 * $2)): $(head -3 "$1.waits")"
  # Each request is completed once.
  sed 's/^\(rank [0-9]*\) .*MPI_Waitall/\1/; s/[^ ]* tag [0-9]* bytes//g' "$1.waits" |
    awk '{ for (i = 3; i < NF; i++) if ($i == "request" && seen[$2, $(i + 1)]++) exit 1 }' || fail "$1: a request is completed twice"
}
if command -v mpicc.mpich >/dev/null && command -v mpiexec.hydra >/dev/null; then
  mpicc.mpich -w -O1 -pthread "$sources/threads.c" -o threads || fail "mpicc.mpich threads.c"
  FGMPI_TRACK="" FGMPI_TRACK_DIR=$scratch/host.threads timeout 100 mpiexec.hydra -n 2 \
    env LD_PRELOAD="$library" ./threads >threads.out 2>&1
  case $? in
    0) check_threads host.threads 2 ;;
    77) ;;  # this MPICH grants less
    *) fail "threads: $(head -5 threads.out)" ;;
  esac
fi
for shape in "1 2" "4 1" "2 3"; do
  name=threads.${shape/ /x}
  FGMPI_TRACK="" timeout 100 "$bin/mpiexec" -track "$name" -n ${shape% *} -nfg ${shape#* } "$folder/threads" >threads.out 2>&1 ||
    fail "$name: status $?: $(head -5 threads.out)"
  check_threads "$name" $((${shape% *} * ${shape#* }))
done

# Local ranks, translated by the reader, are what the original scheme records.
trace global "record:global;files:raw" -n 2 -nfg 3 "$folder/pattern"
"$dump" --events --global --no-times two >two.events
"$dump" --events --global --no-times global >global.events
[ "$(wc -l <two.events)" -gt 600 ] || fail "only $(wc -l <two.events) events"
same two.events global.events
"$dump" --events --no-times two | diff -q - two.events >/dev/null && fail "local ranks are world ranks already"

# Files for analysers.
if command -v otf2-print >/dev/null; then
  otf2-print two/traces.otf2 >otf2.events 2>otf2.errors || fail "otf2-print: status $?"
  [ -s otf2.errors ] && fail "otf2-print: $(head -3 otf2.errors)"
  for event in MPI_ISEND MPI_IRECV MPI_SEND MPI_RECV MPI_COLLECTIVE_END COMM_CREATE COMM_DESTROY NON_BLOCKING_COLLECTIVE_COMPLETE; do
    grep -q "^$event " otf2.events || fail "no event $event in traces.otf2"
  done
  [ "$(grep -c '^ENTER ' otf2.events)" = "$(grep -c '^LEAVE ' otf2.events)" ] || fail "calls without end in traces.otf2"
  otf2-print -G two/traces.otf2 >otf2.definitions 2>otf2.errors || fail "otf2-print -G: status $?"
  [ -s otf2.errors ] && fail "otf2-print -G: $(head -3 otf2.errors)"
  [ "$(grep -c 'Type: COMM_SELF' otf2.definitions)" = 1 ] || fail "not one group for all self-like communicators"
  [ "$(grep -c 'Type: COMM_LOCATIONS' otf2.definitions)" = 1 ] || fail "not one list of locations"
fi
"$dump" --quiet --json two || fail "--json"
python3 -c 'import json, sys; t = json.load(open("two/trace.json"))["traceEvents"]
starts, ends = ([e["id"] for e in t if e["ph"] == p] for p in "sf")
sys.exit(not (len(starts) > 50 and sorted(starts) == sorted(ends)))' || fail "trace.json: messages without ends"

# What to record.
trace filtered "calls:MPI_Isend,MPI_Irecv,-MPI_Irecv;files:raw" -n 2 -nfg 3 "$folder/pattern"
same one.comms filtered.comms
[ "$("$dump" --events --no-times filtered | grep -cv ' MPI_Isend ')" = 0 ] || fail "calls:: other calls are recorded"
trace first "first:5;ranks:1-2,4;files:raw" -n 2 -nfg 3 "$folder/pattern"
same one.comms first.comms
[ "$("$dump" --events --no-times first | cut -d' ' -f2 | sort | uniq -c | tr -s ' \n' ' ')" = " 5 1 5 2 5 4 " ] ||
  fail "first: and ranks:: $("$dump" --events --no-times first | cut -d' ' -f2 | sort | uniq -c)"
# A wrong clause is told once, whatever the number of processes, and before the program does anything.
for clause in firts:5 calls: calls:MPI_Bcsat calls:- first:-1 first:1e3 ranks:a ranks:5-2 ranks:99 sample:0 buffer:1 record:all \
  keys:none groups:all report:1 files: files:xml "first:1;first:2"; do
  rm -rf wrong
  FGMPI_TRACK=$clause timeout 60 "$bin/mpiexec" -track wrong -n 4 -nfg 2 "$folder/pattern" >wrong.out 2>&1
  [ $? = 1 ] || fail "$clause: status is not 1: $(cat wrong.out)"
  [ "$(grep -c '^fgmpi-track: FGMPI_TRACK: .*allowed' wrong.out)" = 1 ] || fail "$clause: $(cat wrong.out)"
done
"$bin/mpiexec" -track two -n 1 "$folder/pattern" >again.out 2>&1 && fail "a folder with a trace was taken again"
grep -q -e '-track two: holds a trace already' again.out || fail "a folder with a trace: $(cat again.out)"

# What was left behind, and where it was made.
trace leak "files:raw" -n 2 -nfg 3 "$folder/pattern" leak
"$dump" --leaks two | grep -q '^leaked: none' || fail "leaks of a clean program: $("$dump" --leaks two)"
"$dump" --leaks leak >leaks
[ "$(grep -c 'of MPI_Comm_dup at pattern.c:[0-9]* (main), in 6 ranks' leaks)" = 2 ] || fail "leaks: $(cat leaks)"

# A job that aborts, and one that is killed, leave what was.
FGMPI_TRACK="" timeout 100 "$bin/mpiexec" -track aborted -n 2 -nfg 3 "$folder/pattern" abort >aborted.out 2>&1
[ $? = 7 ] || fail "abort: another status"
"$dump" --comms aborted >aborted.comms || fail "an aborted job's trace cannot be read"
same one.comms aborted.comms
"$dump" --events --no-times aborted | grep -q 'MPI_Recv (not returned)' || fail "the call that did not return is not there"
"$dump" --quiet --otf2 aborted || fail "--otf2 of an aborted job"
FGMPI_TRACK="" timeout -s KILL 20 "$bin/mpiexec" -track stuck -n 1 -nfg 2 "$folder/pattern" stuck >stuck.out 2>&1 && fail "a deadlock went well"
"$dump" --events --no-times stuck | grep -q 'MPI_Recv (not returned)' || fail "a deadlocked job: the waiting call is not there"
echo ok
