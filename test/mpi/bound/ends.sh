# Programs with FGmpiexec: how they end, and what is said where their maps are wrong.   ends.sh BIN PROGRAMS
set -u
bin=$1 pipeline=$2/pipeline exits=$2/exits failed=0
fail() { echo "FAILED $*"; head -5 <<<"$out"; failed=1; }
ends() { # ends STATUS LINES REGEX COMMAND...: with this status, and as many lines that match
  local status=$1 lines=$2 regex=$3 is
  shift 3
  out=$(timeout 100 "$@" 2>&1 </dev/null)
  is=$?
  [ $is = "$status" ] || fail "$*: exit status $is, not $status"
  [ "$(grep -cE "$regex" <<<"$out")" = "$lines" ] || fail "$*: not $lines lines with: $regex"
}
for shape in 1x1 1x4 4x1 3x2 64x2; do
  c=${shape%x*} p=${shape#*x}
  ends 0 1 "^ No Errors$" "$bin/mpirun" -nfg "$c" -n "$p" "$pipeline" $((c * p))
  ends 0 1 "^ No Errors$" env FGMAP=random FGMPI_SCHED=random:3 "$bin/mpirun" -nfg "$c" -n "$p" "$pipeline" $((c * p))
  # main returns without FGmpiexec: it runs once a process.
  ends 0 "$p" "^Usage: " "$bin/mpirun" -nfg "$c" -n "$p" "$pipeline"
done
ends 1 2 "FGmpiexec.*the map has no function for rank [03] .*allowed is" env FGMAP=nobody "$bin/mpirun" -nfg 3 -n 2 "$pipeline" 6
ends 12 1 "FGmpiexec.*looks up the map returned a null pointer" env FGMAP=other "$bin/mpirun" -nfg 1 -n 1 "$pipeline" 1
# exit() within a function ends the rank; the others go on, and main too.
ends 5 1 "^main goes on$" "$bin/mpirun" -nfg 4 -n 1 "$exits" 2 5
ends 5 0 "^main goes on$" "$bin/mpirun" -nfg 4 -n 1 "$exits" 0 5
# Ranks with variables of their own run main and the map's actions each.
ends 0 6 "^main goes on$" env FGMPI_PRIVATIZE=on "$bin/mpirun" -nfg 3 -n 2 "$exits" -1 0
exit $failed
