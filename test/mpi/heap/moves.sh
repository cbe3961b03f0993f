# FGMPI_BALANCE=on: ranks go from process to process of a host: moves.sh BIN FOLDER
set -u
bin=$1 programs=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $*"
  tail -50 "$scratch/out"
  exit 1
}
export FGMPI_HEAP=rank
for shape in "2 2" "2 5" "3 4" "4 17"; do
  set -- $shape
  FGMPI_BALANCE=on timeout 120 setarch -R "$bin/mpiexec" -n "$1" -nfg "$2" "$programs/moves" "$scratch/shared.$1.$2" 50 \
    >"$scratch/out" 2>&1 || fail "$1 processes of $2 ranks: status $?"
  travellers=$(($1 * ($2 - 1)))
  grep -q "moves of $travellers ranks" "$scratch/out" || fail "$1 processes of $2 ranks: not all have moved"
  [ "$(grep -c "ends at home: 1$" "$scratch/out")" = $travellers ] || fail "$1 processes of $2 ranks: exit handlers"
  [ "$(grep -c "^rank [0-9]* came by\( [0-9]\)*\.$" "$scratch/out")" = $travellers ] || fail "$1 processes: unfinished lines"
done
# Processes of one rank have visitors, too.
program="$programs/moves $scratch/shared.mixed 20"
FGMPI_BALANCE=on timeout 120 setarch -R "$bin/mpiexec" -n 1 -nfg 1 $program : -n 1 -nfg 4 $program : -n 1 -nfg 1 $program \
  >"$scratch/out" 2>&1 || fail "processes of one rank: status $?"
grep -q "moves of 3 ranks" "$scratch/out" || fail "processes of one rank: not all have moved"
# Where addresses are random, or slots are private, ranks stay, and the reason is said.
FGMPI_BALANCE=on timeout 60 "$bin/mpiexec" -n 2 -nfg 2 "$programs/moves" "$scratch/shared.a" 2 >"$scratch/out" 2>&1 &&
  fail "ranks move where addresses are random"
grep -q "addresses are random" "$scratch/out" || fail "no reason where addresses are random"
env -u FGMPI_BALANCE timeout 60 setarch -R "$bin/mpiexec" -n 2 -nfg 2 "$programs/moves" "$scratch/shared.b" 2 >"$scratch/out" 2>&1 &&
  fail "ranks move whose slots are private"
grep -q "FGMPI_BALANCE" "$scratch/out" || fail "no reason where slots are private"
# A fork does not copy slots in files, so nothing can be saved.
FGMPI_BALANCE=on timeout 60 "$bin/mpiexec" -checkpoint "$scratch/saved" -n 2 -nfg 2 "$programs/moves" "$scratch/shared.c" 2 \
  >"$scratch/out" 2>&1 && fail "-checkpoint is accepted"
grep -q "not with -checkpoint" "$scratch/out" || fail "no reason against -checkpoint"
exit 0
