# The execution of a witness of mpiexec -explore is recorded, and repeats.
. "$(dirname "$0")/common.sh"
cp "$programs/chosen" chosen
timeout 100 "$bin/mpiexec" -explore -ranks 3 ./chosen >explored 2>&1
[ -f chosen-1.witness ] || fail "no witness: $(cat explored)"
recorded 0 -ranks 3 ./chosen
recorded 9 -replay chosen-1.witness
grep -qx "message of rank 2" out.recorded || fail "another execution"
repeated 9
"$bin/mpiexec" -rewind run.rec -events >all 2>/dev/null
grep -q "^[0-9]* rank 0 MPI_Abort" all || fail "-events: $(cat all)"
printf 'rank 0\nback\nsender\nquit\n' | "$bin/mpiexec" -rewind run.rec -goto last >out || fail "-goto: status"
grep -qE "^at [0-9]+ of [0-9]+: rank 0 MPI_Recv any rank" out || fail "-goto: $(cat out)"
grep -q "^sender: the run follows a witness" out || fail "sender: $(cat out)"
sed -i 's/^finding/# finding/' chosen-1.witness
"$bin/mpiexec" -rewind run.rec >out.repeated 2>err.repeated && fail "a changed witness: accepted"
grep -q "chosen-1.witness is another" err.repeated || fail "a changed witness: not named: $(cat err.repeated)"
