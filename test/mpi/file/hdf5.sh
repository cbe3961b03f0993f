#!/usr/bin/env bash
# Parallel HDF5 on one rank a process and on several: h5dump reads what they wrote.
set -eu
bin=$1
if ! command -v h5dump > /dev/null || ! [ -d /usr/include/hdf5/mpich ]; then
  echo "parallel HDF5 is not installed"
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$bin/mpicc" -O1 -I/usr/include/hdf5/mpich "$(dirname "$0")/hdf5/array.c" -o "$work/array" \
  -L"/usr/lib/$(uname -m)-linux-gnu/hdf5/mpich" -lhdf5
for shape in "4 1" "1 4" "2 3" "2 32"; do  # processes, ranks of each
  read -r processes ranks <<< "$shape"
  file=$work/$processes.h5
  "$bin/mpiexec" -n "$processes" -nfg "$ranks" "$work/array" "$file"
  # Row 1 of each rank's block: 100 * rank + 4 to 7.
  expected=$(for ((r = 0; r < processes * ranks; r++)); do
    for ((i = 4; i < 8; i++)); do echo $((100 * r + i)); done
  done)
  found=$(h5dump -y -o "$work/text" -d a -s 1,0 -c "1,$((4 * processes * ranks))" "$file" > /dev/null &&
    tr -s ', \n' '\n' < "$work/text" | grep .)
  [ "$expected" = "$found" ] || { echo "$processes processes of $ranks ranks: h5dump reads something else"; exit 1; }
done
echo " No Errors"
