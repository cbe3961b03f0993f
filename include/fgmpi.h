/* Extensions of Finegrain MPI. Include after or instead of <mpi.h>.
 *
 * Conventions: like MPI functions these return MPI_SUCCESS or an error code after calling the error
 * handler of the communicator involved (MPI_COMM_SELF's where there is none). They may be called
 * between MPI_Init and MPI_Finalize. "Process" means operating-system process, "rank" or "proclet"
 * an MPI process.
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

/* Programs that bind a function to each rank (FG-MPI's interface, HPDC'10 section 2). main calls
 * FGmpiexec before MPI_Init; the functions call MPI_Init and MPI_Finalize. By default the ranks of
 * a process share the program's variables (FGMPI_PRIVATIZE=off) and main runs once a process. What
 * the functions return is ignored; exit() ends a rank. */
typedef int PROCESS;
typedef int (*FG_ProcessPtr_t)(int argc, char** argv);
typedef FG_ProcessPtr_t (*FG_MapPtr_t)(int argc, char** argv, int rank);
typedef FG_MapPtr_t (*LookupMapPtr_t)(int argc, char** argv, char* name);
/* In place of a rank: the map is called so once a process, before it is asked for functions and
 * after all of these have returned. What it returns then is ignored. */
#define MAP_INIT_ACTION (-1)
#define MAP_FINALIZE_ACTION (-2)
/* Calls lookup(argc, argv, name), which gives the map of the process; name is the value of the
 * environment variable FGMAP, a null pointer without it. Calls the map with the world rank of each
 * rank of the process, and on the rank's proclet the function that this gives. Returns when all
 * functions of the process have returned. Where ranks have their own globals, each of them does all
 * of this for itself. Errors: MPI_ERR_ARG (null pointers), MPI_ERR_OTHER (after MPI_Init, or
 * twice). */
int FGmpiexec(int* argc, char*** argv, LookupMapPtr_t lookup);

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
/* Fills *info for a communicator that the calling rank belongs to. Local. Errors: MPI_ERR_COMM,
 * MPI_ERR_ARG. */
int MPIX_Comm_map_info(MPI_Comm comm, MPIX_Map_info* info);

/* Groups as sets (HPDC'10 section 7): what needs the order of ranks is asked of communicators, not
 * of groups. */

/* Color of MPIX_Comm_split: all members of `comm` stay together and are re-ranked by key (ties: by
 * rank in comm). Every member gives it. Nothing but the permutation is new; one that changes
 * nothing shares the map of `comm`. */
#define MPIX_PERMUTE (-32765)
/* MPI_Comm_split that also takes the color MPIX_PERMUTE. Collective over comm, which is an
 * intracommunicator. Errors: MPI_ERR_COMM, MPI_ERR_ARG (color). */
int MPIX_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm);

/* Key of MPIX_Comm_split, given by every member: the ranks in newcomm are the system's choice,
 * contiguous in each process. No member and no process needs to know the others, so creation needs
 * no sort and no list of the group (Langer, Venkataraman, Kale, EuroMPI 2012). newcomm is a
 * communicator like any other; docs/memory-budget.md says which calls make a process store the
 * whole group. */
#define MPIX_SYSTEM_RANKED (-2147483647 - 1)
/* The same without a key, with hints: fgmpi_system_ranked_algorithm (centralized,
 * shrink_and_balance, rank_and_hash), fgmpi_system_ranked_k (2 to 64), fgmpi_system_ranked_filler
 * (leaf, child; shrink_and_balance). Where a key is missing, the hints of comm hold, then the
 * environment (docs/settings.md). All members give the same values. Collective over comm, an
 * intracommunicator; color MPI_UNDEFINED: none. Errors: MPI_ERR_COMM, MPI_ERR_ARG (color),
 * MPI_ERR_INFO_VALUE. */
int MPIX_Comm_split_system_ranked(MPI_Comm comm, int color, MPI_Info info, MPI_Comm* newcomm);
/* Nonblocking: *newcomm is set when the request completes; comm may be freed before. */
int MPIX_Comm_isplit_system_ranked(MPI_Comm comm, int color, MPI_Info info, MPI_Comm* newcomm,
                                   MPI_Request* request);
/* ranks2[i] = rank in comm2 of the member that has rank ranks1[i] in comm1, MPI_UNDEFINED when it
 * is not a member; MPI_PROC_NULL stays. n values each. Local. Errors: MPI_ERR_COMM, MPI_ERR_RANK,
 * MPI_ERR_ARG. */
int MPIX_Comm_translate_ranks(MPI_Comm comm1, int n, const int ranks1[], MPI_Comm comm2,
                              int ranks2[]);
