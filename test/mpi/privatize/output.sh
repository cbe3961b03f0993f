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
