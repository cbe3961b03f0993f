# Programs built with a sanitizer: several ranks a process, or a line that says that it cannot be.
set -u
bin=$1 work=$2/sanitizers.dir
export LSAN_OPTIONS=suppressions=$(cd "$(dirname "$0")/.." && pwd)/lsan.supp  # for runs over libfabric
fail() { echo "sanitizers.sh: $*" >&2; tail -20 "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out
cat >program.c <<'END_OF_FILE'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static int own = 5;
int main(int argc, char** argv) {
  int rank, size, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  own += rank;
  volatile char* block = malloc(10);
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (own == 5 + rank && sum == 5 * size + size * (size - 1) / 2) printf("rank %d is well\n", rank);
  fflush(stdout);
  if (argc > 1 && rank == size - 1) block[10] = 1;
  free((void*)block);
  return MPI_Finalize();
}
END_OF_FILE
for kind in address leak undefined; do
  "$bin/mpicc" -g -O1 -fsanitize=$kind program.c -o program_$kind >out 2>&1 || { echo "no -fsanitize=$kind here"; continue; }
  for shape in "2 1" "2 3"; do
    timeout 100 "$bin/mpiexec" -n "${shape% *}" -nfg "${shape#* }" ./program_$kind >out 2>&1 || fail "$kind at $shape: status $?"
    [ "$(grep -c 'is well$' out)" = $((${shape% *} * ${shape#* })) ] || fail "$kind at $shape: not all ranks are well"
  done
done
if [ -x program_address ]; then
  timeout 100 "$bin/mpiexec" -n 2 -nfg 3 ./program_address wrong >out 2>&1 && fail "an overflow of the heap: status 0"
  grep -q 'AddressSanitizer: heap-buffer-overflow' out || fail "an overflow of the heap is not found"
fi
if "$bin/mpicc" -g -O1 -fsanitize=thread program.c -o program_thread >out 2>&1; then
  timeout 100 "$bin/mpiexec" -n 2 -nfg 3 ./program_thread >out 2>&1 && fail "thread: not refused"
  ./program_thread >alone 2>&1 && fail "thread, without mpiexec: not refused"
  grep -q '^fgmpi: the program is built with ThreadSanitizer, .*; allowed are -fsanitize=address' alone ||
    fail "thread, without mpiexec: not said"
  grep -q '^mpiexec: .*program_thread: is built with ThreadSanitizer, .*; allowed are -fsanitize=address' out || fail "thread: not said"
fi
echo " No Errors"