/* *result = MPI_IDENT (same members in the same order), MPI_SIMILAR (same members) or MPI_UNEQUAL.
 * Local: compares the (local) groups, not the contexts. Errors: MPI_ERR_COMM. */
int MPIX_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int* result);

/* What the calling rank's process has done since it started. Counts, not rates; they only grow. A
 * collective among P processes sends O(P) messages between them, however many ranks they host
 * (HPDC'10 section 4.1). */
typedef struct MPIX_Stats_values {
  MPI_Count collectives; /* collectives that the process has taken part in, each counted once */
  MPI_Count collective_messages; /* messages that they sent to other processes */
  MPI_Count collective_bytes;    /* bytes in these */
  MPI_Count local_messages;      /* point-to-point messages between ranks of the process */
  MPI_Count frames;              /* frames sent to other processes, collectives' included */
  MPI_Count frame_bytes;         /* bytes in these */
  /* One-sided operations of the process's ranks, by the way that they took (src/rma/README.md): */
  MPI_Count rma_here;     /* on memory of the same process */
  MPI_Count rma_mapped;   /* on mapped memory of another process of the host */
  MPI_Count rma_attached; /* through process_vm_readv and process_vm_writev */
  MPI_Count rma_messages; /* by messages to the target's process */
  MPI_Count rma_provider; /* by reads, writes and atomics of the network's provider */
  /* IP multicast (src/transport/multicast): */
  MPI_Count multicast_transfers; /* sent by the process to groups of processes */
  MPI_Count multicast_bytes;     /* bytes in these */
  MPI_Count multicast_repairs;   /* packets that were sent again */
  MPI_Count multicast_dropped;   /* datagrams of strangers, dropped */
} MPIX_Stats_values;
/* Fills *values. Local. Errors: MPI_ERR_ARG for a null pointer. */
int MPIX_Stats(MPIX_Stats_values* values);

/* Opened groups (Yuan, Daniels, Faraj, Karwande: compiler-assisted group management): a collective
 * that is called again and again with the same arguments, but for its buffers. All three functions
 * take the arguments of the collective.
 *
 *   _open_group      says that it is going to be called. Local: nothing is communicated. Looks at
 *                    no argument but the communicator; the first movement checks them and keeps
 *                    them.
 *   _data_movement   the collective: the same as the plain call, and it meets members that make
 *                    that one in its place, or that have opened nothing. Arguments (arrays by their
 *                    values) that are those of an earlier movement need no checks; other ones take
 *                    the place of those of a group that is open. As long as one is open the plain
 *                    call is a movement, too.
 *   _close_group     says that it is not going to be called any more. Local.
 *
 * A rank may have many groups open on a communicator, one also several times; each open needs its
 * close. Freeing the communicator closes those that are left. Opening and closing return
 * MPI_SUCCESS, also for what is no communicator and for what is not open, so that they may stand
 * around a loop that never runs. Errors of a movement: those of the collective. */
int MPIX_Bcast_open_group(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm);
int MPIX_Bcast_data_movement(void* buffer, int count, MPI_Datatype datatype, int root,
                             MPI_Comm comm);
int MPIX_Bcast_close_group(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm);
int MPIX_Scatter_open_group(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                            void* recvbuf, int recvcount, MPI_Datatype recvtype, int root,
                            MPI_Comm comm);
int MPIX_Scatter_data_movement(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                               void* recvbuf, int recvcount, MPI_Datatype recvtype, int root,
                               MPI_Comm comm);
int MPIX_Scatter_close_group(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                             void* recvbuf, int recvcount, MPI_Datatype recvtype, int root,
                             MPI_Comm comm);
int MPIX_Scatterv_open_group(const void* sendbuf, const int sendcounts[], const int displs[],
                             MPI_Datatype sendtype, void* recvbuf, int recvcount,
                             MPI_Datatype recvtype, int root, MPI_Comm comm);
int MPIX_Scatterv_data_movement(const void* sendbuf, const int sendcounts[], const int displs[],
                                MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                MPI_Datatype recvtype, int root, MPI_Comm comm);
int MPIX_Scatterv_close_group(const void* sendbuf, const int sendcounts[], const int displs[],
                              MPI_Datatype sendtype, void* recvbuf, int recvcount,
                              MPI_Datatype recvtype, int root, MPI_Comm comm);
int MPIX_Allgatherv_open_group(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                               void* recvbuf, const int recvcounts[], const int displs[],
                               MPI_Datatype recvtype, MPI_Comm comm);
