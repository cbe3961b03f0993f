/* Loaded in front of an MPI program: each rank says at its end how many one-sided operations its
 * process has done by now, by way. */
#include <mpi.h>
#include <stdio.h>

#include "fgmpi.h"

int MPI_Finalize(void) {
  MPIX_Stats_values s;
  if (MPIX_Stats(&s) == MPI_SUCCESS)
    fprintf(stderr, "one-sided operations: here %lld mapped %lld attached %lld messages %lld\n",
            (long long)s.rma_here, (long long)s.rma_mapped, (long long)s.rma_attached,
            (long long)s.rma_messages);
  return PMPI_Finalize();
}
