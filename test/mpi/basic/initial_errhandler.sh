#!/usr/bin/env bash
# Options of mpiexec that MPI-4.1 section 11.5 names: initial_errhandler.sh BIN PROGRAMS
set -u
bin=$1 program=$2/initial_errhandler failed=0
fails() { echo "FAILED $1"; failed=1; }
"$bin/mpiexec" -n 2 -nfg 2 -initial-errhandler mpi_errors_return -memory-alloc-kinds mpi,system "$program" return >/dev/null ||
  fails "mpi_errors_return"
"$bin/mpiexec" -n 2 -nfg 2 "$program" fatal >/dev/null || fails "no option"
"$bin/mpiexec" -initial-errhandler mpi_errors_return -n 1 "$program" return : -n 1 "$program" fatal >/dev/null ||
  fails "one for each program"
text=$("$bin/mpiexec" -n 1 -initial-errhandler nothing "$program" fatal 2>&1) && fails "a wrong name is accepted"
[[ $text = *"allowed is mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return"* ]] || fails "wrong name: $text"
exit $failed
