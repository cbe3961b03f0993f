# What the tests of mpiexec -explore and -predict share: runs and what they must say. To be sourced with BIN, FOLDER of the
# programs and the name of one.
set -u
bin=$1
programs=$2/$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
mkdir tmp
export TMPDIR="$scratch/tmp"
fail() {
  echo "FAILED: $*"
  cat out 2>/dev/null
  exit 1
}
# run STATUS ARGUMENT...: mpiexec ends with this status; its output is in out.
run() {
  wanted=$1
  shift
  "$bin/mpiexec" "$@" >out 2>&1 </dev/null
  got=$?
  [ $got = "$wanted" ] || fail "mpiexec $*: status $got instead of $wanted"
}
# explored STATUS EXECUTIONS RANKS WHICH: all executions, so many.
explored() {
  run "$1" -explore -n "$3" "$programs" "$4"
  grep -qE "^fgmpi: explore: $2 executions?[ ,].*all executions explored\$" out || fail "$4 with $3 ranks: not $2 executions"
  if grep -q "not all executions" out; then fail "$4: not all"; fi
}
# no_folder_left: nothing stays in TMPDIR.
no_folder_left() { [ -z "$(ls tmp)" ] || fail "a folder is left: $(ls tmp)"; }
