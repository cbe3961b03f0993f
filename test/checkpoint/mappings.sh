#!/bin/bash
# Files that ranks have mapped: the job goes on with them, and not where they are others, or shorter.
#   mappings.sh BIN_FOLDER WORK_FOLDER PROCESSES RANKS_EACH PROGRAM
set -u
bin=$1 work=$2 processes=$3 each=$4 program=$5
source=$(cd "$(dirname "$0")" && pwd)
bash "$source/restarts.sh" "$bin" "$work" "$processes" "$each" "$program" || exit 1
cd "$work" || exit 1
refused() { # refused WORDS: a restart fails at once, with these words
  timeout 100 "$bin/mpiexec" -restart saved -n 1 >out 2>err && { echo "mappings.sh: a restart began, where '$1' was expected"; exit 1; }
  grep -qE "$1" err || { echo "mappings.sh: the restart did not say '$1'"; tail -n 5 err; exit 1; }
}
last=$((processes * each - 1))
cp -p "fixed.$last" kept && touch "fixed.$last"
refused "$work/fixed.$last, of which a rank has mapped what it held, has changed since the ranks were saved"
cp "fixed.$last" copy && touch -r kept copy && mv copy "fixed.$last"
refused "has changed since the ranks were saved \(inode [0-9]*, now [0-9]*; 65536 bytes, now 65536;"
rm "fixed.$last"
refused "$work/fixed.$last, which a rank has mapped: No such file or directory"
truncate -s 8192 shared.0
refused "shared.0, which a rank has mapped, has 8192 bytes; it had 65536 when the ranks were saved|No such file or directory"
echo " No Errors"
