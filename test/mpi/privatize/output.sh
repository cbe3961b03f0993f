# Each line is printed once and in one piece, prefixed with the world rank where that is asked for.
set -u
bin=$1 programs=$2
fail() { echo "output.sh: $*" >&2; exit 1; }
for shape in "1 40" "2 15"; do
  set -- $shape
  ranks=$(($1 * $2))
  "$bin/mpiexec" -n "$1" -nfg "$2" "$programs/lines" >"$programs/lines.out" || fail "exit status $?"
  good=$(grep -cE '^<([0-9]+) stream stdio write \1>$' "$programs/lines.out")
  [ "$(wc -l <"$programs/lines.out")" = $((10 * ranks)) ] || fail "$shape: $(wc -l <"$programs/lines.out") lines"
  [ "$good" = $((10 * ranks)) ] || fail "$shape: $good whole lines of $((10 * ranks))"
  [ "$(sort -u "$programs/lines.out" | wc -l)" = $ranks ] || fail "$shape: not every rank's"
  FGMPI_PREPEND_RANK=1 "$bin/mpiexec" -n "$1" -nfg "$2" "$programs/lines" >"$programs/lines.out" || fail "exit status $?"
  good=$(grep -cE '^\[([0-9]+)\] <\1 stream stdio write \1>$' "$programs/lines.out")
  [ "$good" = $((10 * ranks)) ] || fail "$shape: $good prefixed lines of $((10 * ranks))"
done

# More than the launcher reads at once, from several processes: its pieces must not end within a line.
cat >"$programs/many_lines.c" <<'END'
#include <mpi.h>
#include <stdio.h>
int rank;
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 3000; ++i) printf("rank %d line %d of an output that is longer than a pipe\n", rank, i);
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" "$programs/many_lines.c" -o "$programs/many_lines" || fail "many_lines.c"
"$bin/mpiexec" -n 3 -nfg 2 "$programs/many_lines" 2>&1 | cat >"$programs/lines.out"
good=$(grep -cE '^rank [0-5] line [0-9]+ of an output that is longer than a pipe$' "$programs/lines.out")
[ "$good" = 18000 ] && [ "$(wc -l <"$programs/lines.out")" = 18000 ] || fail "$good whole lines of 18000"

# Long lines, written in pieces with calls of MPI between them or at once: whole within a process and between processes.
cat >"$programs/long_lines.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int rank;
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  size_t length = strtoul(argv[1], 0, 10), pieces = strtoul(argv[2], 0, 10);
  FILE* to = argc > 3 ? stderr : stdout;
  char* line = malloc(length + 1);
  memset(line, 'a' + rank % 26, length);
  line[length] = '\n';
  for (int i = 0; i < 3; ++i)
    for (size_t p = 0; p < pieces; ++p) {
      size_t from = (length + 1) * p / pieces, to_byte = (length + 1) * (p + 1) / pieces;
      fwrite(line + from, 1, to_byte - from, to);
      if (pieces > 1) MPI_Barrier(MPI_COMM_WORLD);
    }
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" -O1 "$programs/long_lines.c" -o "$programs/long_lines" || fail "long_lines.c"
long_lines() { # long_lines LENGTH OPTION... PROGRAM ARGUMENT...: each rank's 3 lines are whole
  local length=$1 prefix=0 count
  shift
  [ "$1" = -prepend-rank ] && prefix=4
  timeout 100 "$bin/mpiexec" "$@" >"$programs/lines.out" 2>&1 </dev/null || fail "$*: exit status $?"
  count=$(awk -v length_="$((length + prefix))" '{ sub(/^\[[0-9]\] /, "", $0); c = substr($0, 1, 1); n = length($0); gsub(c, "", $0) }
    n + '$prefix' == length_ && $0 == "" { ++good[c] } END { for (c in good) printf "%d ", good[c] }' "$programs/lines.out")
  [ "$count" = "3 3 3 3 3 3 " ] && [ "$(wc -l <"$programs/lines.out")" = 18 ] || fail "$*: whole lines of each rank: $count"
}
for shape in "6 1" "2 3" "1 6"; do
  set -- $shape
  long_lines 300000 -n "$1" -nfg "$2" "$programs/long_lines" 300000 7
  long_lines 300000 -prepend-rank -n "$1" -nfg "$2" "$programs/long_lines" 300000 7
  long_lines 1000000 -n "$1" -nfg "$2" "$programs/long_lines" 1000000 1
  long_lines 50000 -n "$1" -nfg "$2" "$programs/long_lines" 50000 1 stderr
done

# One rank a process: the C library writes its blocks wherever they end.
"$bin/mpiexec" -n 3 -nfg 1 "$programs/many_lines" 2>&1 </dev/null | cat >"$programs/lines.out"
good=$(grep -cE '^rank [0-2] line [0-9]+ of an output that is longer than a pipe$' "$programs/lines.out")
[ "$good" = 9000 ] && [ "$(wc -l <"$programs/lines.out")" = 9000 ] || fail "$good whole lines of 9000"

# A prompt shows although its line is not finished, and a reader that is slow gets everything.
cat >"$programs/prompt.c" <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, answer = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    printf("a number? ");
    fflush(stdout);
    if (scanf("%d", &answer) != 1) answer = -1;
  }
  MPI_Bcast(&answer, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return answer != 17;
}
END
"$bin/mpicc" -O1 "$programs/prompt.c" -o "$programs/prompt" || fail "prompt.c"
rm -f "$programs/answer"
mkfifo "$programs/answer" || fail "mkfifo"
(
  exec 3>"$programs/answer"
  for _ in $(seq 600); do
    grep -q '^a number? $' "$programs/lines.out" && echo 17 >&3 && exit 0
    sleep 0.1
  done
) &
: >"$programs/lines.out"
timeout 100 "$bin/mpiexec" -n 3 -nfg 1 "$programs/prompt" <"$programs/answer" >"$programs/lines.out" || fail "a prompt did not show"
wait

