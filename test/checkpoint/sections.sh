#!/bin/bash
# A rank that waits in a call of Fortran with an array section is not saved, and a line says so.
#   sections.sh BIN FOLDER PROCESSES RANKS_EACH PROGRAM
bin=$1 folder=$2 p=$3 c=$4 program=$5
rm -rf "$folder"
output=$(timeout 120 "$bin/mpiexec" -checkpoint "$folder" -checkpoint-every 100ms -n "$p" -nfg "$c" "$program" 2>&1)
status=$?
echo "$output" | tail -n 20
[ $status = 0 ] || { echo "the job has ended with $status"; exit 1; }
grep -q 'No Errors' <<<"$output" || exit 1
[ $((p * c)) = 1 ] && exit 0
grep -q 'no checkpoint is taken of rank [0-9]*: it is in a call of Fortran with an array section' <<<"$output" || { echo "no line about the rank"; exit 1; }
