// What the library (libmpich) and libfgmpi-checkpoint.so, which is preloaded in front of it, say to
// each other. Both are of one build.
//
// A rank is saved as the bytes of its slot (heap_link.h) and a RankRoot, by which the library finds
// there what it keeps of the rank. What the library knows of MPI is not saved: libfgmpi-checkpoint
// makes it again.
//
// Thread rule: the scheduler's thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::checkpoint {

/// Addresses in a rank's slot. Null where there is no such thing.
struct RankRoot {
  void* layer = nullptr;  ///< what libfgmpi-checkpoint knows of the rank
  void* stack = nullptr;  ///< below this address, the rank's stack holds nothing
  void* areas = nullptr;  ///< privatize's Image, member by member
  void** handlers = nullptr;
  char** argv = nullptr;
  void* libc = nullptr;
  void* values = nullptr;
  void* record = nullptr;
  void* pending = nullptr;    ///< sched's Proclet
  void* exceptions[2] = {};   ///< of the C++ runtime
  void* actions = nullptr;    ///< of signals (libc/handlers.h)
  void* lines = nullptr;      ///< unfinished ones of its output (libc/output.h)
  void* files = nullptr;      ///< what the rank has open (libc/rank_descriptors.h)
  void* libraries = nullptr;  ///< what it has loaded (load/saved_plugins.h)
  uint64_t libraries_bytes = 0;
  void* mappings = nullptr;  ///< files that it has mapped (load/file_mappings.h)
  uint64_t mappings_bytes = 0;
  uint64_t areas_bytes = 0;  ///< equal in each process of the same program
  uint64_t blocked_signals = 0;
};

/// The slots of a process's ranks: `count` of them, `stride` bytes apart.
struct ProcessSlots {
  char* slots = nullptr;  ///< of the process's first rank
  size_t stride = 0;
  size_t stack_bytes = 0;
  uint32_t count = 0;
  uint64_t first = 0, total = 0;  ///< world rank of the first; ranks of the job
  uint64_t process = 0, processes = 1;
};

/// Where the slot of a rank is, for other processes of the host.
struct RankSlot {
  uint64_t world_rank = 0;
  /// The memory file with its slot: of this process, under this descriptor, with the slots of these
  /// world ranks.
  int32_t home = 0, file = -1;
  uint64_t home_first = 0;
  uint32_t home_count = 0;
};

/// A rank that goes from one process of a host to another while the job runs, as bytes that any
/// channel between the two can carry. Its memory stays where it is: the slots of such a job are in
/// memory files (FGMPI_BALANCE), and the other process maps the slot at the same addresses.
struct MovingRank : RankSlot {
  RankRoot root;
  void* frame = nullptr;        ///< in its stack: where it goes on
  void* descriptors = nullptr;  ///< in its slot: what it has open
  void* signals = nullptr;      ///< in its slot: signals of its home, where it has handlers
  int32_t giver = 0;            ///< the process that it has left
  uint64_t departure = 0;       ///< counts what the giver has given
  uint64_t code = 0;            ///< a hash of where the giver has its code
  uint64_t folder[2] = {};      ///< device and inode of the giver's working folder
  int32_t saved_errno = 0;
};

inline constexpr uint32_t kStaysHere = ~uint32_t{0};

/// What libfgmpi-checkpoint does for the library.
struct CheckpointHooks {
  /// Does this process go on with ranks that were saved?
  bool (*restarts)() = nullptr;
  /// Fills the slots, where images are as they are at the start and all else is zero, and gives
  /// the roots of all ranks. Returns nullptr, or why the process cannot go on. Ranks do not run.
  const char* (*restore)(const ProcessSlots& slots, RankRoot* roots) = nullptr;
  /// Goes on with the running rank. Does not return.
  void (*resume)() = nullptr;
  /// The running rank begins (1) or ends (-1) a call for which the library keeps something in the
  /// process, and so cannot be saved in between.
  void (*keeps)(int by) = nullptr;
  /// MPI's own handle behind one of the running rank's program. In a request for which this is
  /// asked the library keeps a copy of its buffers.
  int (*own_handle)(int handle) = nullptr;
  /// Null where ranks do not move. The rank has got this error code, whose number another process
  /// may give to another text; and the text of one of its latest codes, or nullptr.
  void (*keep_error)(int code, const char* text) = nullptr;
  const char* (*text_of_error)(int code) = nullptr;
  /// Null where ranks do not move. The running rank, a visitor, is about to end: it goes home if it
  /// can, where this returns.
  void (*go_home_to_end)() = nullptr;
  /// Null where ranks do not move. The running rank is about to make something that its home has to
  /// have, and no function of MPI has kept anything in its frames yet.
  void (*go_home)() = nullptr;
  /// Null where ranks do not move. As go_home, for calls that are not MPI's, in which a rank must
  /// not wait for ever: returns nullptr at home, or what keeps the rank from going there.
  const char* (*try_to_go_home)() = nullptr;
};

