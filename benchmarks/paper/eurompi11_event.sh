#!/bin/bash
# What recording a call costs: processor time of the best of many loops, and instructions counted by callgrind, with the
# tracker less without. A record is what one call writes (48 bytes); in OTF2 it becomes 2 to 4 events.
#   benchmarks/paper/eurompi11_event.sh [BUILD]     BUILD: build folder, default build/default
build=$(cd "${1:-build/default}" && pwd) || exit 2
program=$build/benchmarks/eurompi11_event
[ -x "$program" ] || { echo "eurompi11_event.sh: no program $program; allowed is a build folder with benchmarks" >&2; exit 2; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export FGMPI_TRACK_DIR=$scratch/trace FGMPI_TRACK="files:raw"
tracked() {  # preloaded by hand: there is no launcher in between
  rm -rf "$scratch/trace"
  LD_PRELOAD="$build/lib/libfgmpi-track.so" "$@"
}
best() {  # of five runs
  for _ in 1 2 3 4 5; do "$@"; done | sort -n | head -1
}
count() {  # instructions of a loop: the difference between 12,000 and 2,000
  local few many
  few=$("$@" 2000 2>&1 | sed -n 's/.*Collected : //p')
  many=$("$@" 12000 2>&1 | sed -n 's/.*Collected : //p')
  echo $(((many - few) / 10000))
}
grind=(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program")
printf '%-10s %8s %12s %12s %14s %14s %12s\n' loop records "ns without" "ns with" "ns a record" "instr without" "instr a record"
for line in test:1 sendrecv:2 isend:4 bcast:1 local:0; do
  what=${line%:*} records=${line#*:}
  without=$(best "$program" "$what" 200000)
  with=$(best tracked "$program" "$what" 200000)
  i_without=- i_each=-
  if command -v valgrind >/dev/null; then
    i_without=$(count "${grind[@]}" "$what")
    i_with=$(count tracked "${grind[@]}" "$what")
    i_each=$(((i_with - i_without) / (records ? records : 1)))
  fi
  printf '%-10s %8d %12s %12s %14s %14s %12s\n' "$what" "$records" "$without" "$with" \
    "$(awk "BEGIN { printf \"%.1f\", ($with - $without) / ($records ? $records : 1) }")" "$i_without" "$i_each"
done
