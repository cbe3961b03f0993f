# A run repeats whatever the standard files of mpiexec are: the libraries that it loads see those of the recorded run.
# libloaded.so takes memory by what they are; mistakes.c prints addresses.
. "$(dirname "$0")/common.sh"
run="-ranks 3 -env LD_PRELOAD $programs/libloaded.so $programs/mistakes"
# same WORDS: the last output is the recorded one, and the library has said what it says.
same() {
  cmp -s out.recorded out.repeated || fail "$1: other output: $(cat err.repeated)"
  [ "$(grep -c '^loaded$' err.repeated)" = 1 ] || fail "$1: standard error: $(cat err.repeated)"
}
rewind() { timeout 60 "$bin/mpiexec" -rewind run.rec "$@"; }
# from_all WORDS: repeats what was recorded with other files.
from_all() {
  rewind </dev/null >out.repeated 2>err.repeated
  same "$1: files"
  { rewind 2>&1 >&3 3>&- </dev/null | cat >err.repeated; } 3>out.repeated
  same "$1: a pipe as standard error"
  rewind 2>err.repeated </dev/null | cat >out.repeated
  same "$1: a pipe as standard output"
  rewind 2>err.repeated <&- | cat >out.repeated
  same "$1: no standard input"
  rewind 3<"$here/files.sh" 7>/dev/null 2>err.repeated >out.repeated
  same "$1: other descriptors"
  rewind -events 2>err.repeated >/dev/null
  grep "differs" err.repeated && fail "$1: -events"
  if command -v script >/dev/null; then
    script -qec "$bin/mpiexec -rewind run.rec 2>err.repeated" /dev/null </dev/null | tr -d '\r' >out.repeated
    same "$1: a terminal"
  fi
}

recorded 0 $run
from_all "recorded with files"
echo "in a file" >words
"$bin/mpiexec" -record run.rec $run <words 2>&1 >out.recorded | cat >err.recorded
from_all "recorded with a pipe"
"$bin/mpiexec" -record run.rec $run <&- 5<words >out.recorded 2>err.recorded
from_all "recorded without standard input"
if command -v script >/dev/null; then
  script -qec "$bin/mpiexec -record run.rec $run" /dev/null </dev/null | tr -d '\r' | grep -v '^loaded$' >out.recorded
  from_all "recorded in a terminal"
fi

# What cannot be loaded is said.
cp "$programs/libloaded.so" .
recorded 0 -ranks 2 -env LD_PRELOAD "$PWD/libloaded.so" "$programs/mistakes"
rm libloaded.so
rewind >out.repeated 2>err.repeated </dev/null
grep -q "libloaded.so" err.repeated || fail "a library that is missing: $(cat err.repeated)"
