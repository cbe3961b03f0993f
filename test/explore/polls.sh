# mpiexec -explore on programs that poll (MPI_Test, MPI_Iprobe) or wait for some of several requests.
#   polls.sh BIN FOLDER
. "$(dirname "$0")/common.sh" "$1" "$2" polls
explored 86 2 2 once
run 0 -replay polls-1.witness
explored 86 2 2 probe_once
explored 0 2 2 spin
explored 0 2 2 spin_any
explored 0 8 3 spin_any
explored 0 48 4 spin_any
explored 0 8 3 spin_improbe
explored 86 3 2 tries
explored 86 4 3 rare_failure
grep -q "ends with status 3" out && grep -q "in 1 of 4 executions" out || fail "the one failure"
run 3 -replay polls-1.witness
explored 0 4 3 two_looks
explored 0 8 3 barrier
explored 86 1 2 poll_for_ever
grep -q "look for ever" out && grep -q "MPI_Iprobe of rank 1" out || fail "the loops are not named"
explored 86 6 4 waitany
explored 86 3 3 waitsome
explored 86 13 4 waitsome
explored 86 75 5 waitsome
explored 86 2 4 waitany_late
explored 86 6 3 test_lists
run 0 -replay polls-6.witness
# absent LINE: no execution has printed it.
absent() { if grep -qE "^fgmpi:   $1\$" out; then fail "there is an output $1"; fi; }
explored 86 9 2 status_then_test
absent '([01]{2} )?10 .*'
explored 86 3 2 probe_twice
absent 10
explored 86 4 3 testsome
explored 86 2 2 idup
explored 86 2 2 iwrite
explored 0 1 2 generalized
explored 86 3 2 polled
no_folder_left
echo "all numbers are right"
