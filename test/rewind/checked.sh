# mpiexec -rewind FILE -check: what a recorded run did wrong is found as by mpiexec -check, and the program sees what it saw.
. "$(dirname "$0")/common.sh"
# without_heap FILE: the output, without addresses of blocks: the library takes memory for the checker, too.
without_heap() { sed -E 's/: 0x[0-9a-f]+, stack/: stack/' "$1"; }
# checked STATUS: run.rec is checked, and the program prints the same.
checked() {
  timeout 60 "$bin/mpiexec" -rewind run.rec -check </dev/null >out.repeated 2>err.repeated
  got=$?
  [ $got = "$1" ] || fail "-rewind -check: status $got instead of $1: $(cat err.repeated)"
  diff <(without_heap out.recorded) <(without_heap out.repeated) >differences || fail "-rewind -check: other output: $(head -n 4 differences)"
}
for ranks in 2 5; do
  recorded 0 -ranks $ranks "$programs/mistakes"
  checked 0
  for kind in "leak 0 leaks:" "types 0 types:" "deadlock 1 deadlock:" "root 7 collectives:"; do
    set -- $kind
    recorded "$2" -ranks $ranks "$programs/mistakes" "$1"
    checked 86
    grep -q "fgmpi: check: $3" err.repeated || fail "$1 is not found: $(cat err.repeated)"
    grep -qE "at .*mistakes.c:[0-9]+ \(make_mistake\)" err.repeated || fail "$1: no line: $(cat err.repeated)"
    # As in a run of its own, but for what the report of the job itself says.
    timeout 60 "$bin/mpiexec" -check -n 1 -nfg $ranks "$programs/mistakes" "$1" >/dev/null 2>err.live
    diff <(sed -n '/fgmpi: check:/,$p' err.live) <(sed -n '/fgmpi: check:/,$p' err.repeated) || fail "$1: other findings"
  done
done

# Only some kinds; a report in a file; wrong options.
recorded 0 -ranks 3 "$programs/mistakes" leak
"$bin/mpiexec" -rewind run.rec -check=types >/dev/null 2>err.repeated || fail "-check=types: status"
"$bin/mpiexec" -rewind run.rec -check -check-report findings.json >/dev/null 2>&1
grep -q '"leaks"' findings.json || fail "-check-report: no finding"
"$bin/mpiexec" -rewind run.rec -check -events 2>err.repeated && fail "-check -events is allowed"
grep -q "allowed beside it are" err.repeated || fail "-check -events: no words"
