/* Extensions of Finegrain MPI. Include after or instead of <mpi.h>.
 *
 * Conventions: like MPI functions these return MPI_SUCCESS or an error code; before they return an
 * error they call the error handler of the communicator involved (MPI_COMM_SELF's where there is
 * none). They may be called between MPI_Init and MPI_Finalize. "Process" means operating-system
 * process, "rank" or "proclet" an MPI process. */
#ifndef FGMPI_H
#define FGMPI_H

#include <mpi.h>

#include "fgmpi_standard.h"

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
 * a process share the program's variables (FGMPI_PRIVATIZE=off) and main runs once a process. The
 * functions' return values are ignored; exit() ends a rank. */
typedef int PROCESS;
typedef int (*FG_ProcessPtr_t)(int argc, char** argv);
typedef FG_ProcessPtr_t (*FG_MapPtr_t)(int argc, char** argv, int rank);
typedef FG_MapPtr_t (*LookupMapPtr_t)(int argc, char** argv, char* name);
/* Values that the map receives in place of a rank, once a process each: the first before the map is
 * called for functions, the second after all functions have returned. The map's results are then
 * ignored. */
#define MAP_INIT_ACTION (-1)
#define MAP_FINALIZE_ACTION (-2)
/* Calls lookup(argc, argv, name), which returns the map of the process; name is the value of the
 * environment variable FGMAP, a null pointer without it. Calls the map with the world rank of each
 * rank of the process, and runs the function that the map returns on the rank's proclet. Returns
 * when all functions of the process have returned. Where ranks have their own globals, each of them
 * does all of this for itself. Errors: MPI_ERR_ARG (null pointers), MPI_ERR_OTHER (after MPI_Init,
 * or twice). */
int FGmpiexec(int* argc, char*** argv, LookupMapPtr_t lookup);

/* How this process stores a communicator (HPDC'10 section 5, IPDPS'17 section III). */
typedef struct MPIX_Map_info {
  /* rank-map model: "direct", "offset", "stride", "blockstride", "md-blockstride", "lut", "mlut" */
  char model[24];
  char encoding[40];   /* of a lut: the group map's encoding, e.g. "runs", "elias-fano"; else "" */
  MPI_Count map_bytes; /* bytes of the map in this process, beyond the communicator's own object */
  /* all bytes of this process for the communicator: shared part, map, members' parts */
  MPI_Count process_bytes;
  int sharing; /* communicators of this process that share the map, this one included */
  int members; /* proclets of this process that belong to the communicator */
} MPIX_Map_info;
/* Fills *info for a communicator that the calling rank belongs to. Local. Errors: MPI_ERR_COMM,
 * MPI_ERR_ARG. */
int MPIX_Comm_map_info(MPI_Comm comm, MPIX_Map_info* info);

/* Groups as sets (HPDC'10 section 7): questions that need the order of ranks are asked of
 * communicators, not of groups. */

/* A color for MPIX_Comm_split: all members of `comm` stay together and are re-ranked by key (ties:
 * by rank in comm). Every member passes it. Only the permutation is new; where it changes nothing,
 * newcomm shares the map of `comm`. */
#define MPIX_PERMUTE (-32765)
/* MPI_Comm_split that also accepts the color MPIX_PERMUTE. Collective over comm, which is an
 * intracommunicator. Errors: MPI_ERR_COMM, MPI_ERR_ARG (color). */
int MPIX_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm);

/* A key for MPIX_Comm_split, which every member passes: the system chooses the ranks in newcomm,
 * contiguous in each process. No member and no process needs a list of the others, so creation
 * needs no sort and no list of the group (Langer, Venkataraman, Kale, EuroMPI 2012). newcomm is a
 * communicator like any other; docs/memory-budget.md says which calls make a process store the
 * whole group. */
#define MPIX_SYSTEM_RANKED (-2147483647 - 1)
/* A split with system-ranked keys, with hints: fgmpi_system_ranked_algorithm (centralized,
 * shrink_and_balance, rank_and_hash), fgmpi_system_ranked_k (2 to 64), fgmpi_system_ranked_filler
 * (leaf, child; shrink_and_balance). Where a hint is missing, the hints of comm hold, then the
 * environment (docs/settings.md). All members pass the same values. Collective over comm, an
 * intracommunicator; color MPI_UNDEFINED: the member gets none. Errors: MPI_ERR_COMM, MPI_ERR_ARG
 * (color), MPI_ERR_INFO_VALUE. */