# Unfinished lines are not lost when a rank aborts the job, makes an error, crashes or ends.
cat >"$programs/unfinished.c" <<'END'
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int rank;
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("line of %d\nbegun by %d", rank, rank);
  MPI_Barrier(MPI_COMM_WORLD);
  printf(", gone on with");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    printf(", not ended by %d", rank);
    switch (argv[1][0]) {
      case 'a': MPI_Abort(MPI_COMM_WORLD, 3);
      case 'b': abort();
      case 'c': raise(SIGSEGV);
      case 'e': exit(4);
      case 'm': MPI_Send(0, 0, MPI_INT, 99, 0, MPI_COMM_WORLD);
    }
  }
  if (argv[1][0] != 'f') MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" -O1 -w "$programs/unfinished.c" -o "$programs/unfinished" || fail "unfinished.c"
for shape in "3 1" "2 2" "1 3"; do
  for how in abort broken crash exit mistake finalize; do
    for prefix in "" "[1] "; do
      timeout 100 "$bin/mpiexec" ${prefix:+-prepend-rank} -n ${shape% *} -nfg ${shape#* } "$programs/unfinished" $how \
        </dev/null >"$programs/lines.out" 2>/dev/null
      for text in "line of 1" "begun by 1, gone on with, not ended by 1"; do
        grep -qF "$prefix$text" "$programs/lines.out" || fail "$shape, $how: lost: $prefix$text"
      done
    done
  done
done

# A full disk: a rank that flushes or writes gets the error; output that is lost without a flush is reported.
cat >"$programs/full.c" <<'END'
#include <mpi.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
int rank;
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("rank %d\n", rank);
  if (argc > 1) {
    int flushed = fflush(stdout);
    errno = 0;
    ssize_t written = write(1, "a\n", 2);
    fprintf(stderr, "<%d %d %d>\n", flushed, (int)written, errno == ENOSPC);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" -O1 -w "$programs/full.c" -o "$programs/full" || fail "full.c"
FGMPI_NFG=3 timeout 60 "$programs/full" flush 2>"$programs/lines.out" >/dev/full
[ "$(grep -c '^<-1 -1 1>$' "$programs/lines.out")" = 3 ] || fail "a rank did not learn that its output is lost"
FGMPI_NFG=3 timeout 60 "$programs/full" 2>"$programs/lines.out" >/dev/full
[ "$(grep -c 'fgmpi: standard output of this process is lost: No space left' "$programs/lines.out")" = 1 ] ||
  fail "lost output was not mentioned, or not once"
echo " No Errors"
