# How many memory mappings a rank takes, counted in /proc/self/maps, and that its variables are its own in any case.
set -u
bin=$1 work=$2/mappings.dir
fail() { echo "mappings.sh: $*" >&2; tail -20 "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out
# A program with two private libraries; the first calls the second, and both point into each other and into the program.
cat >one.c <<'END_OF_FILE'
#include <mpi.h>
extern int two_value, program_value, *two_pointer;
int one_value = 10, *one_pointer = &two_value, *one_to_program = &program_value;
static int large[100000];
int one(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  large[99999] += 1;
  return one_pointer == &two_value && two_pointer == &one_value && one_to_program == &program_value ? ++one_value + ++*one_pointer : -1;
}
END_OF_FILE
echo 'extern int one_value; int two_value = 20, *two_pointer = &one_value;' >two.c
cat >program.c <<'END_OF_FILE'
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int one(void), program_value = 5;
extern int one_value, two_value;
static long mappings(void) {
  long lines = 0;
  FILE* file = fopen("/proc/self/maps", "r");
  for (int c; file && (c = getc(file)) != EOF;) lines += c == '\n';
  if (file) fclose(file);
  return lines;
}
int main(int argc, char** argv) {
  int rank, wrong, all;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  program_value += rank;
  one_value += rank;
  two_value += 1000 * rank;
  wrong = one() != 32 + 1001 * rank || program_value != 5 + rank;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) printf("%s, %ld mappings\n", all ? "wrong" : "right", mappings());
  MPI_Finalize();
  return all;
}
END_OF_FILE
"$bin/mpicc" -shared two.c -o libtwo.so && "$bin/mpicc" -shared one.c -o libone.so -L. -Wl,--no-as-needed -ltwo -Wl,-rpath,"$work" &&
  "$bin/mpicc" program.c -o program -L. -lone -ltwo -Wl,-rpath,"$work" || fail "mpicc"
counted() { # counted RANKS: mappings of a process
  FGMPI_NFG=$1 timeout 100 ./program >out 2>&1 || fail "$FGMPI_IMAGE_MAPPINGS, $1 ranks: status $?"
  grep -q '^right' out || fail "$FGMPI_IMAGE_MAPPINGS, $1 ranks: variables are shared"
  grep -oE '[0-9]+ mappings' out | cut -d' ' -f1
}
for layout in "protected 6" "joined 1" "copied 0"; do
  export FGMPI_IMAGE_MAPPINGS=${layout% *}
  few=$(counted 20) && many=$(counted 120) || exit 1
  # A few for the heap, which grows.
  [ $((many - few)) -ge $((${layout#* } * 100 - 20)) ] && [ $((many - few)) -le $((${layout#* } * 100 + 20)) ] ||
    fail "$((many - few)) mappings for 100 ranks; expected: ${layout#* } each"
  for shape in "1 1" "4 1" "2 3"; do
    timeout 100 "$bin/mpiexec" -n "${shape% *}" -nfg "${shape#* }" ./program >out 2>&1 || fail "$layout at $shape: status $?"
  done
done
# By default code and constants are protected, while mappings suffice.
unset FGMPI_IMAGE_MAPPINGS
limit=$(cat /proc/sys/vm/max_map_count)
for shape in "20 protected" "$((limit / 6 + 100)) joined"; do
  [ "${shape% *}" -gt 20000 ] && continue # the limit has been raised here
  FGMPI_VERBOSE=1 FGMPI_NFG=${shape% *} timeout 100 ./program >out 2>&1 || fail "${shape% *} ranks: status $?"
  grep -q '^right' out && grep -q "a rank (${shape#* })\$" out || fail "${shape% *} ranks: not ${shape#* }"
done
"$bin/fgmpi-info" -libs ./program >out 2>&1
grep -qE '^a rank, protected +6 ' out && grep -qE '^a rank, joined +1 ' out && grep -qE '^a rank, copied +0 ' out || fail "fgmpi-info -libs"
echo " No Errors"
