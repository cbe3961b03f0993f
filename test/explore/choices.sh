# mpiexec -explore on programs with one kind of choice each: numbers of executions counted by hand.
#   choices.sh BIN FOLDER
. "$(dirname "$0")/common.sh" "$1" "$2" choices
explored 0 3 3 tags
explored 0 4 5 chain
explored 0 6 4 persistent
explored 0 6 4 remote
explored 86 3 3 testany
explored 0 2 3 waitany_of_both
explored 0 3 3 iprobe
explored 0 4 3 improbe
explored 86 2 3 ring
grep -q "in 1 of 2 executions" out || fail "the deadlock of the ring"
for which in gather reduce; do
  explored 86 3 4 leave_$which
  grep -q "deadlock: ranks wait for ever" out && grep -q "in 1 of 3 executions" out || fail "the deadlock of leave_$which"
done
explored 0 6 4 sums_of_doubles
explored 0 1 4 sums_of_integers
no_folder_left
echo "all numbers are right"
