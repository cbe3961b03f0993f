# Ranks that wait for locks of each other take turns in a recorded run, which repeats: no thread waits for them.
. "$(dirname "$0")/common.sh"
for ranks in 1 2 4 9 64; do
  recorded 0 -ranks $ranks "$programs/locks"
  for lines in "has the plain one" "has the recursive one" "has that of C11" passes; do
    [ "$(grep -c "$lines" out.recorded)" = $ranks ] || fail "$ranks ranks: not $ranks lines: $lines"
  done
  [ "$(grep -c 'is the one' out.recorded)" = 1 ] || fail "$ranks ranks: more than one at the barrier"
  [ "$(grep ': turn' out.recorded | sort -n -k 4 | tail -n 1 | grep -c "turn $((3 * ranks - 1))$")" = 1 ] || fail "$ranks ranks: turns are missing"
  repeated 0
  repeated 0
done
# The checker may look.
timeout 100 "$bin/mpiexec" -rewind run.rec -check </dev/null >out.repeated 2>err.repeated
cmp -s out.recorded out.repeated || fail "-check: other output: $(cat err.repeated)"
# From a snapshot, too; and outside of recorded runs.
events=$(timeout 60 "$bin/mpiexec" -rewind run.rec -events | wc -l)
printf 'goto %s\nback 2\nquit\n' $((events / 2)) | timeout 100 "$bin/mpiexec" -rewind run.rec -goto last >out.listed 2>err.repeated || fail "-goto: $(cat err.repeated)"
grep -q differs err.repeated && fail "-goto: $(cat err.repeated)"
for shape in "-n 1 -nfg 4" "-n 1 -nfg 9"; do
  timeout 60 "$bin/mpiexec" $shape "$programs/locks" >out.listed 2>&1 || fail "$shape: $(tail -n 3 out.listed)"
done
