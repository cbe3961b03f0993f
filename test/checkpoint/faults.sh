#!/bin/bash
# What happens to checkpoints when something fails: files that are damaged or missing, another build of the program, processes that
# are killed while they write, a full disk.
#   faults.sh BIN_FOLDER WORK_FOLDER PROGRAM
set -u
bin=$1 work=$2 program=$3
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
fail() { echo "faults.sh: $*" >&2; tail -n 20 out >&2; exit 1; }
refused() { # refused WORDS...: a restart fails at once, with these words
  timeout 60 "$bin/mpiexec" -restart saved -n 2 > out 2>&1 && fail "a restart began, where '$*' was expected"
  grep -q "$*" out || fail "the restart did not say '$*'"
}
timeout 100 "$bin/mpiexec" -checkpoint saved -n 2 -nfg 2 "$program" 2 > out 2>&1 || fail "the job that is saved ended with $?"
grep -q 'No Errors' out && [ -d saved/2 ] || fail "no second checkpoint"

# A bit in the middle of a file; a file that was cut; one that is missing; a list of pages.
cp -r saved intact
size=$(stat -c %s saved/2/1.ckpt)
printf '\x5a' | dd of=saved/2/1.ckpt bs=1 seek=$((size / 2)) conv=notrunc status=none
cmp -s saved/2/1.ckpt intact/2/1.ckpt && printf '\xa5' | dd of=saved/2/1.ckpt bs=1 seek=$((size / 2)) conv=notrunc status=none
refused 'saved/2/1.ckpt is damaged at byte'
truncate -s $((size - 7)) saved/2/1.ckpt
refused 'saved/2/1.ckpt is damaged at byte'
rm saved/2/1.ckpt
refused 'saved/2/1.ckpt cannot be opened'
cp intact/2/1.ckpt saved/2/
truncate -s -8 saved/2/0.pages
refused 'saved/2/0.pages is no list of pages'
cp intact/2/0.pages saved/2/

# Another program at its place.
cp "$program" other
timeout 100 "$bin/mpiexec" -checkpoint of_other -n 1 -nfg 2 ./other 1 > out 2>&1 || fail "the copy ended with $?"
cat > another.c << 'END'
#include <mpi.h>
int main(int argc, char** argv) { return MPI_Init(&argc, &argv) + MPI_Finalize(); }
END
"$bin/mpicc" another.c -o other || fail "mpicc failed"
timeout 60 "$bin/mpiexec" -restart of_other > out 2>&1 && fail "another program took the ranks"
grep -qE 'does not have what the ranks use|has another size|bytes of thread-local' out || fail "it is not said that the program is another one"

# A program that ends with an error is no process that was killed, although its status may be a signal's number.
cat > ends.c << 'END'
#include <stdlib.h>
#include "fgmpi.h"
int main(int argc, char** argv) {
  int flag, rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPIX_Checkpoint(MPI_COMM_WORLD, &flag);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1 && argc > 1) abort();
  exit(rank == 1 ? 9 : 0);
}
END
"$bin/mpicc" ends.c -o ends || fail "mpicc failed"
timeout 60 "$bin/mpiexec" -checkpoint of_ends -restart-on-failure -n 2 -nfg 1 ./ends > out 2>&1
[ $? = 9 ] && ! grep -q 'goes on from checkpoint' out || fail "a program that ends with status 9 counts as killed by signal 9"
timeout 60 "$bin/mpiexec" -checkpoint of_ends -restart-on-failure -n 2 -nfg 1 ./ends crash > out 2>&1
[ "$(grep -c 'was killed by signal 6 (Aborted): the job goes on' out)" = 3 ] || fail "a program that aborts did not go on three times"

# Killed while it writes: the checkpoint before is whole.
rm -rf saved
"$bin/mpiexec" -checkpoint saved -n 2 -nfg 2 "$program" 100 > out 2>&1 &
job=$!
# The first process may begin the second one while another process still writes the first.
began() { { [ -d saved/1 ] || [ -d saved/2 ] || [ -d saved/3 ]; } && compgen -G 'saved/*.tmp/0.ckpt.part' > /dev/null; }
for _ in $(seq 600); do began && break; sleep 0.02; done
[ -d saved/1 ] || [ -d saved/2 ] || [ -d saved/3 ] || fail "no checkpoint was complete before the second one began"
pkill -KILL -P $job
kill -KILL $job 2> /dev/null
wait $job 2> /dev/null
for _ in $(seq 100); do pgrep -f "$program 100" > /dev/null || break; sleep 0.1; done
compgen -G 'saved/*.tmp' > /dev/null || echo "no checkpoint was being written"
timeout 100 "$bin/mpiexec" -restart saved -n 1 > out 2>&1 || fail "the restart behind a kill ended with $?"
grep -q 'No Errors' out || fail "the restart behind a kill found errors"

# The time for another one comes while the one before is being written: it is left out. All memory is new each time.
cat > changes.c << 'END'
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char** argv) {
  enum { kWords = 12 << 20 };
  int ends = 0;
  unsigned *words = malloc(kWords * sizeof *words), seed = 1;
  MPI_Init(&argc, &argv);
  while (!ends) {
    for (int i = 0; i < kWords; ++i) words[i] = seed = seed * 1664525u + 1013904223u;
    for (int i = 0; i < 200; ++i) {
      usleep(1000);
      const int own = access("enough", F_OK) == 0;
      MPI_Allreduce(&own, &ends, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
  }
  return MPI_Finalize();
}
END
"$bin/mpicc" -O1 changes.c -o changes || fail "mpicc failed"
timeout 100 "$bin/mpiexec" -checkpoint often -checkpoint-every 10ms -n 2 -nfg 1 ./changes > out 2>&1 &
job=$!
for _ in $(seq 600); do grep -q 'the one before is still being written' out && break; sleep 0.1; done
touch enough
wait $job || fail "the job that is saved often ended with $?"
grep -q 'the one before is still being written' out || fail "no checkpoint was left out while the one before was being written"

# The disk is full: the job goes on, and the checkpoint before stays.
mkdir -p small
if mount -t tmpfs -o size=3m tmpfs small 2> /dev/null; then
  timeout 100 "$bin/mpiexec" -checkpoint small/saved -n 2 -nfg 1 "$program" 1 > out 2>&1
  status=$?
  cp -r small/saved kept
  umount small
  [ $status = 0 ] && grep -q 'No Errors' out || fail "the job did not go on where the disk is full"
  grep -q 'No space left on device' out || fail "nobody said that the disk is full"
  rm -rf saved && cp -r kept saved
  if [ -d saved/1 ]; then
    timeout 100 "$bin/mpiexec" -restart saved -n 1 > out 2>&1 || fail "the restart behind a full disk ended with $?"
  fi
else
  echo "full disk: not tried, since no file system may be mounted"
fi
echo " No Errors"
