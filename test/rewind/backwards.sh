# gdb: reverse-continue, reverse-step, reverse-next, reverse-finish; breakpoints, watchpoints and displays survive; proclet RANK.
. "$(dirname "$0")/common.sh"
command -v gdb >/dev/null || { echo "gdb is not installed: not tested"; exit 0; }
line() { grep -n "// $1" "$here/backwards.c" | cut -d: -f1; }
end_of_square=$(line "end of square") fold_returns=$(line "fold returns") in_loop=$(line "in the loop")
behind_loop=$(line "behind the loop")
calls=$(grep -n ' compute(rank, round);' "$here/backwards.c" | cut -d: -f1) rounds=$(grep -n 'for (int round' "$here/backwards.c" | cut -d: -f1)
barriers=$(grep -n 'MPI_Barrier' "$here/backwards.c" | cut -d: -f1)
behind_recursion=$(line "behind the recursion")

recorded 0 -ranks 3 "$programs/backwards"
barrier=$("$bin/mpiexec" -rewind run.rec -events 1 -call MPI_Barrier | sed -n '30s/ .*//p')
# gdb's words behind each command, one line each: "> COMMAND", then what is printed.
gdb_says() {
  for command; do printf 'echo > %s\\n\n%s\n' "$command" "$command"; done >commands
  timeout 250 "$bin/mpiexec" -rewind run.rec gdb -batch -x commands >out 2>&1 </dev/null || fail "gdb: status: $(cat out)"
}
# at COMMAND NUMBER LINE: behind the NUMBER-th such command gdb shows this line.
at() {
  awk -v command="> $1" -v number="$2" '/^> / { shows = $0 == command && ++seen == number } shows' out | grep -qE "^$3($|[[:space:]])" ||
    fail "$1 (number $2): line $3 is not shown: $(cat out)"
}

gdb_says "fgmpi goto $barrier" reverse-next reverse-next "print round" reverse-step reverse-step reverse-step reverse-finish \
  "fgmpi goto $barrier" "break $fold_returns if depth == 1" reverse-continue "print x" reverse-finish "print depth" reverse-finish \
  "print depth" delete reverse-finish "fgmpi back" "fgmpi forward"
at reverse-next 1 $calls
at reverse-next 2 $rounds
at "print round" 1 '\$[0-9]* = 28'
at reverse-step 1 $barriers
at reverse-step 2 $((behind_recursion + 1))
at reverse-step 3 $behind_recursion
at reverse-finish 1 $calls
at reverse-continue 1 $fold_returns
at "print x" 1 '\$[0-9]* = 31'
at reverse-finish 2 $((fold_returns - 1))
at "print depth" 1 '\$[0-9]* = 2'
at reverse-finish 3 $((fold_returns - 1))
at "print depth" 2 '\$[0-9]* = 3'
at reverse-finish 4 $((behind_loop + 1))
at "fgmpi back" 1 $barriers
at "fgmpi forward" 1 $barriers
grep -qE "^at $barrier of [0-9]+: rank 1 MPI_Barrier" out || fail "forward from the middle of a round: $(cat out)"

gdb_says "fgmpi goto $barrier" "display g_total" "break square if x == 3" reverse-continue "print result" reverse-continue "print x" delete \
  "watch -location g_total" reverse-continue reverse-continue "fgmpi goto $barrier" next "info display" "proclet 2"
at "fgmpi goto $barrier" 1 $barriers
at reverse-continue 1 $((end_of_square - 1))
grep -q "^1: g_total = " out || fail "the display is lost: $(cat out)"
at reverse-continue 3 $((behind_recursion + 1))
at reverse-continue 4 $((behind_loop + 1))
at next 1 $calls
at "proclet 2" 1 '#[0-9]* .* main .*'
