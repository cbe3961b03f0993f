# The three mistakes of docs/tutorials/go-back-to-the-mistake.md: its commands lead to the lines that it shows, in less than ten.
. "$(dirname "$0")/common.sh"
command -v gdb >/dev/null || { echo "gdb is not installed: not tested"; exit 0; }
page=$here/../../docs/tutorials/go-back-to-the-mistake.md

# mistake NAME STATUS: the run is recorded; the output of gdb is in the file out, each command behind "(gdb) ".
mistake() {
  recorded "$2" -ranks 8 "$programs/tutorial_$1"
  while IFS= read -r command; do
    grep -qF "    (gdb) $command" "$page" || fail "$1: the page lacks: $command"
    printf 'echo (gdb) %s\\n\n%s\n' "$command" "$command"
  done <"$here/tutorial/$1.gdb" >commands
  [ "$(wc -l <"$here/tutorial/$1.gdb")" -lt 10 ] || fail "$1: more than ten commands"
  timeout 250 "$bin/mpiexec" -rewind run.rec gdb -batch -x commands >out 2>&1 </dev/null || fail "$1: gdb: $(cat out)"
}
# shows COMMAND WORDS: a line behind the command matches, and the page has these words behind this command, too.
shows() {
  awk -v command="(gdb) $1" 'shows && /^\(gdb\)/ { exit } shows; $0 == command { shows = 1 }' out | grep -qE "$2" || fail "$1: not $2: $(cat out)"
  sed 's/^    //' "$page" | awk -v command="(gdb) $1" 'shows && /^(\(gdb\)|$)/ { shows = 0 } shows; $0 == command { shows = 1 }' |
    grep -qE "$2" || fail "the page, $1: not $2"
}

mistake halo 2
shows "print g_rod.conductivity[0]" '^\$1 = 101.01'
shows "fgmpi last-write g_rod.conductivity[0]" "exchange \(rank=1, size=8, step=100\) at .*halo.c:18"
shows "print wide" '^\$3 = 2'
shows "print &g_rod.heat[66] == &g_rod.conductivity[0]" '^\$4 = 1'

mistake window 2
shows "fgmpi who-else &g_table[3][15]" "^rank 2 changed it once, last behind event [0-9]+ at window.c:17"
shows "fgmpi who-else &g_table[3][15]" "^rank 3 changed it once, last behind event [0-9]+ at window.c:28"
shows "fgmpi last-write g_table[3][15]" "count \(rank=2, size=8, word=1999\)"
shows "reverse-next" "^16"

mistake branch 1
shows "fgmpi rank 5" "^at [0-9]+ of [0-9]+: rank 5 MPI_Sendrecv rank 6"
shows "fgmpi last-write g_done" "listen \(rank=5, size=8, round=21\)"
shows "print neighbour" '^\$2 = 0'
shows "fgmpi sender" "^at [0-9]+ of [0-9]+: rank 4 MPI_Sendrecv rank 5"
shows "fgmpi last-write g_part" "listen \(rank=4, size=8, round=20\) at .*branch.c:19"
