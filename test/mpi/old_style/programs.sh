# What is seen of programs in the style of the 1990s: input, their own error exits, statuses of a main without return,
# common blocks of several files, FORTRAN 77.
set -u
bin=$1 programs=$2
out=$programs/programs.out
fail() { echo "programs.sh: $*" >&2; cat "$out" >&2; exit 1; }
cc="$bin/mpicc -std=gnu89 -fcommon -w"
cd "$programs" || exit 1
for shape in "-n 1 -nfg 4" "-n 4 -nfg 1" "-n 2 -nfg 3"; do
  echo 12 | timeout 60 "$bin/mpiexec" $shape ./asks >"$out" 2>&1 || fail "$shape: input"
  grep -q '^How many? 12 it is$' "$out" || fail "$shape: not what was typed"
  # The others wait for rank 0, which has gone: the job ends at once, with its status.
  echo none | timeout 60 "$bin/mpiexec" $shape ./asks >"$out" 2>&1
  [ $? = 3 ] || fail "$shape: another status than exit's"
  grep -q 'asks: a positive number, please' "$out" || fail "$shape: the program's own message is lost"
done

# A global variable that several files define; each rank has its own.
cat >part1.c <<'END'
#include <stdlib.h>
#include "mpi.h"
int me, total;
double field[1000];
main(argc, argv) char** argv; {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  fill();
  MPI_Barrier(MPI_COMM_WORLD);
  if (total != 1000 * me || field[999] != me) abort();
  MPI_Finalize();
  exit(0);
}
END
cat >part2.c <<'END'
int me, total;
double field[1000];
fill() {
  int i;
  for (i = 0; i < 1000; i++) { field[i] = me; total += me; }
}
END
$cc part1.c part2.c -o parts || fail "two files with common variables: not linked"
for shape in "-n 1 -nfg 5" "-n 2 -nfg 2" "-n 2 -nfg 1"; do
  timeout 60 "$bin/mpiexec" $shape ./parts >"$out" 2>&1 || fail "$shape: common variables"
done

# Falling off main in C89: the status is what the last call left in the register, here printf's 6.
cat >falls.c <<'END'
#include "mpi.h"
main() { MPI_Init(0, 0); MPI_Finalize(); printf("hello\n"); }
END
$cc -O0 falls.c -o falls || fail "falls.c: not compiled"
timeout 60 "$bin/mpiexec" -n 1 -nfg 3 ./falls >"$out" 2>&1
[ $? = 6 ] || fail "a main without return: another status than that of its last call"
[ "$(grep -c hello "$out")" = 3 ] || fail "a main without return: its output is lost"

# An array of 12 MB does not fit into 8 MiB: the report names the rank and the setting, and that lets it run.
cat >large.c <<'END'
#include "mpi.h"
main() { double a[1500000]; MPI_Init(0, 0); a[0] = a[1499999] = 1; MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize();
  return a[0] + a[1499999] != 2; }
END
$cc -O0 large.c -o large || fail "large.c: not compiled"
(ulimit -S -s 8192; timeout 60 "$bin/mpiexec" -n 1 -nfg 2 ./large) >"$out" 2>&1 && fail "12 MB in 8 MiB: not reported"
grep -q 'stack overflow of rank [01] (8192 KiB): raise FGMPI_STACK_SIZE' "$out" || fail "12 MB in 8 MiB: not named"
timeout 60 "$bin/mpiexec" -n 1 -nfg 2 -genv FGMPI_STACK_SIZE 16m ./large >"$out" 2>&1 || fail "12 MB in 16 MiB"
(ulimit -S -s 16384 && timeout 60 "$bin/mpiexec" -n 1 -nfg 2 ./large) >"$out" 2>&1 || fail "12 MB with ulimit -s 16384"

cat >common.f <<'END'
      PROGRAM SHARED
      INCLUDE 'mpif.h'
      INTEGER IERR, ME, NP, I
      REAL*8 WORK(600000), TOTAL
      COMMON /PLATE/ WORK, TOTAL
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, ME, IERR)
      DO 10 I = 1, 600000
   10 WORK(I) = ME
      CALL MPI_BARRIER(MPI_COMM_WORLD, IERR)
      CALL ADD
      IF (TOTAL .NE. 600000D0 * ME) STOP 1
      CALL MPI_FINALIZE(IERR)
      END
      SUBROUTINE ADD
      REAL*8 WORK(600000), TOTAL
      COMMON /PLATE/ WORK, TOTAL
      REAL*8 COPY(300000)
      DO 20 I = 1, 300000
   20 COPY(I) = WORK(I) + WORK(I + 300000)
      TOTAL = 0
      DO 30 I = 1, 300000
   30 TOTAL = TOTAL + COPY(I)
      END
END
"$bin/mpif77" -std=legacy -w -frecursive common.f -o common || fail "FORTRAN 77: not compiled"
for shape in "-n 1 -nfg 5" "-n 2 -nfg 2"; do
  timeout 60 "$bin/mpiexec" $shape ./common >"$out" 2>&1 || fail "$shape: FORTRAN 77"
done
echo " No Errors"
