# mpiexec -explore on programs in which it matters who leaves a collective early.
#   collectives.sh BIN FOLDER
. "$(dirname "$0")/common.sh" "$1" "$2" collectives
# deadlock WHICH MANY: of this many executions all but one, in which too few leave early, end in a deadlock; the witness
# repeats it.
deadlock() {
  explored 86 "$2" 3 "$1"
  grep -q "deadlock: ranks wait for ever" out && grep -q "in $(($2 - 1)) of $2 executions" out || fail "the deadlock of $1"
  run 86 -replay collectives-1.witness
  grep -q "deadlock: ranks wait for ever" out || fail "replay of the deadlock of $1"
}
deadlock leave_bcast 2
deadlock leave_reduce 2
deadlock leave_scatter 3
explored 86 1 3 stay_allreduce
run 86 -explore -n 3 "$programs" overtake
grep -q "ends with status 3" out && grep -q ": all executions explored" out || fail "the message that overtakes"
witness=$(grep -l "^finding .*ends with status 3" collectives-*.witness)
grep -q "^choice .* leave rank 0" "$witness" || fail "the witness does not say that the root leaves"
run 3 -replay "$witness"
run 86 -explore -n 4 "$programs" barrier_behind_send
grep -q "2 different outputs" out && grep -q ": all executions explored" out || fail "the barrier behind a send"
explored 0 8 3 ordered_rounds
run 0 -n 3 "$programs" all_kinds
for ranks in 2 3 5; do
  run 0 -fuzz 60 -n $ranks "$programs" all_kinds
  grep -q "60 executions, 0 findings" out || fail "all kinds of collectives with $ranks ranks"
done
run 0 -explore=200 -n 3 "$programs" all_kinds
no_folder_left
echo "all numbers are right"
