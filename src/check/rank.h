// The state of the checker: for each rank, communicator and process.
//
// Thread rule: one thread at a time. Where a rank's threads may call MPI at the same time,
// CheckedCall acquires the library's own lock (MPIX_Tool_enter). A lock of the checker's own could
// deadlock: functions of the program that MPI calls, such as error handlers, call MPI with the
// library's lock held, and so would acquire the two locks in the other order.
#pragma once

#include <mpi.h>
#include <pthread.h>
#include <sys/types.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "check/check_calls.h"
#include "check/findings/spool.h"
#include "check/memory/layout.h"
#include "check/messages/message_queue.h"
#include "check/objects/request_table.h"
#include "check/order/clock.h"
#include "check/order/unbuffered.h"
#include "check/record.h"
#include "host/handle_bits.h"
#include "proclet-sched/sched.h"

namespace fgmpi::check {

using findings::FindingKind;

/// The collective calls on a communicator that some members have not made yet (agreement.cc).
struct CallQueue;

/// The key of a communicator (MPIX_Comm_key) without the bit that tells the two groups of an
/// intercommunicator apart.
inline uint64_t without_side(uint64_t comm_key) { return comm_key & ~uint64_t{1}; }

/// A communicator; one object for all its members in a process.
struct CheckedComm {
  uint64_t key = 0;
  int size = 0;
  bool inter = false;
  bool foreign = false;  ///< it has members of other jobs
  /// World ranks by rank; MPI_UNDEFINED for a rank of another job. `remote`: the other group of an
  /// intercommunicator.
  std::vector<int> group, remote;
  int local_members = 0;    ///< members of the own group in this process
  int home = 0;             ///< the process of rank 0
  std::vector<int> others;  ///< the other processes with members of the own group
  int processes = 0;        ///< intercommunicator: number of processes with members of either group
  /// Other processes whose members wait for members of this group: `others`, and for an
  /// intercommunicator also the processes of the remote group.
  std::vector<int> listeners;
  /// Ranks of the own and the remote group by process; filled on first use.
  std::map<int, std::vector<int>> members, remote_members;
  CallQueue* calls = nullptr;
  Entered* entered = nullptr;  ///< allocated when a member first makes a collective call
  /// The world rank of the peer with this rank, which is in the remote group of an
  /// intercommunicator and in `group` otherwise. MPI_UNDEFINED: there is none, or it belongs to
  /// another job.
  int world_of(int64_t rank) const {
    const std::vector<int>& peers = inter ? remote : group;
    return rank >= 0 && rank < static_cast<int64_t>(peers.size()) ? peers[static_cast<size_t>(rank)]
                                                                  : MPI_UNDEFINED;
  }
};

/// The neighbours of a rank in a topology, in the order of the parts of buffers. MPI_PROC_NULL is
/// beyond the border of a grid.
struct Neighbours {
  std::vector<int> sources, destinations;
};

/// A communicator as one of its members sees it.
struct OwnComm {
  MPI_Comm handle = MPI_COMM_NULL;
  int rank = 0;
  CheckedComm* comm = nullptr;
  uint64_t collectives = 0;  ///< number of collective calls that the member has made on it
  /// The rank's own clock at collective calls, as (number of the call, clock); only
  /// where it has changed.
  std::vector<std::pair<uint64_t, uint32_t>> events;
  bool has_topology = false;
  std::shared_ptr<const Neighbours> neighbours = nullptr;  ///< filled on first use
};

/// Is the member the root of a collective with these arguments, or does the operation have no root?
inline bool is_root(const CallInfo& info, const int64_t* arguments, const OwnComm& own) {
  if (info.at.root < 0) return true;
  const int64_t root = arguments[info.at.root];
  return own.comm->inter ? root == MPI_ROOT : root == own.rank;
}

/// Memory that an operation uses until it is complete.
struct Region {
  bool writes = false;
  bool exact = false;  ///< all bytes between low and high
  bool begun = false;  ///< the operation has begun, so it owns the region
  uint8_t slot = 0;    ///< index in Rank::regions once begun, while there are few
  MPI_Datatype type = MPI_BYTE;
  const char *low = nullptr, *high = nullptr;
  uint64_t checksum = 0;
  const char* base = nullptr;
  int64_t count = 0;
  std::vector<ByteBlock> blocks;  ///< offsets from `base`, unless `exact`; empty: unknown
};

/// The regions of an operation. A single one, the usual case, is stored in place.
class Regions {
 public:
  Region* begin() { return size_ == 1 ? &one_ : many_.data(); }
  Region* end() { return begin() + size_; }
  const Region* begin() const { return size_ == 1 ? &one_ : many_.data(); }
  const Region* end() const { return begin() + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Region& operator[](size_t i) { return begin()[i]; }
  void clear() {
    many_.clear();
    size_ = 0;
  }
  void push_back(Region r) {
    if (size_ == 1) many_.push_back(std::move(one_));
    if (size_ == 0)
      one_ = std::move(r);
    else
      many_.push_back(std::move(r));
    ++size_;
  }
  /// Makes n copies of `first`, each `step` bytes behind the previous one.
  void assign(size_t n, const Region& first, int64_t step) {
    clear();
    for (size_t i = 0; i < n; ++i) {
      const int64_t by = static_cast<int64_t>(i) * step;
      Region r = first;
      r.base += by;
      r.low += by;
      r.high += by;
      push_back(std::move(r));
    }
  }
  /// Makes the only region the buffer of a call for which RememberedCall::kReach holds.
  void set(const RememberedCall& call, bool writes) {
    many_.clear();
    size_ = 1;
    one_.writes = writes;
    one_.exact = true;
    one_.begun = false;
    one_.low = call.messages.low;
    one_.high = call.high();
    one_.base = call.base;
    one_.count = 0;
    one_.blocks.clear();
  }

 private:
  uint32_t size_ = 0;
  Region one_;
  std::vector<Region> many_;
};

/// A receive that has begun and may still match messages in its turn. The fields that are read of
/// most receives are in the first 64 bytes.
struct alignas(64) CheckedReceive {
  int source = 0, tag = 0;
  CheckedComm* comm = nullptr;
  uint64_t number = 0;  ///< its number among the rank's receives, in the order of posting
  uint32_t users = 0;
  bool open = true;
  /// Cancelled: it matches nothing; freed: nobody sees its message.
  bool cancelled = false, freed = false;
  bool probe = false;  ///< made by MPI_Mprobe, which returned `message`
  int real_source = 0, real_tag = 0;
  uint64_t matched_message_id = 0;  ///< id of the matched message, once known
  SharedCall call;
  uint32_t event = 0;  ///< the rank's own clock when the receive was complete
  uint32_t begun = 0;  ///< the rank's own clock when it began; 0: not counted (ready_sends.cc)
  /// The rank's own clock when a call completed another request of a list but not this one; 0: no
  /// call did.
  uint32_t passed = 0;
  SharedCall passed_by;
  int message_handle = 0;
  bool status_read = true;
  CheckedReceive* next_free = nullptr;

