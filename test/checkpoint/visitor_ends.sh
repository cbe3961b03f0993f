#!/bin/bash
# A rank that is away from home ends the job, or waits for ever: exit statuses and what is said.
#   visitor_ends.sh BIN PROGRAM
bin=$1 program=$2 failed=0
export FGMPI_HEAP=rank FGMPI_PRIVATIZE=on FGMPI_BALANCE=random:1

# ends WAY STATUS WORDS: the job ends with this status (-: any but 0), and says these words.
ends() {
  local output status
  output=$(timeout 60 "$bin/mpiexec" -n 2 -nfg 2 -genv LD_PRELOAD libfgmpi-checkpoint.so "$program" "$1" < /dev/null 2>&1)
  status=$?
  if [ $status -ne 124 ] && [ $status -ne 0 ] && { [ "$2" = - ] || [ $status -eq "$2" ]; } && grep -q away <<< "$output" &&
    grep -qE "$3" <<< "$output"; then
    return
  fi
  echo "$1: ends with $status, expected $2 and: $3"
  head -12 <<< "$output"
  failed=1
}

ends exit 3 away
ends abort - 'rank 1: Aborted'
ends MPI_Abort 5 'rank 1 called MPI_Abort with error code 5'
ends error - 'rank 1: Invalid rank in MPI_Isend: dest is 4'
ends 'home error' - 'rank 1: Invalid count in MPI_Bcast: count is -1'
ends deadlock - 'rank 1 in MPI_Recv \(in process 1, to which it has moved\): MPI_Irecv source 2, tag 77'
exit $failed
