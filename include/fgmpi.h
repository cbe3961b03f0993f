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

/* How this process stores a communicator (HPDC'10 section 5, IPDPS'17 section III). */
typedef struct MPIX_Map_info {
  char model[24];          /* rank-map model: "direct", "offset", "stride", "blockstride", "md-blockstride", "lut", "mlut" */
  char encoding[40];       /* of a lut: the group map's encoding, e.g. "runs", "elias-fano"; else "" */
  MPI_Count map_bytes;     /* bytes of the map in this process, beyond the communicator's own object */
  MPI_Count process_bytes; /* all bytes this process keeps for the communicator: shared part, map, member parts */
  int sharing;             /* communicators of this process that share the map, this one included */
  int members;             /* proclets of this process that belong to it */
} MPIX_Map_info;
/* Fills *info for a communicator that the calling rank belongs to. Local. Errors: MPI_ERR_COMM, MPI_ERR_ARG. */
int MPIX_Comm_map_info(MPI_Comm comm, MPIX_Map_info *info);

/* What the calling rank's process has done since it started. Counts, not rates; they only grow. A collective among P
 * processes sends O(P) messages between them, however many ranks they host (HPDC'10 section 4.1). */
typedef struct MPIX_Stats_values {
  MPI_Count collectives;         /* collectives that the process has taken part in, each counted once */
  MPI_Count collective_messages; /* messages that they sent to other processes */
  MPI_Count collective_bytes;    /* bytes in these */
  MPI_Count local_messages;      /* point-to-point messages between ranks of the process */
  MPI_Count frames;              /* frames sent to other processes, collectives' included */
  MPI_Count frame_bytes;         /* bytes in these */
} MPIX_Stats_values;
/* Fills *values. Local. Errors: MPI_ERR_ARG for a null pointer. */
int MPIX_Stats(MPIX_Stats_values *values);

#ifdef __cplusplus
}
#endif
#endif
