#!/bin/sh
# IPDPS'17 Table III: instructions of a rank-to-address translation, counted by callgrind.
#   benchmarks/paper/ipdps17_table3.sh [BUILD]     BUILD: build folder, default build/default
program=${1:-build/default}/bin/ipdps17_table3
[ -x "$program" ] || { echo "ipdps17_table3.sh: no program $program; allowed is a build folder with benchmarks" >&2; exit 2; }
command -v valgrind > /dev/null || { echo "ipdps17_table3.sh: valgrind is not installed" >&2; exit 2; }
count() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect="$1" "$program" "$2" 2>&1 |
    sed -n 's/.*Collected : //p'
}
frame=$(count translate_nothing direct)  # the function around it: see ipdps17_table3.cc
printf '%-16s %10s %10s %22s\n' model counted paper "many ranks a process"
for line in direct:9 offset:11 stride:13 blockstride:- md-blockstride:- lut:11 lut-hybrid:-; do
  model=${line%:*}
  printf '%-16s %10s %10s %22s\n' "$model" \
    $(($(count translate_rank "$model") - frame)) "${line#*:}" $(($(count translate_proclet "$model") - frame))
done
# No frame but the return, no push of a register: less is subtracted.
printf '%-16s %10s %10s %22s\n' mlut $(($(count translate_merged mlut) - 1)) 15 \
  $(($(count translate_merged_proclet mlut) - 1))