int MPIX_Comm_split_system_ranked(MPI_Comm comm, int color, MPI_Info info, MPI_Comm* newcomm);
/* The nonblocking form: *newcomm is set when the request completes; comm may be freed before. */
int MPIX_Comm_isplit_system_ranked(MPI_Comm comm, int color, MPI_Info info, MPI_Comm* newcomm,
                                   MPI_Request* request);
/* Sets ranks2[i] to the rank in comm2 of the member that has rank ranks1[i] in comm1, or to
 * MPI_UNDEFINED where it is not a member; MPI_PROC_NULL stays. Both arrays have n elements. Local.
 * Errors: MPI_ERR_COMM, MPI_ERR_RANK, MPI_ERR_ARG. */
int MPIX_Comm_translate_ranks(MPI_Comm comm1, int n, const int ranks1[], MPI_Comm comm2,
                              int ranks2[]);
/* Sets *result to MPI_IDENT (same members in the same order), MPI_SIMILAR (same members) or
 * MPI_UNEQUAL. Local: compares the (local) groups, not the contexts. Errors: MPI_ERR_COMM. */
int MPIX_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int* result);

/* What the calling rank's process has done since it started. The values are counts, not rates, and
 * never decrease. A collective among P processes sends O(P) messages between them, however many
 * ranks they host (HPDC'10 section 4.1). */
typedef struct MPIX_Stats_values {
  MPI_Count collectives;         /* collectives with a rank of the process, each counted once */
  MPI_Count collective_messages; /* messages that these sent to other processes */
  MPI_Count collective_bytes;    /* bytes in those messages */
  MPI_Count local_messages;      /* point-to-point messages between ranks of the process */
  MPI_Count frames;              /* frames sent to other processes, collectives' included */
  MPI_Count frame_bytes;         /* bytes in those frames */
  /* One-sided operations of the process's ranks, by their way to the target (src/rma/README.md): */
  MPI_Count rma_here;     /* on memory of the same process */
  MPI_Count rma_mapped;   /* on mapped memory of another process of the host */
  MPI_Count rma_attached; /* through process_vm_readv and process_vm_writev */
  MPI_Count rma_messages; /* by messages to the target's process */
  MPI_Count rma_provider; /* by reads, writes and atomics of the network's provider */
  /* IP multicast (src/transport/multicast): */
  MPI_Count multicast_transfers; /* transfers that the process sent to groups of processes */
  MPI_Count multicast_bytes;     /* bytes in those transfers */
  MPI_Count multicast_repairs;   /* packets that the process sent again */
  MPI_Count multicast_dropped;   /* datagrams of strangers, which the process dropped */
} MPIX_Stats_values;
/* Fills *values. Local. Errors: MPI_ERR_ARG for a null pointer. */
int MPIX_Stats(MPIX_Stats_values* values);

/* Opened groups (Yuan, Daniels, Faraj, Karwande: compiler-assisted group management): a collective
 * that a rank calls again and again with the same arguments, except its buffers. All three
 * functions have the parameters of the collective.
 *
 *   _open_group: announces calls of the collective. Local: nothing is communicated. Reads no
 *   argument but the communicator; the first movement checks the arguments and stores them.
 *
 *   _data_movement: the collective itself. It matches the plain call of members that make that one,
 *   or that have opened nothing. Arguments (arrays by their values) that equal those of an earlier
 *   movement need no checks; other arguments replace those of an open group. While a group is open
 *   the plain call is a movement, too.
 *
 *   _close_group: ends the announcement. Local.
 *
 * A rank may have many groups open on a communicator, and one group several times; each open needs
 * its close. Freeing the communicator closes those that are left. Opening and closing return
 * MPI_SUCCESS, also for a handle that is no communicator and for a group that is not open, so that
 * they may stand around a loop that never runs. Errors of a movement: those of the collective. */
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

/* Ranks that fail (mpiexec -ft), beside MPICH's MPIX_Comm_revoke and its like. The functions are
 * those of user-level failure mitigation; docs/fault-tolerance.md describes how they are used. */

