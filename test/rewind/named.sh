# What is refused when it is recorded, and what is named when a run does not repeat.
. "$(dirname "$0")/common.sh"

# refused WORDS HOW: the run ends with a line of these words.
refused() {
  recorded 1 -ranks 4 "$programs/ends" "$2"
  grep -q "^fgmpi: record: the run of rank 3 cannot be recorded further: $1" err.recorded || fail "$2: not refused with $1"
}
refused "it starts a thread" thread
refused "it starts another process" child

# OpenMP: one thread where the user does not say how many; more are refused.
cat >teams.c <<'END'
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, most = 0;
  double sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#pragma omp parallel for reduction(+ : sum) num_threads(4)
  for (int i = 0; i < 1000; ++i) sum += 1.0 / (i + rank + 1);
#pragma omp parallel num_threads(3)
#pragma omp single
  for (int i = 0; i < 10; ++i) {
#pragma omp task
#pragma omp atomic
    sum += i;
  }
#pragma omp parallel reduction(max : most)
  most = omp_get_num_threads();
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d: %.17g, %d threads of %d\n", rank, sum, most, omp_get_max_threads());
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" -fopenmp -O1 -g teams.c -o teams || fail "OpenMP: mpicc"
unset OMP_NUM_THREADS OMP_THREAD_LIMIT
for ranks in 1 4; do
  recorded 0 -ranks $ranks ./teams
  [ "$(grep -c ', 1 threads of 1$' out.recorded)" = $ranks ] || fail "OpenMP: more than one thread: $(cat out.recorded)"
  repeated 0
  OMP_NUM_THREADS=4 OMP_THREAD_LIMIT=8 repeated 0
done
recorded 1 -ranks 2 -env OMP_NUM_THREADS 3 ./teams
grep -q "^fgmpi: record: the run of rank [01] cannot be recorded further: it starts a thread" err.recorded || fail "OpenMP: threads are not refused"

# A process that is killed: the recording is complete up to there.
"$bin/mpiexec" -record run.rec -ranks 8 "$programs/ends" spin >out.recorded 2>/dev/null &
process=$!
for ((i = 0; i < 600; ++i)); do
  [ "$(stat -c %s out.recorded)" -gt 8000 ] && break
  sleep 0.1
done
kill -9 $process
wait $process
timeout 60 "$bin/mpiexec" -rewind run.rec >out.repeated 2>err.repeated
[ $? = 137 ] || fail "killed: another status"
grep -q "^fgmpi: rewind: the recording ends here: the process was killed (event [0-9]*, rank [0-9]* [a-z]* MPI_[A-Z][a-z_]* at .*ends.c:[0-9]*)" err.repeated ||
  fail "killed: not said"
size=$(wc -c <out.recorded)
[ "$size" -gt 1000 ] || fail "killed: too early"
cmp -n "$size" out.recorded out.repeated || fail "killed: other output"

# A file of the recording that is cut: it ends there.
cp run.rec whole.rec
truncate -s $(($(stat -c %s run.rec) - 50)) run.rec
timeout 60 "$bin/mpiexec" -rewind run.rec >out.repeated 2>err.repeated
case $? in 1) grep -q "the file is damaged" err.repeated || fail "cut: not said" ;; 137 | 87) ;; *) fail "cut: another status" ;; esac

# An input file that has changed, or is gone, is named.
echo "as recorded" >data
recorded 0 -ranks 2 "$programs/inputs" data
echo "as_recorded" >data
timeout 60 "$bin/mpiexec" -rewind run.rec >out.repeated 2>err.repeated
[ $? = 87 ] || fail "changed file: another status"
grep -q "data has other contents than in the recorded run (event [0-9]*, rank 0 behind MPI_Barrier at .*inputs.c:[0-9]*)" err.repeated || fail "changed file: not named"
rm data
timeout 60 "$bin/mpiexec" -rewind run.rec >out.repeated 2>err.repeated
[ $? = 87 ] || fail "missing file: another status"
grep -q "data cannot be opened" err.repeated || fail "missing file: not named"

# Another build of the program is refused.
cp "$programs/order" program
recorded 0 -ranks 2 ./program 2
repeated 0
printf x >>program
timeout 60 "$bin/mpiexec" -rewind run.rec >out.repeated 2>err.repeated && fail "another build was accepted"
grep -q "program is another build than the recorded one" err.repeated || fail "another build: not named"

# Another folder and another environment: the recorded ones are used.
recorded 0 -ranks 2 "$programs/inputs"
(mkdir elsewhere && cd elsewhere && env -i PATH="$PATH" HOME=/ timeout 60 "$bin/mpiexec" -rewind ../run.rec >../out.repeated) ||
  fail "elsewhere: status"
cmp out.recorded out.repeated || fail "elsewhere: other output"

# No recording.
echo nothing >none.rec
"$bin/mpiexec" -rewind none.rec 2>err.repeated && fail "no recording: accepted"
grep -q "is no recording" err.repeated || fail "no recording: not said"
