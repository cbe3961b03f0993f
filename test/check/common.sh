# What the tests of mpiexec -check share: a folder of their own, runs and what they must end with. To be sourced with BIN.
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
# status WANTED ARGUMENT...: mpiexec ends with this status; its output is in out.
status() {
  local wanted=$1
  shift
  "$bin/mpiexec" "$@" >out 2>&1 </dev/null
  local got=$?
  [ $got = "$wanted" ] || fail "mpiexec $*: status $got instead of $wanted"
}
