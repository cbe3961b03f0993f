# Functions of the tests of mpiexec -check: a folder for the test, runs, and checks of their results. Source it with BIN.
set -u
bin=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
fail() {
  echo "FAILED: $*"
  cat out 2>/dev/null
  exit 1
}
# status WANTED ARGUMENT...: runs mpiexec, which must end with this status; `out` receives its output.
status() {
  local wanted=$1
  shift
  "$bin/mpiexec" "$@" >out 2>&1 </dev/null
  local got=$?
  [ $got = "$wanted" ] || fail "mpiexec $*: status $got instead of $wanted"
}
