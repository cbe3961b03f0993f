#!/bin/bash
# A job whose proxies are started by srun goes on when a process is killed (-restart-on-failure), and ends with a program that ends
# with an error; also where the guard of hydra is not loaded into the proxies. A script stands in for srun.
#   srun.sh BIN_FOLDER WORK_FOLDER PROGRAM [COUNT]
set -u
bin=$1 work=$2 program=$3 count=${4-2}
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
name=steps.$$
cp "$program" "./$name"
fail() { echo "srun.sh: $*" >&2; tail -n 20 out >&2; pkill -KILL -x "$name"; exit 1; }
cat >srun <<'END'
#!/bin/bash
# srun [OPTION...] --nodelist A,B [OPTION...] PROGRAM [ARGUMENT...]: starts it once for each node, here.
nodes=
while [ $# -gt 0 ]; do
  case $1 in
    --nodelist) nodes=$2; shift ;;
    -N | -n | --input) shift ;;
    -*) ;;
    *) break ;;
  esac
  shift
done
if [ -n "${SRUN_DROPS_ENV:-}" ] && [ "$1" = env ]; then
  while [[ $1 != */hydra_pmi_proxy ]]; do shift; done
fi
number=0
for node in ${nodes//,/ }; do
  SLURM_NODEID=$number "$@" </dev/null &
  number=$((number + 1))
done
wait
END
chmod +x srun
cat >ends.c <<'END'
#include <stdlib.h>
#include "fgmpi.h"
int main(int argc, char** argv) {
  int flag, rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPIX_Checkpoint(MPI_COMM_WORLD, &flag);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) exit(9);
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Finalize();
}
END
"$bin/mpicc" ends.c -o ends || fail "mpicc failed"
launch() { timeout 120 "$bin/mpiexec" -launcher slurm -launcher-exec "$work/srun" -hosts node1:2,node2:2 -n 4 -nfg 1 -restart-on-failure "$@" </dev/null; }
# The job's processes that run, but not their children that write a checkpoint.
processes() {
  for pid in $(pgrep -x "$name"); do
    status=$(cat "/proc/$pid/status" 2>/dev/null) || continue
    grep -q '^State:[[:space:]]*[ZX]' <<<"$status" && continue
    parent=$(sed -n 's/^PPid:[[:space:]]*//p' <<<"$status")
    [ "$(cat "/proc/$parent/comm" 2>/dev/null)" != "$name" ] && echo "$pid"
  done
}
RANDOM=${SEED-1}
for drops in "" yes; do
  export SRUN_DROPS_ENV=$drops
  for ((i = 0; i < count; i++)); do
    rm -rf saved
    launch -checkpoint saved ./ends >out 2>&1
    [ $? = 9 ] || fail "a program that ends with status 9 ended the job with another one${drops:+, without the guard}"
    ! grep -q 'goes on from checkpoint' out || fail "a program that ends with status 9 counts as killed${drops:+, without the guard}"
  done
  for ((i = 0; i < count; i++)); do
    rm -rf saved
    launch -checkpoint saved -checkpoint-every 200ms "./$name" 1500 0 >out 2>&1 &
    job=$!
    for _ in $(seq 600); do [ -d saved/1 ] && break; sleep 0.05; done
    [ -d saved/1 ] || fail "no checkpoint was taken"
    sleep 0.$((RANDOM % 400 + 100))
    kill -KILL "$(processes | sort -R --random-source=<(yes "$RANDOM") | head -1)"
    wait $job || fail "the job ended with $? behind a kill${drops:+, without the guard}"
    grep -q 'was killed by signal 9 (Killed): the job goes on' out || fail "nobody said that the job goes on${drops:+, without the guard}"
    grep -q 'No Errors' out || fail "the results are others behind a kill${drops:+, without the guard}"
  done
done
echo " No Errors"
