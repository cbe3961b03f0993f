#!/usr/bin/env bash
# What the hosted MPI answers is the same for four ranks of one process, of two processes and for four processes; and every
# function that it answers is called.   forwarded.sh BIN PROGRAMS
set -u
bin=$1 program=$2/forwarded failed=0
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for shape in 4x1 1x4 2x2; do
  mkdir "$out/$shape"
  timeout 100 "$bin/mpiexec" -n "${shape#*x}" -nfg "${shape%x*}" "$program" "$out/$shape" > "$out/said" 2>&1 ||
    { echo "FAILED $shape: exit status $?"; head -20 "$out/said"; failed=1; }
  diff -r "$out/4x1" "$out/$shape" > "$out/differences" ||
    { echo "FAILED: 4x1 (<) and $shape (>) differ:"; head -20 "$out/differences"; failed=1; }
done
[ "$(ls "$out/1x4" | wc -l)" = 4 ] && [ "$(wc -l < "$out/1x4/0")" -gt 1000 ] || { echo "FAILED: nothing was written"; failed=1; }
# Without what is the C++ binding's own, and events, which the host has not (test/mpi/tools/events.c).
without='MPII_.*|MPI_T_(event|source)_.*'
# And what it answered before this library had datatypes, packing and operations of its own.
own='MPI_(Type_(commit|contiguous|create|extent|get|h|indexed|lb|match|size|struct|ub|vector)|Pack|Unpack|Op_(commutative|create|free)|Reduce_local|Status_(c2f|f2c)$)'
elsewhere='MPI_Type_(create_keyval|get_attr|get_name|get_value_index)'
functions=$("$bin/fgmpi-info" -a | awk '$1 == "forwarded" { print $2 }' | grep -vxE "$without"
  "$bin/fgmpi-info" -a | awk '$1 == "owned" { print $2 }' | grep -E "^$own" | grep -vxE "$elsewhere")
[ "$(wc -w <<< "$functions")" -gt 100 ] || { echo "FAILED: fgmpi-info -a names few functions"; failed=1; }
for function in $functions; do
  grep -qE "\b$function\(" "$here/forwarded.c" || { echo "FAILED: $function is never called"; failed=1; }
done
[ $failed = 0 ] && echo " No Errors"
exit $failed
