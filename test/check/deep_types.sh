# Tests datatypes that are nested 100,000 deep under mpiexec -check, on stacks of 64 KiB: the innermost types are
# compared, and a correct program has no finding.
. "$(dirname "$0")/common.sh" "$1"
cat >deep.c <<'END'
#include <mpi.h>
#include <stdlib.h>
/* A type around `inner`: one of each constructor in turn, every third with a gap. */
static MPI_Datatype around(MPI_Datatype inner, int i) {
  MPI_Datatype outer;
  MPI_Aint zero = 0;
  int one = 1, places[1] = {0};
  switch (i % 6) {
    case 0: MPI_Type_contiguous(1, inner, &outer); break;
    case 1: MPI_Type_dup(inner, &outer); break;
    case 2: MPI_Type_create_resized(inner, 0, 8 + i % 7, &outer); break;
    case 3: MPI_Type_create_struct(1, &one, &zero, &inner, &outer); break;
    case 4: MPI_Type_vector(1, 1, 3, inner, &outer); break;
    default: MPI_Type_indexed(1, &one, places, inner, &outer);
  }
  return outer;
}
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, sent[8] = {1, 2}, got[8] = {0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Datatype type, outer, lists[] = {MPI_INT, argc > 1 && rank == 0 ? MPI_FLOAT : MPI_INT};
  int two[] = {1, 1};
  MPI_Aint places[] = {0, 4};
  MPI_Type_create_struct(2, two, places, lists, &type);
  for (int i = 0; i < 100000; i++) {
    outer = around(type, i);
    MPI_Type_free(&type);
    type = outer;
  }
  MPI_Type_commit(&type);
  MPI_Sendrecv(sent, 1, type, next, 1, got, 2, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  /* The line of the call above is 34. */
  MPI_Type_free(&type);
  MPI_Finalize();
  return got[1] == 2 ? 0 : 3;
}
END
"$bin/mpicc" -g deep.c -o deep || fail "mpicc"
export FGMPI_STACK_SIZE=64k
for shape in "1 2" "2 1" "2 2"; do
  # shellcheck disable=SC2086
  set -- $shape
  status 0 -check -n "$1" -nfg "$2" ./deep
  [ -s out ] && fail "a correct program has a report"
  status 86 -check -n "$1" -nfg "$2" ./deep wrong
  grep -q 'types: ' out && grep -q 'deep\.c:34' out || fail "the finding at $shape"
done
echo " No Errors"
