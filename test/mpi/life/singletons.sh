# A process that a launcher has started as one of several, but without a way to the others, stops; rank 0 says why.
set -u
bin=$1 programs=$2
out=$programs/singletons.out
fail() { echo "singletons.sh: $*" >&2; cat "$out" >&2; exit 1; }
mkdir -p "$programs"
unset SLURM_STEP_NUM_TASKS SLURM_PROCID FLUX_JOB_SIZE FLUX_TASK_RANK PALS_RANKID OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK
unset PMI_FD PMI_PORT PMI_RANK PMI_SIZE PMI_JOBID PMIX_RANK PMIX_NAMESPACE FGMPI_SINGLETON
cat >"$programs/alone.c" <<'END'
#include <stdio.h>
#include "mpi.h"
int main(void) {
  int rank, size;
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("rank %d of %d\n", rank, size);
  MPI_Finalize();
  return 0;
}
END
alone=$programs/alone
"$bin/mpicc" "$alone.c" -o "$alone" >"$out" 2>&1 || fail "not compiled"
runs() { # runs SIZE VARIABLE=VALUE...
  local size=$1
  shift
  timeout 60 env "$@" "$alone" >"$out" 2>&1 || fail "$*: status $?"
  [ "$(grep -c "^rank . of $size$" "$out")" = "$size" ] || fail "$*: not a job of $size"
}
stops() { # stops PATTERN VARIABLE=VALUE...
  local pattern=$1
  shift
  timeout 60 env "$@" "$alone" >"$out" 2>&1 && fail "$*: runs"
  if [ -z "$pattern" ]; then
    [ ! -s "$out" ] || fail "$*: a process but the first one speaks"
  else
    [ "$(wc -l <"$out")" = 1 ] && grep -qE "$pattern" "$out" || fail "$*: not said in one line: $pattern"
  fi
}
runs 1 A=b
runs 1 SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0 SLURM_NTASKS=4
stops '4 processes \(SLURM_STEP_NUM_TASKS\).*srun --mpi=pmi2.*FGMPI_SINGLETON' SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0
stops '' SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=3
stops '' SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=3 FGMPI_NFG=5
runs 1 SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=3 FGMPI_SINGLETON=yes
runs 3 SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=3 FGMPI_SINGLETON=on FGMPI_NFG=3
stops 'Flux has started 2 processes' FLUX_JOB_SIZE=2 FLUX_TASK_RANK=0
stops 'PALS has started 8 processes' PMI_SIZE=8 PMI_RANK=0 PALS_RANKID=0
stops 'has started 8 processes .PMI_SIZE.' PMI_SIZE=8 PMI_RANK=0
stops "mpirun has started 2 processes" OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0
# Under our own launcher those variables of an outer one do not count.
timeout 60 env SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0 "$bin/mpiexec" -n 2 -nfg 2 "$alone" >"$out" 2>&1 || fail "under mpiexec"
[ "$(grep -c '^rank . of 4$' "$out")" = 4 ] || fail "under mpiexec: not 4 ranks"
echo " No Errors"