  void let_go() {
    call.reset();
    passed_by.reset();
    open = status_read = true;
    cancelled = freed = probe = false;
    matched_message_id = 0;
    event = passed = 0;
  }
};

/// Identifies a collective call of a communicator. Without `comm` it is a call that is not tracked.
struct CollectiveCall {
  CheckedComm* comm = nullptr;
  uint64_t number = 0;
  bool is_root = true;  ///< the calling rank is the root, or there is none
};

/// The additional state of a partitioned operation.
struct Partitioned {
  uint64_t id = 0;  ///< send: unique in the job; 0: not announced
  /// The call that made a partition ready; kCallCount: none.
  struct Ready {
    uint64_t site = 0;
    uint16_t call = kCallCount;
    bool is() const { return call != kCallCount; }
  };
  /// For a send that was started. Empty where there are too many partitions.
  std::vector<Ready> ready;
  bool met = false;  ///< receive: its send was made
};

/// The library's one handle for sends that are complete at once, and the range of handles that the
/// checker replaces it with, so that each request has its own.
inline constexpr uint32_t kRequestBase =
    host::handle_base(host::HandleKind::kDirect, host::HandleObject::kRequest);
inline constexpr int kSentHandle = static_cast<int>(kRequestBase | 0x1ffffffu);
inline constexpr uint32_t kFirstSent = kRequestBase | 0x1000000u, kSentHandles = 0x00800000u;
inline bool is_sent_handle(MPI_Request handle) {
  return static_cast<uint32_t>(handle) - kFirstSent < kSentHandles;
}

/// The operation behind a request. The fields of a receive that are read on completion are in the
/// first 64 bytes of the table's entry, with the handle.
struct RequestOperation {
  MPI_Request real = MPI_REQUEST_NULL;  ///< MPI's handle, where the program has one of kFirstSent
  bool persistent : 1 = false, active : 1 = true, started_once : 1 = false;
  bool released : 1 = false;  ///< the program may use its buffers again
  /// MPI_Cancel was called; whether it succeeded is asked on completion.
  bool cancelled : 1 = false;
  bool sends : 1 = false;  ///< it sends a message
  /// The message must be received before the send is complete, if nothing is buffered
  /// (needs_receive()).
  bool needs_receive : 1 = false;
  bool rare : 1 = false;  ///< synchronous, collective, partitioned, or makes an object
  /// The program has accessed its buffers, perhaps from another thread.
  bool touched = false;
  SharedCall call;
  uint64_t seen = 0;     ///< the last call with this request in its list
  uint64_t made_in = 0;  ///< Rank::epoch at the time when a rare one was made
  RefPtr<CheckedReceive> posted;
  Regions regions;
  uint64_t message_id = 0;  ///< id of the message that it sends
  int receiver_world = -1;  ///< receiver's world rank
  CheckedComm* comm = nullptr;
  CollectiveCall collective;
  std::shared_ptr<Partitioned> partitioned;
  /// Makes it as new. The memory of its regions is retained, and the call too until another one
  /// replaces it. REQUIRES: its regions have ended.
  void reset() {
    real = MPI_REQUEST_NULL;
    persistent = started_once = released = touched = cancelled = sends = needs_receive = false;
    active = true;
    seen = 0;
    posted.reset();
    regions.clear();
    if (rare) {
      collective = {};
      partitioned.reset();
    }
    rare = false;
  }
};

/// A send or receive under way that RepeatedStart has handled (repeated_messages.h).
/// make_operations() turns it into an RequestOperation before the rank can forget the call.
struct alignas(32) PendingOperation {
  RememberedCall* call = nullptr;
  /// For a send, the checksum of its data. For a receive that is complete, the id of its message if
  /// the send of that has not begun in the unbuffered run, else 0.
  uint64_t word = 0;
  MPI_Request handle = MPI_REQUEST_NULL;
  uint32_t at = 0;     ///< address of the program's request, lower 32 bits
  uint32_t id = 0;     ///< send: its message; receive: its number; lower 32 bits
  int16_t index = -1;  ///< position in the list of the pending wait
  bool sends = false;
  /// Receive: counted in MessageQueue::receives_waiting. Send: the receive of its message has
  /// begun.
  bool receive_begun = false;
};

/// The pending ones of a rank, in the order in which they have begun.
class PendingOperations {
 public:
  /// Further nonblocking operations are left to CheckedCall.
  static constexpr uint32_t kMost = 64;