/* MPICH's own, which the standard ABI's mpi.h does not have. */
#if !defined(MPICH_NUMVERSION)
enum { MPIX_ERR_PROC_FAILED = 101, MPIX_ERR_PROC_FAILED_PENDING = 102, MPIX_ERR_REVOKED = 103 };
int MPIX_Comm_revoke(MPI_Comm comm);
int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm* newcomm);
int MPIX_Comm_failure_ack(MPI_Comm comm);
int MPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group* failedgrp);
int MPIX_Comm_agree(MPI_Comm comm, int* flag);
#endif

/* Sets *failedgrp to the members of comm, of both groups of an intercommunicator, that the calling
 * rank's process knows to have failed. Members that fail later stand behind those that this call
 * has returned before. mpi.h of MPICH 4.2 declares it, too. Local. Errors: MPI_ERR_COMM. */
#if MPICH_NUMVERSION < 40200000
int MPIX_Comm_get_failed(MPI_Comm comm, MPI_Group* failedgrp);
#endif
/* Acknowledges the failures of the first num_to_ack members that MPIX_Comm_get_failed returns:
 * receives from MPI_ANY_SOURCE and MPIX_Comm_agree go on in spite of them. *num_acked: how many are
 * acknowledged now, from earlier calls, too. A process fails as a whole, and is acknowledged with
 * all its ranks. Local. Errors: MPI_ERR_COMM, MPI_ERR_ARG. */
int MPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int* num_acked);
/* Sets *flag to whether the calling rank's process knows that comm was revoked. Local. Errors:
 * MPI_ERR_COMM. */
int MPIX_Comm_is_revoked(MPI_Comm comm, int* flag);
/* MPIX_Comm_agree without waiting: reads *flag at once, and sets it when the request completes,
 * which has the errors of MPIX_Comm_agree. All members of comm call it, in one order with
 * MPIX_Comm_ishrink and the blocking forms. */
int MPIX_Comm_iagree(MPI_Comm comm, int* flag, MPI_Request* request);
/* MPIX_Comm_shrink without waiting: *newcomm is set when the request completes; comm may be freed
 * before. */
int MPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request);

/* Saves all ranks of the job (mpiexec -checkpoint; docs/checkpoints.md). Collective over comm,
 * which is MPI_COMM_WORLD. *flag: MPIX_CHECKPOINT_NONE where the job is started without
 * -checkpoint, or a rank cannot be saved, which is said on standard error; MPIX_CHECKPOINT_TAKEN
 * where the program goes on; MPIX_CHECKPOINT_RESTARTED where it goes on from the checkpoint in
 * another run (mpiexec -restart). Errors: MPI_ERR_COMM, MPI_ERR_ARG. */
enum { MPIX_CHECKPOINT_NONE = 0, MPIX_CHECKPOINT_TAKEN = 1, MPIX_CHECKPOINT_RESTARTED = 2 };
int MPIX_Checkpoint(MPI_Comm comm, int* flag);

/* Functions for tools that are loaded in front of the MPI functions (PMPI). A tool that also runs
 * on other MPI libraries declares these weak and checks whether they exist. */

/* Address of a word that belongs to the calling rank, null at first: a tool may store a pointer to
 * its state of the rank there. Ranks are coroutines of one thread, so thread-local variables do not
 * belong to one rank. Valid until the rank ends; also before MPI_Init. Null where no rank runs. */
void** MPIX_Tool_word(void);
/* A key of a communicator, which its members share and no other communicator of the job has at the
 * same time: *leader is a world rank, *index a number of that leader (HPDC'10 section 4). An
 * intercommunicator has one key for both groups; *side is 0 in the group whose first member has the
 * lower world rank, else 1. Local. Errors: MPI_ERR_COMM. */
int MPIX_Comm_key(MPI_Comm comm, int* leader, int* index, int* side);
/* on != 0: from now on no communicator gets the key of a former one. A tool calls this in every
 * process before its first communicator is freed; a rank can then lead 2^24 communicators in all.
 * Local. */
int MPIX_Comm_keys_unique(int on);
/* Copies the (local) group of comm, in the encoded form in which this process stores it, into
 * buffer where capacity allows; *size: its bytes. Nothing is expanded. fgmpi-track-dump and
 * src/ch4-av-rankmap read this form. Local. Errors: MPI_ERR_COMM. */
