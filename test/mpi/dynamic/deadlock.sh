#!/usr/bin/env bash
# Deadlocks are reported, and the limit of buffering gives way, while spawned proclets are known; while another job is
# connected nothing is reported, however silent it is.
#   deadlock.sh BIN PROGRAMS
set -u
bin=$1 program=$2/deadlock failed=0
[ -x "$program" ] || { echo "no program $program"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect NAME STATUS TEXTS... -- COMMAND: STATUS good or bad; each text in its output.
expect() {
  local name=$1 wanted=$2 texts=() status=good text
  shift 2
  while [ "$1" != -- ]; do texts+=("$1"); shift; done
  shift
  timeout 60 "$@" >"$work/out" 2>&1 || status=bad
  [ $status = "$wanted" ] || { echo "FAILED $name: ended $status"; head -20 "$work/out"; failed=1; return; }
  for text in "${texts[@]}"; do
    grep -qE "$text" "$work/out" || { echo "FAILED $name: nothing says $text"; head -20 "$work/out"; failed=1; return; }
  done
  echo "ok $name"
}
for shape in 1x1 3x1 2x2; do
  c=${shape%x*} p=${shape#*x}
  run=("$bin/mpiexec" -n "$p" -nfg "$c" "$program")
  expect "proclets $shape" bad "deadlock: all $((2 * c * p)) ranks" "rank 0 in MPI_Recv: source 0" \
    "spawned rank 0 <[0-9a-f]+> in MPI_Recv: source 0" -- "${run[@]}" proclets
  expect "limit $shape" good "gives way" "No Errors" -- env FGMPI_UNEXPECTED_LIMIT=20000 "${run[@]}" limit
done
for shape in 1x1 2x2; do
  c=${shape%x*} p=${shape#*x}
  rm -f "$work/port"
  timeout 60 "$bin/mpiexec" -n "$p" -nfg "$c" "$program" go "$work/port" >"$work/go" 2>&1 &
  go=$!
  expect "silent job $shape" good "No Errors" -- "$bin/mpiexec" -n "$p" -nfg "$c" "$program" wait "$work/port"
  wait $go || { echo "FAILED silent job $shape: its own end"; head -20 "$work/go"; failed=1; }
  grep -q deadlock "$work/out" "$work/go" && { echo "FAILED silent job $shape: a report"; failed=1; }
done
exit $failed
