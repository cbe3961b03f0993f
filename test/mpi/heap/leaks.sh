# Memory that ranks leak, by line: leaks.sh BIN FOLDER
set -u
bin=$1 programs=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $*"
  cat "$scratch/out"
  exit 1
}
run() { FGMPI_HEAP=rank timeout 100 "$bin/mpiexec" -check "$@" >"$scratch/out" 2>&1; }

# What is held in any way is no leak.
for shape in "-n 1 -nfg 4" "-n 2 -nfg 3" "-n 2 -nfg 1"; do
  run $shape "$programs/leaks" || fail "$shape: status $?"
  grep -q "leaks:" "$scratch/out" && fail "$shape: a leak that is none"
done
# All that is leaked is found, also what points to itself and what MPI was given. It is a note.
for shape in "-n 1 -nfg 4" "-n 2 -nfg 3" "-n 2 -nfg 1"; do
  run $shape "$programs/leaks" leak too || fail "$shape: status $?"
  for line in 48 49 50 52 68; do
    grep -q "leaks.c:$line" "$scratch/out" || fail "$shape: line $line is not found"
  done
  [ "$(grep -c "leaks.c:" "$scratch/out")" = 5 ] || fail "$shape: other lines"
done
grep -q "memory is never freed, and no pointer leads to it any more" "$scratch/out" || fail "other words"
grep -q "3 blocks, 72 bytes" "$scratch/out" || fail "not how much"
# Other kinds, and jobs without heaps of ranks, have none.
run -n 1 -nfg 2 "$programs/leaks" leak || fail "status $?"
FGMPI_HEAP=rank timeout 100 "$bin/mpiexec" -check=types -n 1 -nfg 2 "$programs/leaks" leak >"$scratch/out" 2>&1
grep -q "leaks.c:" "$scratch/out" && fail "-check=types finds leaks"
timeout 100 "$bin/mpiexec" -check -n 1 -nfg 2 "$programs/leaks" leak >"$scratch/out" 2>&1 || fail "status $?"
grep -q "leaks.c:" "$scratch/out" && fail "leaks without heaps of ranks"
exit 0
