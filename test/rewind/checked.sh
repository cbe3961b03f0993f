# mpiexec -rewind FILE -check: what a recorded run did wrong is found as by mpiexec -check, and the program sees what it saw.
. "$(dirname "$0")/common.sh"
# checked STATUS: run.rec is checked, and the program prints the same, also where its blocks lie.
checked() {
  timeout 60 "$bin/mpiexec" -rewind run.rec -check </dev/null >out.repeated 2>err.repeated
  got=$?
  [ $got = "$1" ] || fail "-rewind -check: status $got instead of $1: $(cat err.repeated)"
  diff out.recorded out.repeated >differences || fail "-rewind -check: other output: $(head -n 4 differences)"
}
for ranks in 2 5; do
  recorded 0 -ranks $ranks "$programs/mistakes"
  checked 0
  for kind in "leak 0 leaks:" "types 0 types:" "deadlock 1 deadlock:" "root 7 collectives:"; do
    set -- $kind
    recorded "$2" -ranks $ranks "$programs/mistakes" "$1"
    checked 86
    grep -q "fgmpi: check: $3" err.repeated || fail "$1 is not found: $(cat err.repeated)"
    grep -qE "at .*mistakes.c:[0-9]+ \(make_mistake\)" err.repeated || fail "$1: no line: $(cat err.repeated)"
    # As in a run of its own, but for what the report of the job itself says.
    timeout 60 "$bin/mpiexec" -check -n 1 -nfg $ranks "$programs/mistakes" "$1" >/dev/null 2>err.live
    diff <(sed -n '/fgmpi: check:/,$p' err.live) <(sed -n '/fgmpi: check:/,$p' err.repeated) || fail "$1: other findings"
  done
done

# What the checker itself says in between is none of the run's writes.
recorded 0 -ranks 2 "$programs/mistakes" accesses
checked 0
grep -q "^fgmpi: windows: more than [0-9]* accesses to the memory of one process are under way" err.repeated || fail "accesses: no words: $(cat err.repeated)"

# Addresses of all kinds of memory.
for ranks in 1 4 100; do
  recorded 0 -ranks $ranks "$programs/addresses"
  checked 86 # communicators that are never freed
done

# Programs compiled by mpicc -check: a store into a buffer that is being sent. They repeat, and it is found.
cat >store.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, value = 5, taken = 0;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Isend(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
  if (rank == 0) value = argc; /* the mistake */
  if (rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Recv(&taken, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("rank %d: %d %d at %p\n", rank, value, taken, (void*)&value);
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" -check -g -O1 store.c -o store || fail "mpicc -check"
recorded 0 -ranks 3 ./store
repeated 0
checked 86
grep -q "store.c:$(grep -n 'the mistake' store.c | cut -d: -f1)" err.repeated || fail "mpicc -check: the store is not found: $(cat err.repeated)"
"$bin/mpiexec" -record run.rec -check -ranks 3 ./store 2>err.recorded && fail "-record -check is allowed"
grep -q "allowed beside it are" err.recorded || fail "-record -check: no words"

# Only some kinds; a report in a file; wrong options.
recorded 0 -ranks 3 "$programs/mistakes" leak
"$bin/mpiexec" -rewind run.rec -check=types >/dev/null 2>err.repeated || fail "-check=types: status"
"$bin/mpiexec" -rewind run.rec -check -check-report findings.json >/dev/null 2>&1
grep -q '"leaks"' findings.json || fail "-check-report: no finding"
"$bin/mpiexec" -rewind run.rec -check -events 2>err.repeated && fail "-check -events is allowed"
grep -q "allowed beside it are" err.repeated || fail "-check -events: no words"