/// A function, and what it is called with.
struct LayerCall {
  void (*function)(void*) = nullptr;
  void* data = nullptr;
};

}  // namespace fgmpi::checkpoint

/// Defined by libfgmpi-checkpoint.so.
extern "C" __attribute__((visibility("default"))) const fgmpi::checkpoint::CheckpointHooks*
fgmpi_checkpoint_hooks();

/// Defined by the library. The slots of the process; count is 0 where ranks cannot be saved, and
/// *reason says why.
extern "C" __attribute__((visibility("default"))) fgmpi::checkpoint::ProcessSlots
fgmpi_process_slots(const char** reason);
/// Fills the root of the running rank, but for `layer` and `stack`. Returns nullptr, or why the
/// rank cannot be saved.
extern "C" __attribute__((visibility("default"))) const char* fgmpi_describe_rank(
    fgmpi::checkpoint::RankRoot* root);
/// Loads what a rank has had loaded: `libraries` is what its root has led to. Called before the
/// memory of its slot is filled in, on the stack with which the process began. Returns nullptr, or
/// why that cannot be; the text is valid up to the next call.
extern "C" __attribute__((visibility("default"))) const char* fgmpi_load_libraries_of_rank(
    uint32_t index, const void* libraries, size_t bytes);
/// As above, for the files that a rank has had mapped.
extern "C" __attribute__((visibility("default"))) const char* fgmpi_map_files_of_rank(
    uint32_t index, const void* mappings, size_t bytes);
/// Ends the running rank, which goes on elsewhere: nothing of its program runs, and what it has not
/// written stays unwritten here.
extern "C" __attribute__((visibility("default"), noreturn)) void fgmpi_leave_rank();
/// A code of this class with this text (MPI_Error_string), for an error of which the program learns
/// later than MPI.
extern "C" __attribute__((visibility("default"))) int fgmpi_make_error_code(int error_class,
                                                                            const char* text);
/// Lets the running rank leave this process for another one of the host, where fgmpi_take_rank()
/// lets it go on behind this call, which returns nullptr there. Here, when nothing of it runs any
/// more, deliver(rank, data) is called once on the stack with which the process began: it sends the
/// bytes, and may not call MPI functions; all that it uses has to outlive the rank's frames.
/// Returns the reason, with nothing changed, where the rank must stay.
///
/// The rank's messages and objects of MPI are not moved by this. A rank that is away from home
/// (where it began) goes home before it ends. The record can also be taken by its giver.
extern "C" __attribute__((visibility("default"))) const char* fgmpi_give_rank(
    void (*deliver)(const fgmpi::checkpoint::MovingRank* rank, void* data), void* data);
/// What keeps the running rank in its process until its program changes that, beside what it does
/// in MPI; nullptr: nothing. The words hold until the next call.
extern "C" __attribute__((visibility("default"))) const char* fgmpi_why_rank_stays();
/// Goes on with a rank that another process has given: it becomes ready, under a number *index
/// behind those of this process's ranks, or its old one where this is its home. Never switches.
/// Returns nullptr, or the reason why it cannot run here, with nothing changed; the words hold
/// until the next call.
extern "C" __attribute__((visibility("default"))) const char* fgmpi_take_rank(
    const fgmpi::checkpoint::MovingRank* rank, uint32_t* index);
/// Tells the giver that the rank has been taken: closes what the rank had open here.
extern "C" __attribute__((visibility("default"))) void fgmpi_rank_has_arrived(
    const fgmpi::checkpoint::MovingRank* rank);
