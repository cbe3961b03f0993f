# mpiexec -explore on programs whose number of executions is known; witnesses, replay, bounds, refusals.
#   known_numbers.sh BIN FOLDER
. "$(dirname "$0")/common.sh" "$1" "$2" programs
explored 0 1 1 senders
explored 0 1 2 senders
explored 86 24 5 senders
grep -q "24 different outputs" out || fail "outputs of 24 orders"
explored 86 120 6 senders
grep -q "120 different outputs" out && [ "$(grep -cE '^fgmpi:   [1-5]{5}$' out)" = 20 ] || fail "20 of 120 outputs are shown"
explored 86 120 6 rare_deadlock
grep -q "deadlock: ranks wait for ever" out && grep -q "in 1 of 120 executions" out || fail "the one deadlock"
grep -q "picture: programs-1.html" out && [ "$(grep -c 'class="forced"><title>tag 0, 4 bytes; [2-5] possible here' programs-1.html)" = 4 ] || fail "the picture of the deadlock"
grep -q "at .*programs.c:[0-9]* (receive_any)" out || fail "the line of the deadlock"
run 86 -replay programs-1.witness
grep -q "deadlock: ranks wait for ever" out || fail "replay of the deadlock"
for tool in "gdb -batch -ex run --args" "valgrind -q"; do
  command -v "${tool%% *}" >/dev/null || continue
  # shellcheck disable=SC2086
  run 86 -replay programs-1.witness $tool "$programs" rare_deadlock
  grep -q "deadlock: ranks wait for ever" out || fail "replay under $tool"
done
explored 86 2 4 late_message
first=$(grep -l "" ./*.witness | head -1)
run 0 -replay "$first"
[ "$(grep -c '^[12][12]$' out)" = 1 ] || fail "replay of an output"
run 0 -replay "$first" env X=1 "$programs" late_message
explored 0 1 12 pairs
explored 0 8 3 rounds
explored 0 6 4 probes
explored 0 1 3 two_tags
explored 0 32 3 matrix
explored 0 486 4 matrix
# In the deadlock n requests wait, of which none to all may be buffered: n + 1 executions end in it.
for n in 2 3 4; do
  explored 86 $(((1 << n) - 1 + n)) $((2 * n)) philosophers
  grep -q "deadlock: ranks wait for ever" out && grep -q "  in 1 of" out || fail "the deadlock of $n philosophers"
  explored 0 $(((1 << n) - 2)) $((2 * n)) ordered_philosophers
done
explored 86 6 4 bad_end
grep -q "ends with status 3" out && grep -q "in 2 of 6 executions" out || fail "status of the program"
# Half of the seeds would be enough to find one order of 120 by PCT's bound; the witness is shrunk to few choices.
run 86 -fuzz 400 -n 6 "$programs" rare_deadlock
grep -q "deadlock: ranks wait for ever" out || fail "the rare deadlock by -fuzz"
grep -qE "400 executions.* different orders by 400 seeds: not all executions explored" out || fail "words of -fuzz"
run 86 -replay programs-1.witness
grep -q "deadlock: ranks wait for ever" out || fail "replay of what -fuzz found"
[ "$(grep -c ^choice programs-1.witness)" -le 4 ] || fail "the witness of -fuzz is not shrunk"
explored 86 5040 8 token_ring
grep -q "deadlock: ranks wait for ever" out && grep -q "in 1 of 5040 executions" out || fail "the one deadlock of the ring"
[ "$(grep -c ^choice programs-1.witness)" = 6 ] || fail "the witness of the ring is not shrunk"
run 86 -replay programs-1.witness
grep -q "deadlock: all 8 ranks" out || fail "replay of the ring"
run 1 -fuzz 0 -n 2 "$programs"
run 1 -fuzz
run 86 -explore=10 -n 6 "$programs" senders
grep -qE "10 executions.*not all executions explored: ended by its bound" out || fail "bound"
# What a bound has cut goes on from the file, until all is explored; the numbers are those of one run.
run 0 -explore=10 -n 6 "$programs" rare_deadlock
grep -q "go on with what is left: mpiexec -resume programs.exploration" out || fail "words of what is left"
run 0 -resume programs.exploration -explore=50
grep -q "60 executions, 0 findings: not all" out || fail "the bound of what goes on"
run 86 -resume programs.exploration
grep -q "in 1 of 120 executions" out && grep -q ": all executions explored" out || fail "what went on"
timeout -s INT 1 "$bin/mpiexec" -explore -n 9 "$programs" senders >out 2>&1
grep -q "interrupted with" out && grep -q "mpiexec -resume programs.exploration" out || fail "an interrupt keeps what is left"
grep -q "different outputs" out && [ -s programs-2.witness ] || fail "an interrupt keeps the findings"
# Wherever an interrupt comes, what goes on ends with the numbers of a run that nobody has cut.
cuts=0
for after in 0.3 0.5 0.7 0.9 1.1; do
  rm -f programs.exploration
  timeout -s INT $after "$bin/mpiexec" -explore -n 7 "$programs" token_ring >out 2>&1 </dev/null
  grep -q "^fgmpi: explore:" out || continue # it had not begun
  if [ -s programs.exploration ]; then
    cuts=$((cuts + 1))
    run 86 -resume programs.exploration
  fi
  grep -q "in 1 of 720 executions" out && grep -q "720 executions, 1 finding: all exec" out || fail "cut after $after s"
done
echo "$cuts of 5 were cut"
# Starting points that are given up for newer ones leave no processes behind that have ended and wait for their parent.
"$bin/mpiexec" -explore=6s -n 12 "$programs" senders >out 2>&1 &
explorer=$!
sleep 4
read -r first _ <"/proc/$explorer/task/$explorer/children"
ended=$(ps -eo stat=,pgid= | awk -v group="$first" '$1 ~ /^Z/ && $2 == group' | wc -l)
wait $explorer
[ "$ended" -le 10 ] || fail "$ended ended processes are not waited for"
head -c 1000 programs.exploration >broken.exploration
run 1 -resume broken.exploration
run 1 -resume missing.exploration
run 1 -resume programs.exploration -n 2
run 1 -explore=0 -n 2 "$programs"
run 1 -explore -n 2 -f hosts "$programs"
run 1 -explore -n 2 "$programs" : -n 2 "$programs"
run 1 -replay missing.witness
run 1 -explore -n 1 true
echo broken >broken.witness
run 1 -replay broken.witness
no_folder_left
echo "all numbers are right"
