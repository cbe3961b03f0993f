# mpiexec -explore on programs that a rank ends early in some orders: MPI_Abort, exit, a crash.
#   ends.sh BIN FOLDER
. "$(dirname "$0")/common.sh" "$1" "$2" ends
# ended STATUS RANKS WHICH HOW: explored to the end.
ended() {
  run "$1" -explore -n "$2" "$programs" "$3" "$4"
  grep -q ": all executions explored" out || fail "$3 $4: not all"
}
for how in abort exit crash; do
  ends="the program ends with status 3"
  [ $how = crash ] && ends="the program is ended by signal 9"
  # The error of a rank that comes to it before another rank's end. Who calls exit() leaves the others going on.
  for which in hidden behind_send; do
    ended 86 4 $which $how
    grep -q "types: a message is received with other types" out || fail "the error before the end by $how"
    [ $how = exit ] && continue
    grep -q "explore: 2 executions .*, 2 findings" out || fail "two executions that end by $how"
    [ "$(grep -c "^fgmpi: explore: $ends" out)" = 2 ] || fail "the two ends by $how"
  done
  # The end in one order of 6 of a program that makes the same error in all.
  ended 86 4 error_and_end $how
  grep -q "in 5 of 6 executions" out && grep -q "in 1 of 6 executions" out && grep -q "explore: $ends" out || fail "the end beside the error by $how"
  # Of three orders one ends early and one in a deadlock.
  ended 86 4 end_or_deadlock $how
  grep -q "deadlock: ranks wait for ever" out && grep -q "explore: $ends" out || fail "the deadlock beside the end by $how"
done
no_folder_left
echo "all numbers are right"