  PendingOperations() = default;
  PendingOperations(const PendingOperations&) = delete;
  PendingOperations& operator=(const PendingOperations&) = delete;
  PendingOperation* begin() { return list_; }
  PendingOperation* end() { return list_ + size_; }
  const PendingOperation* begin() const { return list_; }
  const PendingOperation* end() const { return list_ + size_; }
  uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void clear() { size_ = 0; }
  /// Adds an element whose contents are stale. REQUIRES: size() < kMost.
  PendingOperation* add() {
    if (size_ == capacity_) grow();
    return &list_[size_++];
  }
  template <class F>
  void erase_if(F&& f) {
    size_ = static_cast<uint32_t>(std::remove_if(begin(), end(), f) - begin());
  }

 private:
  [[gnu::noinline]] void grow() {
    capacity_ = capacity_ ? 2 * capacity_ : 8;
    auto* more = static_cast<PendingOperation*>(
        allocate_memory(capacity_ * sizeof(PendingOperation), alignof(PendingOperation)));
    std::uninitialized_value_construct_n(more, capacity_);
    std::copy(begin(), end(), more);
    list_ = more;
  }

  PendingOperation* list_ = nullptr;
  uint32_t size_ = 0, capacity_ = 0;
};

/// An object that the rank has made.
struct CreatedObject {
  CallRecord call;
  int count = 1;  ///< number of times that the rank received this handle
  bool committed = false;
  SharedCall again =
      {};  ///< the last call that returned the handle once more, while neither is freed
  int64_t again_into = 0;  ///< the address that `again` wrote the handle to
};

struct Races;
class CheckedCall;
class OwnedMemory;
class ThreadOrder;

/// The number of calls with the same hash that a rank remembers, so that calls of one loop do not
/// evict each other.
inline constexpr int kRememberedWays = 4;

/// A one-sided operation whose origin buffer the program may not use yet.
struct OneSided {
  int64_t target = 0;
  std::unique_ptr<RequestOperation> operation = nullptr;
  uint32_t strand = 0;  ///< that has begun it, where the rank has several
};

/// The calls that have begun the current epochs of a window, and the operations begun
/// in these epochs.
struct Epochs {
  int rank = -1;        ///< the rank in the window; -1: unknown
  uintptr_t stack = 0;  ///< an address on the stack, below the frame that made the window
  std::optional<CallRecord> started, posted, all_locked;
  bool fenced = false;  ///< inside an epoch of fences
  /// The last fence, if it may have begun an epoch, and the first operations since: those that the
  /// next fence completes, and those in epochs of locks.
  std::optional<CallRecord> fence, fence_operation, lock_operation;
  /// The first store since that fence to the rank's own memory in the window.
  std::optional<findings::Participant> store;
  bool requested = false;                ///< operations with requests may be incomplete
  std::map<int64_t, CallRecord> locked;  ///< by target
  std::vector<OneSided> operations;      ///< only where loads and stores are checked
  /// Those that another strand's flush has completed, and a flush of their own has not yet.
  std::vector<OneSided> ended_by_others;
};

/// Memory of a window that is in the rank's address space.
struct Exposed {
  uintptr_t low, high;
  MPI_Win win;
  bool own;        ///< owned by the rank; else by others, in a shared window
  bool epoch;      ///< others may access it now: between fences, after MPI_Win_post
  bool under_way;  ///< operations in lock epochs were pending when the last call returned
  bool kept;       ///< the library records this rank's accesses that it is given
  bool ordered;    ///< the order of accesses in epochs of locks is followed
  /// The rank has called MPI_Win_sync: it may wait by loads that are not recognised as such.
  bool synchronised = false;
  bool meets(uintptr_t address, size_t bytes) const {
    return address < high && low < address + bytes;
  }
};

/// An access by a shared file pointer whose offset is not known yet.
struct SharedAccess {
  const CallRecord* call = nullptr;  ///< the running call; null once it has returned
  bool writes = false;
  int64_t bytes = 0;
  std::string line;  ///< the line for the spool, without the ranges
};

/// A file that the rank has opened, as this rank sees it. Its view is a tile of runs that repeats.
struct OpenFile {
  uint64_t key = 0;    ///< the same at all ranks that opened the file together
  bool known = false;  ///< the bytes that the view shows are known
  int64_t disp = 0, etype_bytes = 1, tile_bytes = 1, tile_extent = 1;
  std::vector<ByteBlock> tile;
  uint64_t syncs = 0, fenced = 0;  ///< counters of MPI_File_sync (readers/findings/files.h)
  uint64_t communications = 0;     ///< Rank::communications at the last sync
  std::set<uint64_t> named;        ///< calls that were written to the spool
  std::deque<SharedAccess> placed_later;
};

/// The bytes of a buffer, in [low, high).
struct BufferUse {
  const char *low, *high;
  bool writes;
};
/// May two operations that are pending at the same time not use these buffers?
inline bool conflict(const BufferUse& a, const BufferUse& b) {
  return (a.writes || b.writes) && a.low < b.high && b.low < a.high;
}

/// Memory of a pending request. More than kFewPending of them are sorted by `low`, fewer
/// are in no order.
struct PendingRegion {
  const char *low, *high;
  Region* region;
  int request;
  bool writes;
};
inline constexpr size_t kFewPending = 32;

/// A request that a call has completed.
struct CompletedEntry {
  int position = 0;  ///< position in the call's list; MPI may have overwritten the handle there
  int status = 0;    ///< the position of its status
  RequestTable<RequestOperation>::TableEntry* entry = nullptr;
};

/// Lists that most calls do not need. A rank retains their memory for later calls.
struct Lists {
  /// The requests that the program gave to a call which completes or starts some.
  std::vector<MPI_Request> requests;
  bool has_twice = false;            ///< a request occurs twice among them
  std::vector<MPI_Status> statuses;  ///< for a program that ignores them
  std::vector<CompletedEntry> done;  ///< the completed ones of `requests`
  /// Removed from the table meanwhile, where there are threads: the requests that the
  /// call may complete.
  std::vector<RequestTable<RequestOperation>::Node> taken;
  std::vector<RefPtr<CheckedReceive>> received;  ///< receives for which the call waited
  Regions regions;                               ///< buffers of the call
  void clear() {
    requests.clear();
    has_twice = false;
    done.clear();
    taken.clear();
    received.clear();
    regions.clear();
  }
};

class RepeatedWait;

/// The state of a rank. Fields that nearly every call reads are adjacent, in the order in which
/// they are read.
struct alignas(64) Rank {
  /// The pointer of the rank's first thread (__builtin_thread_pointer) while repeated.h may handle
  /// the rank's next call; else null, above all while the rank is in a call.
  void* short_path = nullptr;
  RememberedCall* guess = nullptr;  ///< the call that followed the last one the last time
  RememberedCall* last_call = nullptr;
  const CallRecord* current = nullptr;  ///< the call that the rank is in
  /// Advances when an object is made, committed or freed. No other rank of the process
  /// has the same value.
  uint64_t epoch = 1;
  uint64_t communications = 0;  ///< number of calls in which other ranks may take part
  int calls = 0;                ///< number of MPI calls that the rank is in, on its own thread
  int world = 0;
  bool in_call = false;
  bool initialised = false, ended = false;
  /// `posted` is empty, there are no `races`, and the begin of a receive is no event.
  bool in_turn = true;
  bool has_windows = false;  ///< `windows` is not empty
  uint32_t last_message_number = 0;
  PendingOperations begun;
  std::vector<PendingRegion> regions;
  uint64_t pending_sum = 0;  ///< sum of reach_of() for `begun`
  /// The rank's own clock: the number of receives from MPI_ANY_SOURCE that are complete.
  uint32_t events = 0;
  uint32_t next_fake = 0;
  Knowledge knows;               ///< the rank's vector clock
  ClockPart left;                ///< leave_early(), where `knows` does not say so yet
  std::shared_ptr<Races> races;  ///< set if the rank has received from any source
  Unbuffered unbuffered;
  uint64_t next_posted = 0;
  /// Queue of the pending receive, if the queue has not counted it yet.
  MessageQueue* receives_from = nullptr;
  std::deque<RefPtr<CheckedReceive>> posted;
  RepeatedWait* wait = nullptr;  ///< the wait that the rank is in
  OwnComm* last_own = nullptr;

