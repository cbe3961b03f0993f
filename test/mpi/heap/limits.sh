# Limits and reports of ranks' heaps: limits.sh BIN FOLDER
set -u
bin=$1 programs=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $*"
  cat "$scratch/out"
  exit 1
}
# says STATUS WORDS VARIABLE... -- ARGUMENT...: the run ends with this status and says these words.
says() {
  wanted=$1 words=$2
  shift 2
  variables=
  while [ "$1" != -- ]; do variables="$variables $1"; shift; done
  shift
  env $variables timeout 60 "$bin/mpiexec" -n 2 -nfg 2 "$programs/refused" "$@" >"$scratch/out" 2>&1
  got=$?
  if [ "$wanted" = bad ]; then [ $got != 0 ] && [ $got != 124 ]; else [ $got = "$wanted" ]; fi || fail "$variables $*: status $got"
  grep -q "$words" "$scratch/out" || fail "$variables $*: does not say: $words"
}
says bad "rank 1: has taken .* bytes and asks for 10000 more; allowed are FGMPI_RANK_MEMORY=4m; most was taken at .*refused.c:14" \
  FGMPI_RANK_MEMORY=4m -- much
says bad "FGMPI_RANK_MEMORY" FGMPI_RANK_MEMORY=1k --
says bad "FGMPI_HEAP" FGMPI_HEAP=some --
says bad "rank 1: Segmentation fault at address .*, at the end of the heap of rank 1" FGMPI_HEAP=rank -- beyond
env FGMPI_HEAP=rank timeout 60 "$bin/mpiexec" -n 2 -nfg 2 "$programs/refused" huge >"$scratch/out" 2>&1 || fail "huge: status $?"

# Without mpiexec the program is started again with the library in front, once.
FGMPI_HEAP=rank timeout 60 "$programs/places" >"$scratch/out" 2>&1 || fail "a program by itself"
grep -q "^rank 0: 0x[0-9a-f]* 0x10[0-9a-f]\{10\} " "$scratch/out" || fail "a program by itself: its variable is elsewhere"
FGMPI_RANK_MEMORY=4m FGMPI_NFG=2 timeout 60 "$programs/refused" much >"$scratch/out" 2>&1 && fail "a program by itself: no limit"
grep -q "rank 1: has taken" "$scratch/out" || fail "a program by itself: other words"

# fgmpi-info -job says what ranks have taken.
env FGMPI_HEAP=rank timeout 60 "$bin/mpiexec" -n 2 -nfg 2 "$programs/refused" wait >"$scratch/waits" 2>&1 &
job=$!
for _ in $(seq 300); do grep -q ready "$scratch/waits" && break; sleep 0.1; done
for _ in $(seq 50); do
  timeout 20 "$bin/fgmpi-info" -job $job >"$scratch/out" 2>&1
  grep -q "heaps of ranks: 1[0-9].[0-9] MiB, at most 4.[0-9] MiB (rank 3)" "$scratch/out" && break
  sleep 0.2
done
grep -q "at most 4.[0-9] MiB (rank 3)" "$scratch/out" || fail "fgmpi-info -job"
kill $job
wait $job 2>/dev/null
exit 0