int MPIX_Allgatherv_data_movement(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                  void* recvbuf, const int recvcounts[], const int displs[],
                                  MPI_Datatype recvtype, MPI_Comm comm);
int MPIX_Allgatherv_close_group(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                void* recvbuf, const int recvcounts[], const int displs[],
                                MPI_Datatype recvtype, MPI_Comm comm);
int MPIX_Alltoallw_open_group(const void* sendbuf, const int sendcounts[], const int sdispls[],
                              const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                              const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm);
int MPIX_Alltoallw_data_movement(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                 const MPI_Datatype sendtypes[], void* recvbuf,
                                 const int recvcounts[], const int rdispls[],
                                 const MPI_Datatype recvtypes[], MPI_Comm comm);
int MPIX_Alltoallw_close_group(const void* sendbuf, const int sendcounts[], const int sdispls[],
                               const MPI_Datatype sendtypes[], void* recvbuf,
                               const int recvcounts[], const int rdispls[],
                               const MPI_Datatype recvtypes[], MPI_Comm comm);

/* For tools that are loaded in front of the MPI functions (PMPI). A tool that also runs on other
 * MPI libraries declares these weak and asks whether they are there. */

/* Address of a word that belongs to the calling rank: a tool may keep a pointer to its state of the
 * rank there, null at first. Ranks are coroutines of one thread, so that thread-local variables are
 * not a rank's. Valid until the rank ends; also before MPI_Init. Null where no rank runs. */
void** MPIX_Tool_word(void);
/* A name for a communicator that its members share and no other communicator of the job has at the
 * same time: *leader is a world rank, *index a number of it (HPDC'10 section 4). An
 * intercommunicator has one for both groups; *side is 0 in the group whose first member has the
 * lower world rank, else 1. Local. Errors: MPI_ERR_COMM. */
int MPIX_Comm_key(MPI_Comm comm, int* leader, int* index, int* side);
/* on != 0: from now on no communicator gets the key of a former one. To be called in every process
 * before its first communicator is freed; a rank can then lead 2^24 communicators in all. Local. */
int MPIX_Comm_keys_unique(int on);
/* The (local) group of comm in the encoded form in which this process stores it: *size bytes, into
 * buffer where capacity allows. Nothing is expanded. fgmpi-track-dump and src/ch4-av-rankmap read
 * it. Local. Errors: MPI_ERR_COMM. */
int MPIX_Comm_map_bytes(MPI_Comm comm, void* buffer, MPI_Count capacity, MPI_Count* size);
/* An address in the calling process's images of the program or a library of it (each rank has one)
 * as the dynamic linker loaded that; any other address stays. For dladdr and addr2line. */
const void* MPIX_Program_address(const void* address);
/* The process, from 0, that hosts a rank of MPI_COMM_WORLD; -1 where there is none. Local. */
int MPIX_Tool_process(int world_rank);
/* The rank in MPI_COMM_WORLD of the peer that has this rank in comm (in the remote group of an
 * intercommunicator); -1 where it has none or is not known here. *way: how messages get there: 0
 * within the process, 1 shared memory, 2 network. A few instructions, for every message. Local. */
int MPIX_Tool_peer(MPI_Comm comm, int rank, int* way);
/* The value of a counter of the process that `fgmpi-info -t` lists, by its name there; -1 where
 * there is none. May be called by any thread: it only reads. */
MPI_Count MPIX_Tool_counter(const char* name);
/* Makes the calling thread the only one of its process in MPI until it calls MPIX_Tool_leave with
 * what was returned: so a tool protects its own state where a rank has several threads. It may call
 * MPI meanwhile, and be called by a function of the program that MPI has called. Nothing is done
 * where the thread is in MPI already or no rank has threads. */
int MPIX_Tool_enter(void);
void MPIX_Tool_leave(int entered);
/* Functions of MPIX_Tool_handlers. */
typedef void (*MPIX_Tool_arrived)(int process, const void* data, int bytes);
typedef void (*MPIX_Tool_deadlock)(void);
typedef void (*MPIX_Tool_fatal)(int error_class, const char* text);
/* Messages between the copies of a tool in the processes of a job. `arrived` is called when one
 * comes in, while MPI polls: it calls nothing of MPI. `deadlock` is called once in each process
 * before a deadlock is reported, `fatal` by the rank whose error is about to end the job. Local. */
int MPIX_Tool_handlers(MPIX_Tool_arrived arrived, MPIX_Tool_deadlock deadlock,
                       MPIX_Tool_fatal fatal);
