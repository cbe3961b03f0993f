#!/usr/bin/env bash
# Many jobs connect with one at once, of different shapes, over sockets of the host and over the network.
#   many.sh BIN PROGRAMS
set -u
mpiexec=$1/mpiexec program=$2/many failed=0
[ -x "$program" ] || { echo "no program $program"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
shapes=(1x1 2x2 1x2 5x1 3x1 1x1)

# run CxP: the job that accepts.
run() {
  local pids=() k status=0
  rm -f "$work"/*
  timeout 100 "$mpiexec" -n "${1#*x}" -nfg "${1%x*}" "$program" accept "$work/port" ${#shapes[@]} >"$work/accept" 2>&1 &
  pids+=($!)
  for k in "${!shapes[@]}"; do
    local host=A=B
    [ $((k % 3)) = 2 ] && host=FGMPI_HOST_ID=elsewhere
    env $host timeout 100 "$mpiexec" -n "${shapes[k]#*x}" -nfg "${shapes[k]%x*}" "$program" connect "$work/port" >"$work/$k" 2>&1 &
    pids+=($!)
  done
  for k in "${pids[@]}"; do wait "$k" || status=1; done
  if [ $status = 0 ] && [ "$(grep -l "No Errors" "$work"/* | wc -l)" = $((${#shapes[@]} + 1)) ]; then
    echo "ok $1"
  else
    echo "FAILED $1"
    head -8 "$work"/* | cut -c1-300
    failed=1
  fi
}
run 1x1
run 3x2
exit $failed