int MPIX_Comm_map_bytes(MPI_Comm comm, void* buffer, MPI_Count capacity, MPI_Count* size);
/* Moves an address in one of the calling process's images of the program or a library (each rank
 * has one) to the copy that the dynamic linker loaded; any other address is returned as it is. For
 * dladdr and addr2line. */
const void* MPIX_Program_address(const void* address);
/* The process, from 0, that hosts a rank of MPI_COMM_WORLD; -1 where there is none. Local. */
int MPIX_Tool_process(int world_rank);
/* The rank in MPI_COMM_WORLD of the peer that has this rank in comm (in the remote group of an
 * intercommunicator); -1 where it has none or this process does not know it. *way: how messages get
 * there: 0 within the process, 1 shared memory, 2 network. Costs a few instructions, so a tool may
 * call it for every message. Local. */
int MPIX_Tool_peer(MPI_Comm comm, int rank, int* way);
/* The value of a counter of the process that `fgmpi-info -t` lists, by the counter's name there; -1
 * where there is none. Any thread may call this: it only reads. */
MPI_Count MPIX_Tool_counter(const char* name);
/* 1 where the handle is that of a datatype that exists and may be used, else 0. The library makes
 * types that no call of the program returns, such as those of array sections in Fortran. Local. */
int MPIX_Tool_has_datatype(MPI_Datatype type);
/* Makes the calling thread the only one of its process in MPI until it calls MPIX_Tool_leave with
 * the value that this returned. So a tool protects its own state where a rank has several threads.
 * In between the tool may call MPI, and may be called by a function of the program that MPI has
 * called. Does nothing where the thread is in MPI already or no rank has threads. */
int MPIX_Tool_enter(void);
void MPIX_Tool_leave(int entered);
/* The calling thread waits, as in a blocking call, until another thread gives waiter to
 * MPIX_Tool_wake: where all others wait, too, that is a deadlock, and its report calls the wait
 * what. begins(waiter, argument) is called before, with MPI locked: 0 says that there is nothing to
 * wait for. Returns what it has returned; 0 also where no rank runs. */
typedef int (*MPIX_Tool_begins)(void* waiter, void* argument);
int MPIX_Tool_wait(const char* what, MPIX_Tool_begins begins, void* argument);
void MPIX_Tool_wake(void* waiter);
/* Waits like MPI_Waitall (all != 0) or MPI_Waitany for n requests, but completes none of them, and
 * MPIX_Tool_interrupt ends it before; n = 0: only that ends it. begins(wait, argument) is called
 * before the rank parks, maybe several times, with what MPIX_Tool_interrupt takes while this runs;
 * 0 says that the rank must not wait. Reports call the wait what. Returns 1 where the requests are
 * complete or one is no request, else 0. */
int MPIX_Tool_await(const char* what, int all, int n, const MPI_Request requests[],
                    MPIX_Tool_begins begins, void* argument);
/* Waits likewise for a message that MPI_Iprobe would find; 1 also where an argument is wrong. */
int MPIX_Tool_await_message(const char* what, int source, int tag, MPI_Comm comm,
                            MPIX_Tool_begins begins, void* argument);
/* Ends a wait of another rank of the process; `arrived` of MPIX_Tool_handlers may call it, too. */
void MPIX_Tool_interrupt(void* wait);
/* Makes the process call called() soon, while MPI polls: it calls nothing of MPI but
 * MPIX_Tool_notify and MPIX_Tool_interrupt. Any thread and any handler of a signal may call this,
 * always with the same function; calls before it was called count as one. */
typedef void (*MPIX_Tool_posted)(void);
void MPIX_Tool_post(MPIX_Tool_posted called);
/* Functions of MPIX_Tool_handlers. */
typedef void (*MPIX_Tool_arrived)(int process, const void* data, int bytes);
typedef void (*MPIX_Tool_deadlock)(void);
typedef void (*MPIX_Tool_fatal)(int error_class, const char* text);
/* Sets functions for messages between the copies of a tool in the processes of a job, and for ends
 * of a job. `arrived` is called when a message comes in, while MPI polls: it calls nothing of MPI.
 * `deadlock` is called once in each process before a deadlock is reported, `fatal` by the rank
 * whose error is about to end the job. Local. */