/// Calls function(data) on the stack with which the process began. The running rank stays it.
extern "C" __attribute__((visibility("default"))) void fgmpi_call_on_host(void (*function)(void*),
                                                                          void* data);

/// Moves the running rank to another process of its host, with its messages; its objects of MPI
/// stay at home. No send of it is under way, no receive pending, and no function of MPI in its
/// frames. Returns nullptr there, or the reason why it stays, in words that hold until the next
/// call.
extern "C" __attribute__((visibility("default"))) const char* fgmpi_move_rank(uint32_t process);
/// Have more messages than this come for the running rank that it has not received?
extern "C" __attribute__((visibility("default"))) bool fgmpi_has_more_messages(uint32_t than);

/// Behind a call of MPI of the running rank: the process to which it should go on its way
/// (FGMPI_BALANCE=on), or kStaysHere. That process counts on it, unless fgmpi_decline_process()
/// says that the rank has to stay. May switch.
extern "C" __attribute__((visibility("default"))) uint32_t fgmpi_choose_process();
extern "C" __attribute__((visibility("default"))) void fgmpi_decline_process(uint32_t process);
/// The running rank sends a message, which was drawn among many.
extern "C" __attribute__((visibility("default"))) void fgmpi_note_partner(int comm,
                                                                          int destination);

// ---- Deputies: helpers that make a call of MPI in the place of their rank. The functions of the
// program that MPI calls meanwhile are still called by the rank. These functions may switch.

/// Starts a helper of the running rank that makes this call. Reports name the wait `what`. Returns
/// null where the caller has to make the call itself, since it is no coroutine or its rank may have
/// threads.
extern "C" __attribute__((visibility("default"))) void* fgmpi_begin_deputy(
    const char* what, fgmpi::checkpoint::LayerCall call);
/// Waits until the call has returned, and makes the calls that helpers of the rank ask for. Called
/// once for each deputy. An exception of such a call leaves the deputy as it is, for ever.
extern "C" __attribute__((visibility("default"))) void fgmpi_end_deputy(void* deputy);
/// Has the rank of the running helper make this call, if the rank is in fgmpi_end_deputy(), and
/// waits until it has returned. Else returns false, and has done nothing.
extern "C" __attribute__((visibility("default"))) bool fgmpi_call_by_rank(
    fgmpi::checkpoint::LayerCall call);

// ---- Visits: communicators for the point-to-point messages of a rank that is not in the process
// where it made them (comm/visit.h).

/// Writes a communicator of the running rank to `buffer`, where it fits, in terms of the job.
/// Returns its bytes; 0 where it cannot be visited. May switch.
extern "C" __attribute__((visibility("default"))) size_t fgmpi_describe_comm(int comm, void* buffer,
                                                                             size_t capacity);
/// Makes a communicator of that, for the running rank in this process, without an error handler of
/// its own; MPI_COMM_NULL where none can be made. No collective operation may be called on it.
extern "C" __attribute__((visibility("default"))) int fgmpi_visit_comm(const void* description,
                                                                       size_t bytes);
/// Ends the use of such a communicator, once its operations have ended.
extern "C" __attribute__((visibility("default"))) void fgmpi_leave_comm(int comm);

// ---- Error handlers that were set, and those that were not. A program cannot tell one that was
// never set from MPI_ERRORS_ARE_FATAL, but errors call that of MPI_COMM_WORLD then.

/// The error handler of a communicator or window of the running rank, which the caller does not
/// free; MPI_ERRHANDLER_NULL where none was set.
extern "C" __attribute__((visibility("default"))) int fgmpi_own_errhandler(int object);
/// Sets that. MPI_ERRHANDLER_NULL: the object has none any more. Unlike MPI_Comm_set_errhandler,
/// this does not make MPI_COMM_SELF answer for errors without an object.
extern "C" __attribute__((visibility("default"))) void fgmpi_set_own_errhandler(int object,
                                                                                int errhandler);
/// Does MPI_COMM_SELF answer for errors of the running rank that have no object, since the program
/// has set its error handler?
extern "C" __attribute__((visibility("default"))) bool fgmpi_self_answers();
