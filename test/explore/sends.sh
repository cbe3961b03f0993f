# mpiexec -explore on programs in which it matters whether a standard send is buffered.
#   sends.sh BIN FOLDER
. "$(dirname "$0")/common.sh" "$1" "$2" sends
# deadlock WHICH: of two executions one, in which no send is buffered, ends in a deadlock; the witness repeats it.
deadlock() {
  explored 86 2 2 "$1"
  grep -q "deadlock: ranks wait for ever" out && grep -q "in 1 of 2 executions" out || fail "the deadlock of $1"
  run 86 -replay sends-1.witness
  grep -q "deadlock: ranks wait for ever" out || fail "replay of the deadlock of $1"
}
deadlock head_to_head
deadlock isend_wait
explored 0 1 2 isend_receive
explored 0 1 2 bsend
run 86 -explore -n 3 "$programs" slack
grep -q "ends with status 3" out && grep -q ": all executions explored" out || fail "the message that overtakes"
witness=$(grep -l "^finding .*ends with status 3" sends-*.witness)
run 3 -replay "$witness"
explored 86 2 2 test_send
no_folder_left
echo "all numbers are right"
