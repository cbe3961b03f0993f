// Active messages: operations on memory that this process cannot reach itself, and what
// synchronisation has to tell other processes. They are notices of pt2pt (pt2pt::kNoticeRma), in
// order between two processes, executed by the target's process while it polls.
//
//   origin                          target's process
//     |-- Ask, piece of the data ------->|  executed at once      at most kMostPieces unanswered a process
//     |<- Reply, piece of the result ----|
//
// An operation is cut into pieces of what a frame holds. A piece names the part of the data that it
// is about (position and bytes in the order of the target's type map), so the target keeps nothing
// between pieces but layouts, which travel once a process. The origin's memory is read when a piece
// leaves; until then the operation is `unsent`.
//
// Thread rule: one thread. What arrives is checked before it is used. Nothing here switches.
#pragma once

#include <optional>

#include "rma/fold.h"
#include "rma/layout.h"
#include "rma/win.h"

namespace fgmpi::rma {

enum class AskKind : uint8_t {
  kPut = 1,
  kGet,
  kAccumulate,
  kGetAccumulate,
  kCompareAndSwap,
  kLock,
  kTryLock,  ///< a lock for a rank that does not wait
  kUnlock,
  kGiveBack,  ///< as kUnlock, of a lock that was granted too late: without an answer
  kReply,
  kGranted,    ///< to ranks: the lock of `rank` that they wait for is theirs
  kRefused,    ///< to ranks: the lock of `rank` is not free
  kPosted,     ///< to ranks: `rank` has posted to them
  kCompleted,  ///< to ranks: `rank` has completed at them
  kLayout,     ///< a piece of a layout: position, bytes; all of it: count
  kForget,     ///< a layout is used no more
  kCheck,      ///< an access to be compared (check_message.h): a Record and runs
  kCheckEnd,   ///< those of `rank` by locks are complete
  kChecked,    ///< the answer to either: conflicts
};

/// What stands before the data of each message.
///
///    0      1     4      8        12     16       24     32      40      48         56      64
///   | kind | pad | op | layout | rank | member | offset | count | cookie | position | bytes |
struct Ask {
  uint64_t kind : 8;
  uint64_t unused : 24;
  uint64_t op : 32;   ///< MPI_Op; locks: LockKind; replies: an error class; kCheck: what is kept
  uint32_t layout;    ///< of the target; 0: bytes in a row
  int32_t rank;       ///< of the origin
  uint32_t member;    ///< the target's place in its process
  MPI_Datatype type;  ///< accumulates: the predefined type of the elements
  int64_t offset;     ///< bytes from the target's base
  int64_t count;      ///< elements of the layout, or bytes in a row
  uint64_t cookie;    ///< the origin's operation
  int64_t position;   ///< of the piece, in the data
  int64_t bytes;      ///< of the piece
};
static_assert(sizeof(Ask) == 64);

/// Notices are handled from now on. Any number of times.
void start_messages();

/// An operation by messages: what the origin keeps of it.
struct Remote {
  SharedWin* shared;
  Win* win;
  int32_t target;
  uint32_t process;
  Ask ask;           ///< of its next piece
  int64_t unit = 1;  ///< bytes that a piece is a multiple of
  const void* origin = nullptr;
  LayoutPtr origin_layout;
  std::optional<Cursor> origin_cursor;  ///< where the next piece begins; none where nothing is sent
  void* result = nullptr;
  LayoutPtr result_layout;
  int64_t result_count = 0;
  LayoutPtr target_layout;  ///< kept until the last piece has left
  int64_t total = 0, sent = 0, done = 0;
  char inline_data[16] = {};  ///< of a compare-and-swap: both operands
  pt2pt::Request* request = nullptr;
  const char* call = "";
  uint64_t cookie = 0;
  uint64_t access_key = 0;  ///< of the target's process, for accesses by the provider
  bool unsent = true;
  bool folds = false;    ///< an accumulate by messages
  bool atomics = false;  ///< an accumulate by the provider
  Remote* next = nullptr;
};

/// One message about a window. `bytes` at most most_data().
void send_ask(const SharedWin* shared, uint32_t process, const Ask& ask, const void* data,
              size_t bytes);
int64_t most_data(uint32_t process);

/// Counts it in and sends what may be sent; what a lost process would have to answer ends at once,
/// with the error in the epoch. Takes `op`, made with new.
void launch(Remote* op);
/// For operations that go another way (provider.h): counts `op` in; is done with it, and deletes
/// it.
void begin_remote(Remote* op);
void finish_remote(Remote* op);
/// Processes have failed (mpiexec -ft): ends the operations that wait for one of them to answer.
void end_operations_of_lost(const SharedWin* shared);
/// The request of an R-form: completed by the last reply.
pt2pt::Request* make_request(const char* call);

// ---- Synchronisation ----------------------------------------------------------------------------
/// Ranks that wait for the lock learn by kGranted that they have it. `ask`: kLock or kTryLock,
/// which may be answered by kRefused as well.
void ask_lock(Win* win, const Reach& reach, LockKind kind, AskKind ask);
void ask_unlock(Win* win, int32_t rank, const Reach& reach, LockKind kind);
void ask_give_back(const SharedWin* shared, const Part& part, uint32_t member, LockKind kind);
/// kGranted, kRefused, kPosted, kCompleted to ranks in one process.
void tell_ranks(SharedWin* shared, uint32_t process, AskKind kind, int32_t from,
                const std::vector<int32_t>& ranks);

}  // namespace fgmpi::rma
