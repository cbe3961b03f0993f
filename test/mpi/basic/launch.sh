# What mpiexec makes of its command line: many processes on few cores, -dry-run, mpirun, completion in bash.
set -u
bin=$1 programs=$2
out=$programs/launch.out
fail() { echo "launch.sh: $*" >&2; cat "$out" >&2; exit 1; }
unset FGMPI_NFG FGMPI_RANKS
cores=$(nproc)
many=$((cores * 4 + 2))
note="^mpiexec: $many processes are more than 4 for each of $cores cores: $many ranks run in $cores processes"
run() { timeout 100 "$@" >"$out" 2>&1 || fail "$*: status $?"; }

cat >"$programs/where.c" <<'END'
#include <stdio.h>
#include <unistd.h>
#include "mpi.h"
int main(void) {
  int rank, size;
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("rank %d of %d in %d\n", rank, size, (int)getpid());
  MPI_Finalize();
  return 0;
}
END
where=$programs/where
"$bin/mpicc" "$where.c" -o "$where" >"$out" 2>&1 || fail "not compiled"
in_processes() { [ "$(sed -n 's/^rank .* in //p' "$out" | sort -u | wc -l)" = "$1" ] || fail "$2: not in $1 processes"; }

run "$bin/mpiexec" -n $many "$where"
in_processes "$cores" "many"
[ "$(grep -c "^rank [0-9]* of $many in" "$out")" = $many ] || fail "many: not $many ranks"
[ "$(grep -c "$note" "$out")" = 1 ] || fail "many: not said once"
run "$bin/mpirun" -np 1000 "$where"
in_processes "$cores" "mpirun -np 1000"
[ "$(grep -c '^rank [0-9]* of 1000 in' "$out")" = 1000 ] || fail "1000: not 1000 ranks"
run "$bin/mpiexec" -n $((cores * 4)) "$where"
in_processes $((cores * 4)) "4 a core"
grep -q '^mpiexec' "$out" && fail "4 a core: something is said"
run "$bin/mpiexec" -n $many -nfg 1 "$where"
in_processes $many "-nfg 1"
run env FGMPI_NFG=1 "$bin/mpiexec" -n $many "$where"
in_processes $many "FGMPI_NFG=1"
# Programs without MPI, and scripts, of which it is not known.
run "$bin/mpiexec" -n $many hostname
[ "$(wc -l <"$out")" = $many ] || fail "hostname: not $many lines"
printf '#!/bin/sh\necho script\n' >"$programs/script.sh"
chmod +x "$programs/script.sh"
run "$bin/mpiexec" -n $many "$programs/script.sh"
[ "$(grep -c '^script$' "$out")" = $many ] || fail "script: not $many lines"

rm -rf "$programs/no folder"
run "$bin/mpiexec" -dry-run -track "$programs/no folder" -n 3 -nfg 7 "$where" "an argument" : -ranks 5 "$where"
grep -qE "^$where: 3 processes, 7 ranks each$" "$out" || fail "-dry-run: the first program is not described"
grep -qE "^$where: $((cores < 5 ? cores : 5)) processes, 5 ranks in all$" "$out" || fail "-dry-run: nor the second"
grep -q '^rank' "$out" && fail "-dry-run: something was started"
[ -e "$programs/no folder" ] && fail "-dry-run: -track made its folder"
run "$bin/mpiexec" -dry-run -n 2 -nfg 3 "$where"
run bash -c "$(tail -1 "$out")"  # the command that was printed starts the job
[ "$(grep -c '^rank [0-9] of 6' "$out")" = 6 ] || fail "-dry-run: its command does not start 6 ranks"

# A configuration file, with options of ours and hydra's in all forms before, in and behind it.
ranks_are() { # ranks_are SIZE: that many ranks have said so
  [ "$(grep -c "^rank [0-9]* of $1 in" "$out")" = "$1" ] || fail "$2: not $1 ranks"
}
cat >"$programs/config" <<END
# programs of one job
-n 2 -nfg=3 $where first   # six ranks

--n=1 --nfg 2 \\
  -env A=1 $where : -ranks=3 -n 2 $where
END
for line in "-configfile $programs/config" "--configfile=$programs/config -ft -ft" "-genv B 2 -configfile $programs/config -ppn 9" \
  "-hosts=localhost --configfile $programs/config"; do
  run "$bin/mpiexec" $line
  ranks_are 11 "$line"
done
run "$bin/mpiexec" -configfile "$programs/config" : -n 1 "$where"
ranks_are 12 "-configfile with another program"
for line in "-nfg=3 -n=2" "--nfg=3 --np=2" "-ft --ft -nfg 3 -np=2" "-wdir=/ -nfg=3 --n 2" "-genv=C 1 -genv D=2 -nfg=3 -n 2" "-n 2 --ranks=6 -v -v"; do
  run "$bin/mpiexec" $line "$where"
  ranks_are 6 "$line"
done
refused() { # refused WORDS OPTION...: by one line
  local words=$1
  shift
  timeout 100 "$bin/mpiexec" "$@" >"$out" 2>&1 </dev/null && fail "$*: is not refused"
  [ "$(wc -l <"$out")" = 1 ] && grep -qF -- "mpiexec: $words" "$out" || fail "$*: not in one line: $words"
}
refused "-nfg=x: allowed is a number" -nfg=x "$where"
refused "-nfg: a value is missing" -n 1 "$where" : -nfg
refused "-nfg 2: 3 has been given before" -nfg=3 -nfg 2 "$where"
refused "-ft=1: allowed is -ft without a value" -ft=1 "$where"
refused "-track: allowed is the name of a folder" -track -n 2 "$where"
refused "-configfile $programs/no config: cannot be read" -configfile "$programs/no config"
refused "-configfile=$programs/config: allowed is one file" -configfile "$programs/config" -configfile="$programs/config"
[ -e ./-n ] && fail "-track -n: a folder was made"

complete_line() { # complete_line WORD...: the completions of the last word
  bash -c 'PATH='"$bin"':$PATH; source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _fgmpi_mpiexec; printf "%s\n" "${COMPREPLY[@]}"' \
    "$(dirname "$bin")/share/bash-completion/completions/mpiexec" mpiexec "$@" >"$out" 2>&1
}
complete_line -nf
grep -qx -- -nfg "$out" || fail "completion of -nf"
complete_line -n 4 -bind-to co
[ "$(cat "$out")" = core ] || fail "completion of -bind-to co"
complete_line -genv FGMPI_STACK
grep -qx FGMPI_STACK_SIZE "$out" || fail "completion of -genv FGMPI_STACK"
complete_line -n 4 "$programs/wher"
grep -qx "$where" "$out" || fail "completion of a program"
complete_line -n 4 "$where" -nf
grep -q nfg "$out" && fail "an argument of the program was completed as an option"
complete_line -n 4 "$where" : -nf
grep -qx -- -nfg "$out" || fail "completion behind a colon"
echo " No Errors"