  size_t posted_closed = 0;  ///< number of completed receives in `posted`
  int sessions = 0;          ///< that are open
  const char *stack_low = nullptr, *stack_high = nullptr;  ///< of its first thread; null: unknown
  uint64_t init_site = 0;                                  ///< of MPI_Init or MPI_Init_thread
  Calls init_call = kCall_MPI_Init;
  int own_level = MPI_THREAD_SINGLE;  ///< what MPI_Init or MPI_Init_thread has granted
  int level = MPI_THREAD_SINGLE;      ///< ... or, while there are sessions, one of these
  bool arguments_told = false;        ///< a wrong argument of the current call was reported
  pthread_t thread{};                 ///< the rank's first thread
  /// Set where the program was compiled with -check (accesses.h); never freed.
  OwnedMemory* owned = nullptr;
  /// Set once such a program has synchronised threads (threads/strands.h); never freed.
  ThreadOrder* order = nullptr;
  void** word = nullptr;  ///< the rank's MPIX_Tool_word(); helpers of the rank have another
  std::unordered_map<uint64_t, CreatedObject> made[32];  ///< by Object, then handle
  /// The calls that freed handles which the rank has not received again.
  std::unordered_map<uint64_t, CallRecord> freed[32];
  using Requests = RequestTable<RequestOperation>;
  Requests requests;
  std::vector<Requests::Node> spare_requests;  ///< for reuse
  std::vector<std::unique_ptr<Lists>> spare_lists;
  std::unordered_map<int, OwnComm> comms;
  /// OwnComm::events of communicators that the rank has freed, by their names in clocks; the last
  /// kMostPastEvents.
  std::deque<std::pair<uint64_t, std::vector<std::pair<uint64_t, uint32_t>>>> past_events;
  static constexpr size_t kMostPastEvents = 256;
  std::map<MPI_Win, Epochs> epochs;
  std::vector<Exposed> windows;
  /// The times at which others last began to change memory of these windows, and the latest of them
  /// that the rank's clock has.
  std::vector<const long long*> update_times;
  long long updates_known = 0;
  std::map<uint64_t, OpenFile> files;  ///< by handle
  int64_t longest_region = 0;
  std::unordered_map<int, QueuedMessage> probed_messages;  ///< by MPI_Message
  /// The requests that the call was given. MPI sets the program's to MPI_REQUEST_NULL before an
  /// error of theirs is known.
  std::span<const MPI_Request> given;
  /// Where there are threads: calls that have not returned yet.
  std::vector<CheckedCall*> inside;
  uint64_t next_list = 0;
  /// The last calls, by a hash of return address and arguments.
  SharedCall remembered[16][kRememberedWays];
  std::span<SharedCall, kRememberedWays> remembered_at(uint64_t call_hash) {
    return remembered[call_hash % std::size(remembered)];
  }
  uint32_t next_way = 0;
  /// The record of an equal call; null where the rank remembers none. `count`: the number of
  /// arguments.
  RememberedCall* find_remembered(uint64_t hash, uint16_t id, const void* place,
                                  const int64_t* arguments, size_t count) {
    for (const SharedCall& one : remembered_at(hash))
      if (one && one->is(id, place, arguments, count)) return one.get();
    return nullptr;
  }
  /// The rank is in the call from now on.
  [[gnu::always_inline]] void begin_call(const CallRecord* call) {
    short_path = nullptr;
    current = call;
    in_call = true;
  }
  /// The rank has left a call early. Its clock says so only before others learn it (say_left()):
  /// where ranks leave one call after the other, their clocks stay equal, and learning is short.
  [[gnu::always_inline]] void leave_early(const ClockPart& call) {
    if (left.of != call.of) say_left();
    left = {call.of, std::max(left.count, call.count)};
  }
  [[gnu::always_inline]] void say_left() {
    if (!left.of) return;
    knows.learn_named(left);
    left = {};
  }
  static void* operator new(size_t bytes) { return allocate_memory(bytes, alignof(Rank)); }
  static void operator delete(void*) {}
  /// The rank has returned from a call on its own thread: predicts its next call.
  void guess_next();
  OwnComm* comm_of(MPI_Comm handle);
  /// The communicator is freed. Its events stay in `past_events`.
  void forget_comm(MPI_Comm handle);
};

/// The rank may have found in its own memory what operations of others have done: its clock
/// learns the time of that, where it is new (windows_order.cc).
void learn_of_updates(Rank* rank);
[[gnu::always_inline]] inline void learn_of_updates_quickly(Rank* rank) {
  for (const long long* time : rank->update_times)
    if (__atomic_load_n(time, __ATOMIC_RELAXED) > rank->updates_known) [[unlikely]]
      return learn_of_updates(rank);
}

struct Process {
  bool on = false;
  uint32_t kinds = findings::kAllKinds;
  int me = 0, first = 0, ranks = 1, world_size = 1;
  findings::Spool spool;
  bool threads = false;
  bool ranks_share = false;  ///< several ranks have their globals in common
  /// The process of the last call, by which accesses in a child made by fork() are recognised:
  /// such a child has memory of its own. The executions of mpiexec -explore are children too,
  /// but they call MPI.
  pid_t pid = 0;
  bool unbuffered = false;    ///< FGMPI_SEND_BUFFERING=zero: standard sends are synchronous
  bool all_in_full = false;   ///< FGMPI_CHECK_REPEATED=off: no call takes the path of repeated ones
  bool makes_others = false;  ///< extensions make communicators that are not tracked
  bool sends_ready = false;   ///< the program makes ready sends
  bool has_windows = false;   ///< a rank has made a window
  bool has_facts = false;     ///< the plugin of mpicc -check has compiled a program here
  bool has_heap = false;      ///< such a program has told of blocks of its heap
  bool asked_model = false;   ///< a rank has asked for MPI_WIN_MODEL
  /// Calls that impose an order which is not tracked (windows, other jobs) were made, so races are
  /// not reported.
  bool order_unknown = false;
  /// MPIX_*_open_group was called: members may call collectives in different orders.
  bool opens_groups = false;
  std::vector<std::unique_ptr<Rank>> all;                  ///< by world rank minus first
  std::map<uint64_t, std::unique_ptr<CheckedComm>> comms;  ///< by key
  std::vector<Inbox> inboxes;                              ///< by world rank minus first
  std::unordered_map<const void*, uint64_t> sites;
  uint64_t reports = 0;            ///< findings so far, including those of unwanted kinds
  uint64_t of_arguments = 0;       ///< findings of that kind
  std::vector<uint64_t> deadlock;  ///< keys of findings that are withdrawn if a rank goes on
  bool wants(FindingKind kind) const { return kinds & findings::bit_of(kind); }
  /// Are vector clocks maintained?
  bool follows_order() const {
    return wants(FindingKind::kRaces) || wants(FindingKind::kBuffering) ||
           wants(FindingKind::kWindows) || (sends_ready && wants(FindingKind::kMessages));
  }
};
extern Process& g_process;

/// Is true where a recorded run is repeated to be checked (mpiexec -rewind FILE -check).
extern bool g_is_rewound;
/// Is this process to be checked? This library is loaded in recorded runs, too, where it does
/// nothing.
bool is_wanted();
/// The kinds of findings that are asked for; g_process need not be initialised yet.
uint32_t kinds_asked();

/// Is the unbuffered run maintained (unbuffered.h)? Computed from Process::kinds,
/// `unbuffered` and `threads`.
inline bool g_follows_steps = false;
inline bool follows_steps() { return g_follows_steps; }
inline void update_follows_steps() {
  g_follows_steps =
      g_process.wants(FindingKind::kBuffering) && !g_process.unbuffered && !g_process.threads;
}

/// step_enter() where the unbuffered run is maintained. REQUIRES: is_free().
inline void step_enter_at_once(CheckedComm* c, int member, uint64_t number) {
  Entered* e = c->entered;
  if (!e || !e->waiting_for.empty() || !e->here.add_one(number, c->local_members))
    return enter_at_once(c, member, number);
  e->calls[static_cast<size_t>(member)] = number + 1;
}

/// Is the rank or its process in a mode that has rules of its own (rules.def)? CheckedCall then
/// handles all calls.
inline bool has_rules_of_mode([[maybe_unused]] const Rank& rank) {
  bool any = false;
#define FGMPI_CHECK_RULE(function, phase, depends_on, calls)
#define FGMPI_CHECK_MODE_RULE(function, mode) any = any || (mode);
#include "check/rules.def"
  return any;
}

inline void Rank::guess_next() {
  const bool repeats = last_call && !ended && !has_rules_of_mode(*this) && !g_process.unbuffered &&
                       !g_process.all_in_full;
  guess = repeats ? last_call->next_call : nullptr;
  short_path = guess ? __builtin_thread_pointer() : nullptr;
}

/// The running rank; null outside of ranks and where MPI was not initialised.
Rank* current_rank();
/// The address at which the scheduler publishes the running proclet, set once the process is
/// tracked; where there are threads, the address of a null pointer.
extern const sched::Proclet* const* g_running;
inline constexpr const sched::Proclet* kNobody = nullptr;
/// As current_rank(), for callers on a rank's own thread; null where the rank is unknown and where
/// there are threads.
inline Rank* running_rank() {
  const sched::Proclet* proclet = *g_running;
  return proclet ? static_cast<Rank*>(proclet->tool) : nullptr;
}
/// Does the rank run in this process?
inline bool is_local(int world) {
  return world >= g_process.first && world < g_process.first + g_process.ranks;
}
inline MPI_Request next_sent_handle(Rank* rank) {
  return static_cast<int>(kFirstSent | rank->next_fake++ % kSentHandles);
}
/// A rank of this process that has begun; else nullptr.
Rank* local_rank(int world);
/// The other group of an intercommunicator, as its members see it. This process may
/// host none of them.
CheckedComm* remote_side(const CheckedComm& comm);

/// The number of the site whose call returns to this address. REQUIRES: the call has not returned.
uint64_t site_of(const void* return_address);
/// The arguments of a call in words, as far as they can be worded: "count=1,
/// datatype=MPI_INT, dest=3".
std::string arguments_of(const CallRecord& call, const Rank* rank);
findings::Participant participant(const Rank* rank, const CallRecord& call, const char* role = "");
/// Writes a finding unless its kind is unwanted. Returns its key in the spool.
uint64_t report(FindingKind kind, std::string sentence, std::string allowed,
                std::vector<findings::Participant> calls, bool note = false);

}  // namespace fgmpi::check
