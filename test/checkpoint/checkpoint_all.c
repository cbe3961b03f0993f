/* MPIX_Checkpoint for programs in Fortran: 0, or 1 where no checkpoint was taken. */
#include "fgmpi.h"

int checkpoint_all(void);
int checkpoint_all(void) {
  int flag = MPIX_CHECKPOINT_NONE;
  MPIX_Checkpoint(MPI_COMM_WORLD, &flag);
  return flag == MPIX_CHECKPOINT_NONE;
}
