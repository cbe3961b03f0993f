# Runs that use files in /dev/shm repeat, again and again, whatever lies there: a repeated run touches nothing there.
. "$(dirname "$0")/common.sh"
name=fgmpi-test-$$
trap 'rm -rf "$scratch" /dev/shm/*"$name"-*' EXIT
# lies WORDS: what lies in /dev/shm of the run is only the given file, with this text.
lies() {
  [ "$(cd /dev/shm && echo *"$name"-*)" = "$name-given" ] || fail "$1: $(ls /dev/shm)"
  [ "$(cat "/dev/shm/$name-given")" = "$2" ] || fail "$1: the given file has been changed: $(cat "/dev/shm/$name-given")"
}
for ranks in 1 4 100; do
  echo "a line" >/dev/shm/$name-given
  recorded 0 -ranks $ranks "$programs/shared" $name
  [ "$(grep -c ' before, closed on exec: 1$' out.recorded)" = $((3 * ranks)) ] || fail "not three rounds of $ranks ranks"
  [ "$(grep -c ': round 2, made' out.recorded)" = 1 ] || fail "not one rank has made the memory"
  grep -q "^0: semaphore $ranks$" out.recorded || fail "the semaphore was not posted $ranks times"
  rm /dev/shm/$name-given
  echo "another" >/dev/shm/$name-given
  repeated 0
  repeated 0
  lies "repeated twice" another
  # A name that the run makes exists, and the given one does not.
  mv /dev/shm/$name-given /dev/shm/$name-cells
  repeated 0
  [ "$(cat /dev/shm/$name-cells)" = another ] || fail "the file of another has been changed"
  rm /dev/shm/$name-cells
done
# The limit of open files may be low.
echo "a line" >/dev/shm/$name-given
(ulimit -Sn 1007 && recorded 0 -ranks 4 "$programs/shared" $name && rm /dev/shm/$name-given && repeated 0) || exit 1
timeout 100 "$bin/mpiexec" -rewind run.rec -check </dev/null >out.repeated 2>err.repeated
cmp -s out.recorded out.repeated || fail "-check: other output: $(cat err.repeated)"
