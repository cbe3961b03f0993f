# Standard input, output and error that are closed, each combination: statuses are right, nothing hangs, and the numbers 0, 1
# and 2 are no descriptors of the library's or the launcher's.   closed.sh BIN PROGRAMS
set -u
bin=$1 programs=$2 failed=0
log=$programs/closed.log out=$programs/closed.out
unset FGMPI_NFG FGMPI_RANKS
fail() { echo "FAILED $*"; head -8 "$log" "$out"; failed=1; }

cat >"$programs/closed.c" <<'END'
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int rank;
/* r: reads, w: writes; a file, a pipe or /dev/null. Anything else, as a socket, is nobody's standard file. */
static char kind(int fd) {
  struct stat info;
  int closed = fstat(fd, &info) != 0, writes = !closed && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
  if (closed) return 'c';
  if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode) && !S_ISCHR(info.st_mode)) return '?';
  return writes ? 'w' : 'r';
}
int main(int argc, char** argv) {
  char c;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int got = read(0, &c, 1);
  FILE* log = fopen(argv[1], "a");
  fprintf(log, "<%c%c%c %d>\n", kind(0), kind(1), kind(2), got);
  fclose(log);
  printf("output of %d\n", rank);
  fprintf(stderr, "error of %d\n", rank);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return argc > 2 ? atoi(argv[2]) : 0;
}
END
program=$programs/closed
"$bin/mpicc" -O1 -w "$program.c" -o "$program" || exit 1

# close_files WHICH COMMAND...: "1 0 1" closes standard input and error; what is not closed is /dev/null and $out. The shell
# closes them, since `timeout` would open them again.
close_files() {
  local closing
  closing=$(set -- $1; [ $1 = 1 ] && echo -n " <&-"; [ $2 = 1 ] && echo -n " >&-"; [ $3 = 1 ] && echo -n " 2>&-")
  shift
  timeout 100 bash -c "exec \"\$@\"$closing" closed "$@" </dev/null >>"$out" 2>&1
}

runs() { # runs STATUS RANKS COMMAND...: in each combination; RANKS ranks find their files in order
  local wanted=$1 ranks=$2 closed status lines
  shift 2
  for closed in "1 0 0" "0 1 0" "0 0 1" "1 1 0" "1 0 1" "0 1 1" "1 1 1"; do
    : >"$log"
    : >"$out"
    close_files "$closed" "$@"
    status=$?
    [ $status = "$wanted" ] || fail "$*: closed $closed: status $status"
    [ "$(grep -cE '^<rww 0>$' "$log")" = "$ranks" ] || fail "$*: closed $closed: standard files of ranks"
    [ "$(wc -l <"$log")" = "$ranks" ] || fail "$*: closed $closed: not $ranks ranks"
    case $closed in
      *" 0 "*) lines=$ranks ;;
      *) lines=0 ;;
    esac
    [ "$(grep -c '^output of' "$out")" = $lines ] || fail "$*: closed $closed: output"
  done
}

runs 0 4 "$bin/mpiexec" -n 2 -nfg 2 "$program" "$log"
runs 3 2 "$bin/mpiexec" -n 2 "$program" "$log" 3
runs 3 2 "$bin/mpiexec" -ft -n 2 "$program" "$log" 3
runs 0 4 "$bin/mpiexec" -check -n 2 -nfg 2 "$program" "$log"
runs 0 4 "$bin/mpiexec" -summary -n 2 -nfg 2 "$program" "$log"
# A build without D3 refuses to make the page.
if "$bin/fgmpi-info" | grep -qE '^optional parts .*\bD3(,|$)'; then
  runs 0 4 "$bin/mpiexec" -report "$programs/closed.html" -n 2 -nfg 2 "$program" "$log"
fi
runs 5 3 env FGMPI_NFG=3 "$program" "$log" 5
runs 0 1 "$program" "$log"
runs 0 0 "$bin/fgmpi-info" -s
runs 0 0 "$bin/mpiexec" -help
runs 0 0 "$bin/mpicc" -c "$program.c" -o "$programs/closed.o"
# Each execution of an exploration has its own output.
for closed in "1 0 0" "0 1 0" "0 0 1" "1 1 1"; do
  : >"$out"
  close_files "$closed" "$bin/mpiexec" -explore -nfg 2 "$program" "$log" || fail "-explore: closed $closed: status $?"
done
rm -f "$programs/closed.html" "$programs/closed.o"
exit $failed
