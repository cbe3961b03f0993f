#!/bin/bash
# What cannot be saved is refused with rank and reason, and saved when it is gone.
#   elsewhere.sh BIN_FOLDER WORK_FOLDER PROCESSES RANKS_EACH PROGRAM
set -u
bin=$1 work=$2 processes=$3 each=$4 program=$5
source=$(cd "$(dirname "$0")" && pwd)
libraries=$work.libraries
rm -rf "$libraries" && mkdir -p "$libraries" && cd "$libraries" || exit 1
echo '__thread int local = 3; int* place(void) { return &local; }' >local.c
cc -shared -fPIC local.c -o local.so || exit 1
bash "$source/restarts.sh" "$bin" "$work" "$processes" "$each" "$program" "$libraries/local.so" || exit 1
cd "$work" || exit 1
timeout 100 "$bin/mpiexec" -checkpoint other -n "$processes" -nfg "$each" "$program" "$libraries/local.so" >out 2>err || exit 1
said() { grep -qE "no checkpoint is taken of rank $1: it has $2" err || { echo "elsewhere.sh: no line says \"$2\"" >&2; cat err >&2; exit 1; }; }
last=$((processes * each - 1))
said $last "loaded $libraries/local.so \(dlopen\), which has thread-local variables"
said $last "loaded [^ ]*/libanl.so.1 \(dlopen\), of which a process has one"
said 0 "mapped $work/gone\.0\.[0-9]* \(deleted\) \(mmap\)"
said $last "mapped /dev/zero \(mmap\)"
said $last "mapped $work/elsewhere\.$last\.[0-9]* \(mmap\): outside of its own range of addresses"
said $last "mapped /dev/zero \(deleted\) \(mmap\)"
said $last "mapped memory at 0x61[0-9a-f]*, which is shared or not in its own range"
said 0 "mapped /dev/zero \(mmap\)"
echo " No Errors"