int MPIX_Tool_handlers(MPIX_Tool_arrived arrived, MPIX_Tool_deadlock deadlock,
                       MPIX_Tool_fatal fatal);
/* Sets a function that is called for each run of a collective's algorithm among processes. The
 * process calls it with the key of the communicator (MPIX_Comm_key), and the number of the
 * algorithm, from 0, among those that `fgmpi-info -t` lists as counters of "runs". The function
 * calls nothing of MPI. Null: none. Local. */
typedef void (*MPIX_Tool_run)(int leader, int index, int algorithm);
int MPIX_Tool_runs(MPIX_Tool_run run);
/* An access to a window's memory, as MPIX_Tool_conflict receives it: the call that made it, the
 * access as a verb ("reads", "writes" or "accumulates into"), the rank of MPI_COMM_WORLD that made
 * it, the rank whose memory it was, and what MPIX_Tool_place returned when it was made. */
typedef struct MPIX_Tool_access {
  const char* call;
  const char* verb;
  int rank, target;
  unsigned long long place;
} MPIX_Tool_access;
typedef unsigned long long (*MPIX_Tool_place)(void);
typedef void (*MPIX_Tool_conflict)(const MPIX_Tool_access* second, const MPIX_Tool_access* first,
                                   const char* where);
/* Makes MPI check one-sided accesses as by FGMPI_RMA_CHECK=on, from the process's first window on.
 * `conflict` is called by the rank that makes the second access, in place of a text on standard
 * error. `where`: "bytes 0 to 3"; null: the second access uses the origin memory of the first,
 * which is not complete. An empty `where`: two ranks give calls different assertions, which the
 * verbs say. Both functions call nothing of MPI. A tool calls this in all processes
 * before MPI_Init. Local. */
int MPIX_Tool_conflicts(MPIX_Tool_place place, MPIX_Tool_conflict conflict);
/* What a tool knows of the order of events in ranks, so that accesses in epochs of locks, and calls
 * of MPI on a window's memory, are also compared with later ones, which they must come before.
 * stamp: an event of the running rank happens now, fresh != 0: after all that the rank has told
 * others so far. ordered: whether the running rank may know of that event of a rank of
 * MPI_COMM_WORLD, which was at that time, in nanoseconds of the monotonic clock. learn: the running
 * rank may know from now on of all events before that time, because of its windows. The functions
 * call nothing of MPI. A tool calls this in all processes before MPIX_Tool_conflicts. Local. */
typedef struct MPIX_Tool_event {
  unsigned long long words[10];
} MPIX_Tool_event;
typedef struct MPIX_Tool_order {
  void (*stamp)(MPIX_Tool_event* now, int fresh);
  int (*ordered)(int rank, const MPIX_Tool_event* event, long long time);
  void (*learn)(long long time);
} MPIX_Tool_order;
int MPIX_Tool_orders(const MPIX_Tool_order* order);
/* Reports that a call of MPI by the running rank has read or written bytes, which may be memory of
 * its windows: a receive or a collective that is complete. The rest is as for MPIX_Tool_accessed.
 * Local. */
int MPIX_Tool_used(const void* address, MPI_Count bytes, int writes, const char* what,
                   unsigned long long place);
/* Calls MPIX_Tool_order.learn with the time at which an operation of another rank last began to
 * change window memory of the running rank, which may have found the change. A tool calls this
 * before the rank communicates. Local. */
int MPIX_Tool_updates(void);
/* Writes to `times`, where there is room for `most`, the addresses of these times, one for each
 * window of the running rank, and returns their number. While no time is later than before,
 * MPIX_Tool_updates does nothing. An address is valid until the window is freed. Local. */
int MPIX_Tool_update_times(const long long** times, int most);
/* Reports that the program of the running rank has loaded or stored (writes != 0) bytes since its
 * last call of MPI: of its own memory in win, or of any rank's in a shared window. MPI compares
 * them with accesses of others in the same epoch of fences or of MPI_Win_post. MPIX_Tool_conflict
 * receives `what` (at most 23 characters, such as "a store") and `place`. keep != 0: accesses that
 * others make later are compared with these bytes as well, until the epoch ends or a call has keep
 * == 0; allowed where the running call lets no rank begin an access except those that conflict.
 * bytes == 0: nothing is compared. A tool calls this within its wrapper of an MPI call, before it
 * calls the library, or with keep != 0 also outside of any MPI call. Before MPIX_Tool_conflicts
 * this does nothing. Local. Errors: MPI_ERR_WIN. */
