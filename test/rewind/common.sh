# What the tests of mpiexec -record and -rewind share. To be sourced with BIN and the FOLDER of the programs.
set -u
bin=$1
programs=$2
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
input=/dev/null
fail() {
  echo "FAILED: $*"
  tail -n 5 out.recorded err.recorded out.repeated err.repeated 2>/dev/null
  exit 1
}
# recorded STATUS OPTION... PROGRAM ARGUMENT...: the run is recorded in run.rec and ends with this status.
recorded() {
  wanted=$1
  shift
  timeout 60 "$bin/mpiexec" -record run.rec "$@" <"$input" >out.recorded 2>err.recorded
  got=$?
  [ $got = "$wanted" ] || fail "-record $*: status $got instead of $wanted"
}
# repeated STATUS: run.rec repeats with this status, and with the same bytes on standard output.
repeated() {
  timeout 60 "$bin/mpiexec" -rewind run.rec </dev/null >out.repeated 2>err.repeated
  got=$?
  [ $got = "$1" ] || fail "-rewind: status $got instead of $1"
  cmp -s out.recorded out.repeated || fail "-rewind: other output"
}
