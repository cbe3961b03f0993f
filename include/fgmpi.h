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
int MPIX_Get_collocated_size(int* size);
/* World rank of the first proclet in the calling proclet's process. */
int MPIX_Get_collocated_startrank(int* rank);
/* Number of processes of the job. */
int MPIX_Get_n_size(int* size);
/* Lets other proclets of the process run. */
int MPIX_Yield(void);
/* Sleeps for at least `microseconds` while other proclets run. */
int MPIX_Usleep(unsigned microseconds);

/* How this process stores a communicator (HPDC'10 section 5, IPDPS'17 section III). */
typedef struct MPIX_Map_info {
  char model
      [24]; /* rank-map model: "direct", "offset", "stride", "blockstride", "md-blockstride", "lut", "mlut" */
  char encoding[40];   /* of a lut: the group map's encoding, e.g. "runs", "elias-fano"; else "" */
  MPI_Count map_bytes; /* bytes of the map in this process, beyond the communicator's own object */
  MPI_Count
      process_bytes; /* all bytes this process keeps for the communicator: shared part, map, member parts */
  int sharing; /* communicators of this process that share the map, this one included */
  int members; /* proclets of this process that belong to it */
} MPIX_Map_info;
/* Fills *info for a communicator that the calling rank belongs to. Local. Errors: MPI_ERR_COMM, MPI_ERR_ARG. */
int MPIX_Comm_map_info(MPI_Comm comm, MPIX_Map_info* info);

/* Groups as sets (HPDC'10 section 7): what needs the order of ranks is asked of communicators, not of groups. */

/* Color of MPIX_Comm_split: all members of `comm` stay together and are re-ranked by key (ties: by rank in comm).
 * Every member gives it. Nothing but the permutation is new; one that changes nothing shares the map of `comm`. */
#define MPIX_PERMUTE (-32765)
/* MPI_Comm_split that also takes the color MPIX_PERMUTE. Collective over comm, which is an intracommunicator.
 * Errors: MPI_ERR_COMM, MPI_ERR_ARG (color). */
int MPIX_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm);
/* ranks2[i] = rank in comm2 of the member that has rank ranks1[i] in comm1, MPI_UNDEFINED when it is not a member;
 * MPI_PROC_NULL stays. n values each. Local. Errors: MPI_ERR_COMM, MPI_ERR_RANK, MPI_ERR_ARG. */
int MPIX_Comm_translate_ranks(MPI_Comm comm1, int n, const int ranks1[], MPI_Comm comm2,
                              int ranks2[]);
/* *result = MPI_IDENT (same members in the same order), MPI_SIMILAR (same members) or MPI_UNEQUAL. Local: compares
 * the (local) groups, not the contexts. Errors: MPI_ERR_COMM. */
int MPIX_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int* result);

/* What the calling rank's process has done since it started. Counts, not rates; they only grow. A collective among P
 * processes sends O(P) messages between them, however many ranks they host (HPDC'10 section 4.1). */
typedef struct MPIX_Stats_values {
  MPI_Count collectives; /* collectives that the process has taken part in, each counted once */
  MPI_Count collective_messages; /* messages that they sent to other processes */
  MPI_Count collective_bytes;    /* bytes in these */
  MPI_Count local_messages;      /* point-to-point messages between ranks of the process */
  MPI_Count frames;              /* frames sent to other processes, collectives' included */
  MPI_Count frame_bytes;         /* bytes in these */
} MPIX_Stats_values;
/* Fills *values. Local. Errors: MPI_ERR_ARG for a null pointer. */
int MPIX_Stats(MPIX_Stats_values* values);

#ifdef __cplusplus
}
#endif
#endif