int MPIX_Tool_accessed(MPI_Win win, const void* address, MPI_Count bytes, int writes,
                       const char* what, unsigned long long place, int keep);
/* Reports that the program of the running rank loads or stores such bytes, or both, now: MPI
 * compares the access with operations of epochs of locks that are under way, until their flush or
 * unlock. A store does not conflict where a load has read the bytes since the operation began,
 * because the program may have found that the operation is done. Returns 1 where there was a
 * conflict, else 0. A tool does not call this within an MPI call. Local. */
int MPIX_Tool_accesses(MPI_Win win, const void* address, MPI_Count bytes, int reads, int writes,
                       const char* what, unsigned long long place);
/* Returns 1 while operations of epochs of locks to the running rank's memory in win are under way,
 * else 0. Local. */
int MPIX_Tool_under_way(MPI_Win win);
/* Sets a function that is called when the communicator of an MPI_Comm_idup or
 * MPI_Comm_idup_with_info exists. The process calls it, maybe while another of its ranks runs, with
 * the address at which the call stores the handle, the handle, and the communicator's key
 * (MPIX_Comm_key). The function calls nothing of MPI. Null: none. Local. */
typedef void (*MPIX_Tool_copy)(const MPI_Comm* newcomm, MPI_Comm made, int leader, int index);
int MPIX_Tool_copies(MPIX_Tool_copy copy);
/* Sets a function that is called when the offset of an access to a file by the shared pointer, also
 * of an ordered one, is known. The process calls it, maybe while another of its ranks runs, with
 * the rank of MPI_COMM_WORLD that accesses, whether it writes, and where the access begins, in
 * etypes of the rank's view. The function calls nothing of MPI. Null: none. Local. */
typedef void (*MPIX_Tool_placed)(int rank, MPI_File fh, int writes, MPI_Offset offset);
int MPIX_Tool_places(MPIX_Tool_placed placed);
/* Sends up to 1000 bytes to the tool's copy in a process. They arrive before every message that a
 * rank of the calling process sends later to a rank there. Local. Errors: MPI_ERR_ARG. */
int MPIX_Tool_notify(int process, const void* data, int bytes);
/* Sets functions of a tool. `parked` is called when all ranks of the process wait and no message
 * has arrived for a while, before the library checks whether the whole job waits for ever. It calls
 * nothing of MPI but MPIX_Tool_notify, whose bytes arrive before a deadlock is reported. `stuck` is
 * called when nothing in the process can go on by itself, and calls nothing of MPI but
 * MPIX_Tool_wake; there is no deadlock where it wakes a rank. Null: none. A tool calls this before
 * MPI_Init. Local. */
typedef void (*MPIX_Tool_idle)(void);
int MPIX_Tool_parked(MPIX_Tool_idle parked, MPIX_Tool_idle stuck);
/* Sets functions for ends of ranks that are no errors of MPI. `left` is called by a rank that has
 * called MPI_Init and ends without MPI_Finalize, with its exit status, before the library finalizes
 * it. `crashed` is called in the handler of a signal such as SIGSEGV, once what has happened was
 * written, with the address of the fault or null: it may call nothing of MPI that communicates, and
 * need not return. Null: none. Local. */
typedef void (*MPIX_Tool_left)(int status);
typedef void (*MPIX_Tool_crashed)(int signal_number, const void* address);
int MPIX_Tool_ends(MPIX_Tool_left left, MPIX_Tool_crashed crashed);
/* Sets a function that a rank calls when its program has ended with status 0, for each place of the
 * program that has allocated memory to which no pointer leads any more: the address to which the
 * call returned, how many blocks, and their bytes. Only where ranks have heaps (FGMPI_HEAP=rank).
 * It calls nothing of MPI that communicates. Called before MPI_Init. Null: none. Local. */
typedef void (*MPIX_Tool_leaked)(const void* place, MPI_Count blocks, MPI_Count bytes);
int MPIX_Tool_leaks(MPIX_Tool_leaked leaked);

#ifdef __cplusplus
}
#endif
#endif
