# Memory is overwritten, and the report of the crash names no rank that there is not. Such a job may do anything, also wait for ever
# for what was destroyed; what it says must be right.
set -u
bin=$1 out=$2/overruns.out program=$2/overruns
fail() { echo "overruns.sh: $*" >&2; cat "$out" >&2; exit 1; }
crashes=0
try() { # try PROCESSES RANKS HOW BYTES VALUE
  local size=$(($1 * $2)) number
  timeout -k 5 20 "$bin/mpiexec" -n "$1" -nfg "$2" "$program" "${@:3}" >"$out" 2>&1
  local status=$?
  [ $status = 0 ] && return # nothing that is looked at was hit
  grep -aq '^fgmpi: ' "$out" && crashes=$((crashes + 1))
  grep -aqE 'not so|\(0 KiB\)' "$out" && fail "$*: a message that says nothing"
  for number in $(grep -aE '^fgmpi: ' "$out" | grep -aoE '\<rank [0-9]+' | grep -oE '[0-9]+'); do
    [ "$number" -lt $size ] || fail "$*: rank $number of $size"
  done
}
for shape in "1 4" "2 2" "1 20"; do
  for value in 0x41 0xff 0x10 0; do
    try $shape heap 3000 $value
    try $shape heap 300000 $value
    try $shape mapped 30000000 $value
    try $shape stack 5000 $value
    try $shape static 100000 $value
    [ $value = 0 ] || try $shape fill 0 $value
  done
done
[ $crashes -ge 20 ] || fail "only $crashes of the crashes were reported"
# What fills the descriptors of ranks is seen, and who ran is known all the same.
# It is said in every locale: nothing of the report needs the heap.
timeout -k 5 60 env LC_ALL=C.UTF-8 "$bin/mpiexec" -n 1 -nfg 4 "$program" fill 0 0x41 >"$out" 2>&1
grep -aqE '^fgmpi: .*memory of the library has been overwritten .*; rank [0-3] ran last, its last call was MPI_[A-Z]' "$out" || fail "overwritten descriptors"
echo " No Errors"
