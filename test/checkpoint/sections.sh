#!/bin/bash
# A rank that waits in a call of Fortran with an array section is not saved, and a line says so.
#   sections.sh BIN FOLDER PROCESSES RANKS_EACH PROGRAM
bin=$1 folder=$2 p=$3 c=$4 program=$5
rm -rf "$folder" "$folder.go" "$folder.out"
says='no checkpoint is taken of rank 1: it is in a call of Fortran with an array section'
timeout 120 "$bin/mpiexec" -checkpoint "$folder" -checkpoint-every 100ms -n "$p" -nfg "$c" "$program" "$folder.go" \
  >"$folder.out" 2>&1 </dev/null &
job=$!
if [ $((p * c)) != 1 ]; then
  for _ in $(seq 1200); do grep -q "$says" "$folder.out" && break; sleep 0.05; done
fi
touch "$folder.go"
wait $job
status=$?
tail -n 20 "$folder.out"
[ $status = 0 ] || { echo "the job has ended with $status"; exit 1; }
grep -q 'No Errors' "$folder.out" || exit 1
[ $((p * c)) = 1 ] && exit 0
grep -q "$says" "$folder.out" || { echo "no line about rank 1"; exit 1; }
