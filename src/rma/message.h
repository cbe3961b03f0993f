// Active messages: operations on memory that this process cannot reach itself, and the
// synchronisation between processes. They are notices of pt2pt (pt2pt::kNoticeRma), in order
// between two processes; the target's process executes them while it polls.
//
//   origin                          target's process
//     |-- RmaHeader, piece of data ----->|  executed at once
//     |<- Reply, piece of the result ----|
//
// At most kMostPieces messages to one process are unanswered.
//
// An operation is cut into pieces that fit into a frame. A piece names the range of the data that
// it carries (position and bytes in the order of the target's type map). So the target stores
// nothing between pieces but layouts, which travel once a process. The origin's memory is read when
// a piece leaves; until then the operation is `unsent`.
//
// Thread rule: one thread. Every field of an arriving message is checked before it is used. Nothing
// here switches.
#pragma once

#include <optional>

#include "rma/fold.h"
#include "rma/layout.h"
#include "rma/win.h"

namespace fgmpi::rma {

enum class RmaMessageKind : uint8_t {
  kPut = 1,
  kGet,
  kAccumulate,
  kGetAccumulate,
  kCompareAndSwap,
  kLock,
  kTryLock,  ///< a lock for a rank that does not wait
  kUnlock,
  kGiveBack,  ///< a kUnlock for a lock that was granted too late; has no answer
  kReply,
  kGranted,    ///< to ranks: they hold the lock of `rank` now, for which they wait
  kRefused,    ///< to ranks: the lock of `rank` is not free
  kPosted,     ///< to ranks: `rank` has posted to them
  kCompleted,  ///< to ranks: `rank` has completed at them
  kLayout,     ///< one piece of a layout: position, bytes; count: bytes of the layout
  kForget,     ///< the origin does not use a layout any more
  kCheck,      ///< an access to compare (check_message.h): an AccessRecord and runs
  kCheckEnd,   ///< the accesses of `rank` by epochs of locks are complete
  kChecked,    ///< conflicts: the answer to kCheck and kCheckEnd
};

/// The header of each message.
///
///    0      1     4      8        12     16       24     32      40      48         56      64
///   | kind | pad | op | layout | rank | member | offset | count | cookie | position | bytes |
struct RmaHeader {
  uint64_t kind : 8;
  uint64_t unused : 24;
  uint64_t op : 32;   ///< MPI_Op; locks: LockKind; replies: an error class; kCheck: `keeps`
  uint32_t layout;    ///< number of the target's layout; 0: bytes in a row
  int32_t rank;       ///< the origin's rank in the window
  uint32_t member;    ///< index of the target in its process
  MPI_Datatype type;  ///< accumulates: the predefined type of the elements
  int64_t offset;     ///< bytes from the target's base
  int64_t count;      ///< elements of the layout, or bytes in a row
  uint64_t cookie;    ///< number of the origin's operation
  int64_t position;   ///< where the piece begins in the data
  int64_t bytes;      ///< bytes of the piece
};
static_assert(sizeof(RmaHeader) == 64);

/// Makes this process handle notices of windows from now on. May be called any number of times.
void start_messages();

/// The origin's state of an operation by messages.
struct Remote {
  SharedWin* shared;
  Win* win;
  int32_t target;
  uint32_t process;
  RmaHeader header;  ///< the header of its next piece
  int64_t unit = 1;  ///< the length of a piece is a multiple of this, in bytes
  const void* origin = nullptr;
  /// None where the operation sends no data.
  std::optional<datatype::Type> origin_type;
  void* result = nullptr;
  /// None where no elements come back.
  std::optional<datatype::Type> result_type;
  LayoutPtr target_layout;  ///< held until the last piece has left
  int64_t total = 0, sent = 0, done = 0;
  char inline_data[16] = {};  ///< both operands of a compare-and-swap
  pt2pt::Request* request = nullptr;
  const char* call = "";
  uint64_t cookie = 0;
  uint64_t access_key = 0;  ///< key of the target's process, for accesses by the provider
  bool unsent = true;
  bool folds = false;    ///< an accumulate by messages
  bool atomics = false;  ///< an accumulate by the provider
  Remote* next = nullptr;
};

/// Sends one message about a window. REQUIRES: bytes <= most_data().
void send_rma_message(const SharedWin* shared, uint32_t process, const RmaHeader& header,
                      const void* data, size_t bytes);
int64_t most_data(uint32_t process);

/// Counts an operation as outstanding and sends the pieces that may be sent. An operation at a lost
/// process ends at once, with the error in the epoch. Owns `op`, which was made by new, from now
/// on.
void launch(Remote* op);
/// For operations that are not sent by messages (provider.h): begin_remote() counts `op` as
/// outstanding; finish_remote() ends it and deletes it.
void begin_remote(Remote* op);
void finish_remote(Remote* op);
/// Ends the operations that wait for an answer of a process that has failed (mpiexec -ft).
void end_operations_of_lost(const SharedWin* shared);
/// Makes the request of an R-form, which the last reply completes.
pt2pt::Request* make_request(const char* call);

// ---- Synchronisation ----------------------------------------------------------------------------
/// Requests a lock. Ranks that wait for it receive kGranted when they hold it. `request`: kLock, or
/// kTryLock, to which kRefused is an answer as well.
void request_lock(Win* win, const Reach& reach, LockKind kind, RmaMessageKind request);
void request_unlock(Win* win, int32_t rank, const Reach& reach, LockKind kind);
void request_lock_return(const SharedWin* shared, const WindowPart& part, uint32_t member,
                         LockKind kind);
/// Sends kGranted, kRefused, kPosted or kCompleted to ranks in one process.
void notify_ranks(SharedWin* shared, uint32_t process, RmaMessageKind kind, int32_t from,
                  const std::vector<int32_t>& ranks);

}  // namespace fgmpi::rma
