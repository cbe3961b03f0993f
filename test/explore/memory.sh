# mpiexec -explore on programs whose ranks access memory of windows.
#   memory.sh BIN FOLDER
. "$(dirname "$0")/common.sh" "$1" "$2" memory
# outputs MANY: so many different ones.
outputs() { grep -q "outputs: $1 different outputs" out || fail "not $1 outputs"; }
explored 86 2 2 tickets
explored 86 24 4 tickets
outputs 24
run 0 -replay memory-3.witness
explored 86 6 2 two_tickets
outputs 6
explored 86 90 3 two_tickets
outputs 90
explored 86 3 2 two_puts
outputs 3
explored 0 1 4 sums
# Accumulates of two operations conflict.
explored 86 4 3 set
explored 86 16 5 set
explored 86 8 4 set_later
explored 86 6 4 last_put
outputs 3
explored 0 24 4 exclusive
# Of ranks that read and then write: with n of them n! orders of the writes, and the k-th reads behind none to all of k - 1.
explored 86 4 2 shared
outputs 2
explored 86 36 3 shared
outputs 3
explored 86 6 4 swap
grep -q "ends with status 3" out && grep -q "in 1 of 6 executions" out || fail "the rare swap"
run 3 -replay "$(grep -l '^finding .*ends with status 3' memory-*.witness)"
explored 0 2 2 spin
explored 0 2 2 spin_locking
explored 86 3 2 two_looks
outputs 3
explored 0 4 2 spin_lock
explored 0 42 3 spin_lock
explored 86 3 2 two_locks
grep -q "deadlock: ranks wait for ever" out || fail "the deadlock of locks"
run 86 -replay memory-1.witness
explored 0 1 2 ordered
explored 0 2 3 exposure
explored 86 3 2 parts
outputs 3
if grep -q "^fgmpi:   10" out; then fail "a part that has come is gone"; fi
no_folder_left
echo "all numbers are right"
