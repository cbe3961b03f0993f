# One program in C, C++, MPI-2's C++ binding and Fortran's three interfaces leaves the same trace, at several shapes; OpenMP's
# threads do no harm.
. "$(dirname "$0")/begin.bash"

# trace NAME C P PROGRAM: definitions and events without times go to NAME.text.
trace() {
  FGMPI_TRACK="files:raw" timeout 100 "$bin/mpiexec" -track "$1" -n "$3" -nfg "$2" "$4" >out 2>&1 ||
    fail "$1: status $?: $(head -5 out)"
  "$dump" --check --quiet "$1" || fail "$1: the job's own unification is another one"
  "$dump" --comms --events --no-times "$1" >"$1.text" || fail "$1: fgmpi-track-dump"
}

for shape in "1 4" "4 1" "64 2"; do
  # shellcheck disable=SC2086
  set -- $shape
  trace "c.$1x$2" "$1" "$2" "$folder/lang_c"
  grep -q 'MPI_Recv comm 1 from 0 tag 5 bytes 4$' "c.$1x$2.text" || fail "$1x$2: no receipt of rank 0's message"
  for language in cc bindings mpif module f08; do
    trace "$language.$1x$2" "$1" "$2" "$folder/lang_$language"
    diff "c.$1x$2.text" "$language.$1x$2.text" >differences ||
      fail "$language at $1x$2 leaves another trace than C: $(head -6 differences)"
  done
done

# Threads that compute, in each rank, between calls.
cat >openmp.c <<'END'
#include <mpi.h>
int main(int argc, char** argv) {
  int level, sum = 0, all = 0, size;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int step = 0; step < 3; ++step) {
#pragma omp parallel for reduction(+ : sum) num_threads(3)
    for (int i = 0; i < 1000; ++i) sum += 1;
    MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (all != size * (step + 1) * 1000) MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" -fopenmp openmp.c -o openmp.program || fail "mpicc -fopenmp"
for shape in "1 4" "4 1" "64 2"; do
  # shellcheck disable=SC2086
  set -- $shape
  trace "openmp.$1x$2" "$1" "$2" ./openmp.program
  records=$(grep -c MPI_Allreduce "openmp.$1x$2.text")
  [ "$records" = $((3 * $1 * $2)) ] || fail "OpenMP at ${1}x$2: $records records of $((3 * $1 * $2))"
done
echo ok
