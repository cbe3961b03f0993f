# mpiexec -explore on programs whose ranks connect by ports, look names up and spawn: known numbers of executions.
#   joins.sh BIN FOLDER
. "$(dirname "$0")/common.sh" "$1" "$2" joins
# N who connect to one port: N! orders.
explored 0 1 2 accept
explored 0 2 3 accept
explored 0 24 5 accept
explored 0 120 6 accept
explored 86 6 4 accept_shown
grep -q "6 different outputs" out || fail "outputs of the orders of connections"
# An error that needs an order, and its witness.
explored 86 5 4 accept_counted
grep -q "ends with status 3" out && grep -q "in 3 of 5 executions" out || fail "rank 1 is not the last to be accepted"
run 3 -replay joins-1.witness
grep -q "connects to a port" joins-1.html || fail "the picture of connections"
explored 86 2 3 wait_for_the_first
grep -q "deadlock: ranks wait for ever" out && grep -q "in 1 of 2 executions" out || fail "the deadlock of one order"
run 86 -replay joins-1.witness
grep -q "deadlock" out || fail "replay of the deadlock"
# Two accept and two connect: either order of each. Ports apart from each other, and groups.
explored 0 4 4 several_accept
explored 0 1 8 own_ports
explored 0 2 6 groups
explored 0 6 8 groups
# Two of three are accepted before the port is closed: 3 * 2 ways.
explored 0 6 4 closed
# A loop that looks until the name is there, beside one look: each is before or behind it at first.
explored 0 4 3 names
# Spawned ranks: three send to one; each of N connects back.
explored 0 6 2 spawn_one
explored 0 1 2 spawn_self
explored 86 2 3 spawn_back
explored 86 6 4 spawn_back
grep -q "6 different outputs" out || fail "outputs of the orders of spawned ranks"
run 0 -replay joins-6.witness
[ "$(grep -cE '^[123]{3}$' out)" = 1 ] || fail "replay of an order of spawned ranks"
run 0 -explore=2 -n 5 "$programs" accept
run 0 -resume joins.exploration
grep -q " 24 executions, 0 findings: all executions explored" out || fail "what goes on with connections"
no_folder_left
echo "all numbers are right"