/* A function that is called for each run of a collective's algorithm among processes: by the
 * process, with the key of the communicator (MPIX_Comm_key), and the algorithm by its place among
 * those that `fgmpi-info -t` lists as counters of "runs", from 0. It calls nothing of MPI. Null:
 * none. Local. */
typedef void (*MPIX_Tool_run)(int leader, int index, int algorithm);
int MPIX_Tool_runs(MPIX_Tool_run run);
/* An access to a window's memory, as MPIX_Tool_conflict is told of it: by which call and rank of
 * MPI_COMM_WORLD, what MPIX_Tool_place said when it was made, to whose memory, and "reads",
 * "writes" or "accumulates into". */
typedef struct MPIX_Tool_access {
  const char* call;
  const char* verb;
  int rank, target;
  unsigned long long place;
} MPIX_Tool_access;
typedef unsigned long long (*MPIX_Tool_place)(void);
typedef void (*MPIX_Tool_conflict)(const MPIX_Tool_access* second, const MPIX_Tool_access* first,
                                   const char* where);
/* One-sided accesses are checked as by FGMPI_RMA_CHECK=on from the process's first window on.
 * `conflict` is called by the rank that makes the second access, in place of the words on standard
 * error. `where`: "bytes 0 to 3"; null: the second one uses the origin memory of the first, which
 * is not complete. Both call nothing of MPI. To be called in all processes before MPI_Init.
 * Local. */
int MPIX_Tool_conflicts(MPIX_Tool_place place, MPIX_Tool_conflict conflict);
/* The program of the running rank has loaded or stored (writes != 0) bytes of its own memory in win
 * since its last call of MPI, or in a shared window of any rank's: they are compared with accesses
 * of others in the same epoch of fences or of MPI_Win_post. `what` (at most 23 characters, such as
 * "a store") and `place` are what MPIX_Tool_conflict is told. keep != 0: until the epoch ends or a
 * call with keep == 0 is made what others do is compared as well; to be given where the running
 * call lets nobody begin an access but those that conflict. bytes == 0: nothing is compared. To be
 * called in a call of MPI, before the library is, or with keep != 0 in none. Nothing is done before
 * MPIX_Tool_conflicts. Local. Errors: MPI_ERR_WIN. */
int MPIX_Tool_accessed(MPI_Win win, const void* address, MPI_Count bytes, int writes,
                       const char* what, unsigned long long place, int keep);
/* The program of the running rank loads or stores such bytes, or both, now: the access is compared
 * with operations of epochs of locks that are under way, until their flush or unlock. A store is no
 * conflict where a load has read the bytes since the operation began, since the program may have
 * found that it is done. Returns 1 where there was a conflict, else 0. Not to be called in a call
 * of MPI. Local. */
int MPIX_Tool_accesses(MPI_Win win, const void* address, MPI_Count bytes, int reads, int writes,
                       const char* what, unsigned long long place);
/* 1: such operations to the running rank's memory in win are under way; else 0. Local. */
int MPIX_Tool_under_way(MPI_Win win);
/* A function that is called when a communicator of MPI_Comm_idup or MPI_Comm_idup_with_info is
 * there: by the process, maybe while another of its ranks runs, with the address that the call was
 * given for the handle, the handle, and the communicator's key (MPIX_Comm_key). It calls nothing of
 * MPI. Null: none. Local. */
typedef void (*MPIX_Tool_copy)(const MPI_Comm* newcomm, MPI_Comm made, int leader, int index);
int MPIX_Tool_copies(MPIX_Tool_copy copy);
/* A function that is called when an access to a file by the shared pointer, also an ordered one,
 * got its place: by the process, maybe while another of its ranks runs, with the rank of
 * MPI_COMM_WORLD that accesses, whether it writes, and where it begins, in etypes of the rank's
 * view. It calls nothing of MPI. Null: none. Local. */
typedef void (*MPIX_Tool_placed)(int rank, MPI_File fh, int writes, MPI_Offset offset);
int MPIX_Tool_places(MPIX_Tool_placed placed);
/* Sends up to 1000 bytes to the tool's copy in a process. They come in before every message that a
 * rank of the calling process sends later to a rank there. Local. Errors: MPI_ERR_ARG. */
int MPIX_Tool_notify(int process, const void* data, int bytes);
/* A function that is called when all ranks of the process wait and nothing has come in for a while,
 * before the library looks whether the whole job waits for ever. It calls nothing of MPI but
 * MPIX_Tool_notify: what it sends is on its way, and comes in before a deadlock is reported. Null:
 * none. To be called before MPI_Init. Local. */
int MPIX_Tool_parked(void (*parked)(void));

#ifdef __cplusplus
}
#endif
#endif
