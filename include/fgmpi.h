/* Extensions of Finegrain MPI. Include after or instead of <mpi.h>.
 *
 * Conventions: like MPI functions these return MPI_SUCCESS or an error code after calling the error handler
 * of the communicator involved (MPI_COMM_SELF's where there is none). They may be called between
 * MPI_Init and MPI_Finalize. "Process" means operating-system process, "rank" or "proclet" an MPI process.
 */
#ifndef FGMPI_H
#define FGMPI_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Number of proclets in the calling proclet's process (FG-MPI's name; HPDC'10 section 2). */
int MPIX_Get_collocated_size(int *size);
/* World rank of the first proclet in the calling proclet's process. */
int MPIX_Get_collocated_startrank(int *rank);
/* Number of processes of the job. */
int MPIX_Get_n_size(int *size);
/* Lets other proclets of the process run. */
int MPIX_Yield(void);
/* Sleeps for at least `microseconds` while other proclets run. */
int MPIX_Usleep(unsigned microseconds);

#ifdef __cplusplus
}
#endif
#endif
