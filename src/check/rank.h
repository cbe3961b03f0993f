// What the checker knows: of a rank, of a communicator, of the process.
//
// Thread rule: one thread at a time. Where a rank's threads may call MPI at the same time, Call
// takes the library's own lock (MPIX_Tool_enter): a lock of the checker's would be taken in the
// other order by functions of the program that MPI calls, such as error handlers, which call MPI
// with the library's lock held.
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
#include "check/clock.h"
#include "check/findings/spool.h"
#include "check/layout.h"
#include "check/message_queue.h"
#include "check/record.h"
#include "check/request_table.h"
#include "check/unbuffered.h"
#include "proclet-sched/sched.h"

namespace fgmpi::check {

using findings::Kind;

/// The collective calls on a communicator that some members have still to make (agreement.cc).
struct CallQueue;

/// The key of a communicator (MPIX_Comm_key) as both groups of an intercommunicator have it.
inline uint64_t without_side(uint64_t comm_key) { return comm_key & ~uint64_t{1}; }

/// A communicator as its members share it: one in a process.
struct Comm {
  uint64_t key = 0;
  int size = 0;
  bool inter = false;
  bool foreign = false;  ///< it has members of other jobs
  /// World ranks by rank; MPI_UNDEFINED: of another job. remote: intercommunicators.
  std::vector<int> group, remote;
  int local_members = 0;    ///< of the own group, in this process
  int home = 0;             ///< the process of rank 0
  std::vector<int> others;  ///< the other processes with members of the own group
  int processes = 0;        ///< of an intercommunicator: those with members of either
  /// Other processes that wait for members of the group: `others`, of an intercommunicator also
  /// those of the remote group.
  std::vector<int> listeners;
  /// Ranks of the own group and of the remote one by process, once they were asked for.
  std::map<int, std::vector<int>> members, remote_members;
  CallQueue* calls = nullptr;
  Entered* entered = nullptr;  ///< once a member has made a collective call
  /// The world rank of the member of the other side, or of the only one, with this rank;
  /// MPI_UNDEFINED: there is none, or it belongs to another job.
  int world_of(int64_t rank) const {
    const std::vector<int>& peers = inter ? remote : group;
    return rank >= 0 && rank < static_cast<int64_t>(peers.size()) ? peers[static_cast<size_t>(rank)]
                                                                  : MPI_UNDEFINED;
  }
};

/// The neighbours of a rank in a topology, in the order of buffers' parts; MPI_PROC_NULL: beyond
/// the border of a grid.
struct Neighbours {
  std::vector<int> sources, destinations;
};

/// A communicator as one of its members has it.
struct OwnComm {
  MPI_Comm handle = MPI_COMM_NULL;
  int rank = 0;
  Comm* comm = nullptr;
  uint64_t collectives = 0;  ///< how many calls were made on it
  /// What the rank's own clock was at collective calls: (number of the call, clock), where it had
  /// changed.
  std::vector<std::pair<uint64_t, uint32_t>> events;
  bool has_topology = false;
  std::shared_ptr<const Neighbours> neighbours = nullptr;  ///< once they were asked for
};

/// Memory that an operation uses until it is complete.
struct Region {
  bool writes = false;
  bool exact = false;  ///< all bytes between low and high
  bool begun = false;  ///< the operation owns it
  uint8_t slot = 0;    ///< then: where it stands in Rank::regions, as long as there are few
  MPI_Datatype type = MPI_BYTE;
  const char *low = nullptr, *high = nullptr;
  uint64_t checksum = 0;
  const char* base = nullptr;
  int64_t count = 0;
  std::vector<Block> blocks;  ///< from base, when not exact; empty: unknown
};

/// The regions of an operation. Most have one, which is in place.
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
  /// Copies of one that follow each other, each `step` bytes behind the one before.
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
  /// That of a call of which KeptCall::kReach is known.
  void set(const KeptCall& call, bool writes) {
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

/// A receive that has begun and may still take messages in its turn. What is read of each is in the
/// first 64 bytes.
struct alignas(64) Posted {
  int source = 0, tag = 0;
  Comm* comm = nullptr;
  uint64_t number = 0;  ///< of the receives of the rank, in the order in which they were posted
  uint32_t users = 0;
  bool open = true;
  bool cancelled = false, freed = false;  ///< it takes none; nobody sees which one it takes
  bool probe = false;                     ///< of MPI_Mprobe, which gave `message`
  int real_source = 0, real_tag = 0;
  uint64_t taken = 0;  ///< the id of its message, once that is known
  Record call;
  uint32_t event = 0;  ///< the rank's own clock when it was complete
  /// And when a call completed another request of a list with this one's; 0: none did.
  uint32_t passed = 0;
  Record passed_by;
  int message = 0;
  bool status_read = true;
  Posted* next_free = nullptr;

  MPI_Datatype type() const {
    return static_cast<MPI_Datatype>(call->at(call->info().at.recv_type));
  }
  int64_t count() const { return call->at(call->info().at.recv_count); }
  void let_go() {
    call.reset();
    passed_by.reset();
    open = status_read = true;
    cancelled = freed = probe = false;
    taken = 0;
    event = passed = 0;
  }
};

/// Which collective call of a communicator one is; no communicator: none that is followed.
struct CollectiveCall {
  Comm* comm = nullptr;
  uint64_t number = 0;
  bool is_root = true;  ///< the calling rank is, or there is none
};

/// A partitioned operation, beside what all operations have.
struct Partitioned {
  uint64_t id = 0;  ///< of a send, unique in the job; 0: nobody was told of it
  /// By which call a partition was made ready; kCallCount: by none.
  struct Ready {
    uint64_t site = 0;
    uint16_t call = kCallCount;
    bool is() const { return call != kCallCount; }
  };
  /// Of a send that was started; empty where there are too many partitions.
  std::vector<Ready> ready;
  bool met = false;  ///< of a receive: its send was made
};

/// The handle of sends that are complete at once, and those that they have here.
inline constexpr int kSentHandle = static_cast<int>(0xadffffffu);
inline constexpr uint32_t kFirstSent = 0xad000000u, kSentHandles = 0x00800000u;
inline bool is_sent_handle(MPI_Request handle) {
  return static_cast<uint32_t>(handle) - kFirstSent < kSentHandles;
}

/// What a request stands for. What completing one reads of a receive is in the first 64 bytes of
/// its entry in the table, with the handle.
struct Operation {
  MPI_Request real = MPI_REQUEST_NULL;  ///< MPI's handle, where the program has another one
  bool persistent : 1 = false, active : 1 = true, started_once : 1 = false;
  bool released : 1 = false;   ///< its buffers are the program's again
  bool cancelled : 1 = false;  ///< MPI_Cancel was called: whether it came in time is asked later
  bool sends : 1 = false;      ///< it has a message
  /// Which is to be received, if nothing is buffered (needs_receive()).
  bool needs_receive : 1 = false;
  bool rare : 1 = false;  ///< it is synchronous, a collective, partitioned or makes an object
  /// An access of the program to its buffers was seen, perhaps on another thread.
  bool touched = false;
  Record call;
  uint64_t seen = 0;     ///< the last call that had it in its list
  uint64_t made_in = 0;  ///< of a rare one: Rank::epoch then
  Shared<Posted> posted;
  Regions regions;
  uint64_t message = 0;  ///< the id of what it sends
  int send_to = -1;      ///< world rank
  Comm* comm = nullptr;
  CollectiveCall collective;
  std::shared_ptr<Partitioned> partitioned;
  /// As if it were new, but for the memory of its regions and the call, which is let go when there
  /// is another. REQUIRES: they have ended.
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

/// A send or receive under way that RepeatedStart has looked at (repeated_messages.h).
/// make_operations() makes an Operation of it before the rank can forget the call.
struct alignas(32) Begun {
  KeptCall* call = nullptr;
  /// Of a send: its checksum; of a receive that is complete: a message whose send has not begun, or
  /// 0.
  uint64_t word = 0;
  MPI_Request handle = MPI_REQUEST_NULL;
  uint32_t at = 0;  ///< where the program has its request: the lower half of the address
  uint32_t id = 0;  ///< of the message that it sends, or the number of the receive: the lower half
  int16_t index = -1;  ///< in the list of the wait under way
  bool sends = false;
  /// A receive of which its queue knows (MessageQueue::ready); a send whose message's receive has
  /// begun.
  bool ready = false;
};

/// A few of them, in the order in which they have begun.
class BegunList {
 public:
  /// More nonblocking operations at a time are looked at by Call.
  static constexpr uint32_t kMost = 64;

  BegunList() = default;
  BegunList(const BegunList&) = delete;
  BegunList& operator=(const BegunList&) = delete;
  Begun* begin() { return list_; }
  Begun* end() { return list_ + size_; }
  const Begun* begin() const { return list_; }
  const Begun* end() const { return list_ + size_; }
  uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void clear() { size_ = 0; }
  /// One more, with what was there before. REQUIRES: fewer than kMost.
  Begun* add() {
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
    auto* more = static_cast<Begun*>(take_memory(capacity_ * sizeof(Begun), alignof(Begun)));
    std::uninitialized_value_construct_n(more, capacity_);
    std::copy(begin(), end(), more);
    list_ = more;
  }

  Begun* list_ = nullptr;
  uint32_t size_ = 0, capacity_ = 0;
};

/// An object behind a handle that the rank has made.
struct Made {
  CallRecord call;
  int count = 1;  ///< how often it was given to the rank
  bool committed = false;
  Record again = {};       ///< the last call that gave it once more, while neither is freed
  int64_t again_into = 0;  ///< the address that `again` wrote the handle to
};

struct Races;
class Call;
class OwnedMemory;

/// So many calls with the same hash are remembered: those of a loop do not drive each other out.
inline constexpr int kRememberedWays = 4;

/// A one-sided operation whose origin memory is not the program's again.
struct OneSided {
  int64_t target = 0;
  std::unique_ptr<Operation> operation = nullptr;
};

/// The calls that have begun epochs of a window which the rank has not ended yet, and what it has
/// begun in them.
struct Epochs {
  std::optional<CallRecord> started, posted, all_locked;
  bool fenced = false;                   ///< in an epoch of fences
  std::map<int64_t, CallRecord> locked;  ///< by target
  std::vector<OneSided> operations;      ///< where loads and stores are looked at
};

/// Memory in a window that the rank has in its address space.
struct Exposed {
  uintptr_t low, high;
  MPI_Win win;
  bool own;        ///< the rank's; else that of others, in a shared window
  bool epoch;      ///< others may access it: between fences, after MPI_Win_post
  bool under_way;  ///< operations of epochs of locks were, when the rank's last call returned
  bool kept;       ///< the library keeps accesses of the rank that it was told of
  bool meets(uintptr_t address, size_t bytes) const {
    return address < high && low < address + bytes;
  }
};

/// An access by the shared pointer whose place is not known yet.
struct SharedAccess {
  const CallRecord* call = nullptr;  ///< the running one; null once that has returned
  bool writes = false;
  int64_t bytes = 0;
  std::string line;  ///< what is written down of it, but its ranges
};

/// A file that the rank has open with others, as it sees it. The view is the runs of a tile, which
/// follow each other.
struct OpenFile {
  uint64_t key = 0;    ///< the same at all ranks that have opened it together
  bool known = false;  ///< which bytes the view shows
  int64_t disp = 0, etype_bytes = 1, tile_bytes = 1, tile_extent = 1;
  std::vector<Block> tile;
  uint64_t syncs = 0, fenced = 0;  ///< of MPI_File_sync (readers/findings/files.h)
  uint64_t communications = 0;     ///< Rank::communications at the last one
  std::set<uint64_t> named;        ///< calls that were written down
  std::deque<SharedAccess> placed_later;
};

/// Memory of a request that is under way. Of more than kFewPending they are sorted by where they
/// begin, else in no order.
struct Pending {
  const char *low, *high;
  Region* region;
  int request;
  bool writes;
};
inline constexpr size_t kFewPending = 32;

/// A request that a call has completed.
struct Completed {
  int position = 0;  ///< in the list that the call was given; MPI may have written anything
  int status = 0;    ///< the position of its status
  RequestTable<Operation>::Entry* entry = nullptr;
};

/// Lists of a call, which most calls do not need. A rank keeps their memory for its next calls.
struct Lists {
  /// As the program gave them, of a call that completes or starts.
  std::vector<MPI_Request> requests;
  bool has_twice = false;            ///< a request is among them twice
  std::vector<MPI_Status> statuses;  ///< where the program wants none
  std::vector<Completed> done;       ///< of the requests
  /// Where there are threads: what it may complete.
  std::vector<RequestTable<Operation>::Node> taken;
  std::vector<Shared<Posted>> received;  ///< receives that it waited for
  Regions regions;                       ///< buffers of the call
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

/// What nearly every call reads is together, in the order in which it is read.
struct alignas(64) Rank {
  /// While repeated.h may look at the rank's next call: the thread pointer of the thread that it
  /// has begun on. Else null, above all while the rank is in a call.
  void* short_path = nullptr;
  KeptCall* guess = nullptr;  ///< the call that followed the last one the last time
  KeptCall* last_call = nullptr;
  const CallRecord* current = nullptr;  ///< of the call in which the rank is
  /// Goes on when an object is made, committed or freed; no other rank of the process has the same.
  uint64_t epoch = 1;
  uint64_t communications = 0;  ///< calls that other ranks may have a part in
  int calls = 0;                ///< of MPI that it is in, on its own thread
  int world = 0;
  bool in_call = false;
  bool initialised = false, ended = false;
  bool in_turn = true;  ///< no receives are in `posted`, and there are no `races`
  uint32_t next_message = 0;
  BegunList begun;
  std::vector<Pending> regions;
  uint64_t begun_sum = 0;  ///< of what `begun` reaches (reach_of())
  /// Its own part of what it knows: receives from any source that are complete.
  uint32_t events = 0;
  uint32_t next_fake = 0;
  Knowledge knows;               ///< of others and itself
  std::shared_ptr<Races> races;  ///< where it has received from any source
  Unbuffered unbuffered;
  uint64_t next_posted = 0;
  MessageQueue* receives_from = nullptr;  ///< in a receive of which the queue does not know yet
  std::deque<Shared<Posted>> posted;
  RepeatedWait* wait = nullptr;  ///< in which the rank is
  OwnComm* last_own = nullptr;

  size_t posted_closed = 0;  ///< of the posted ones, those that are complete
  int sessions = 0;
  int level = MPI_THREAD_SINGLE;
  bool arguments_told = false;  ///< what is wrong with those of the call that it is in
  pthread_t thread{};           ///< that the rank has begun on
  /// Where its program was compiled with -check (accesses.h); never freed.
  OwnedMemory* owned = nullptr;
  void** word = nullptr;  ///< its MPIX_Tool_word(); of a helper of the rank it is another
  std::unordered_map<uint64_t, Made> made[32];  ///< by Object, then handle
  /// Handles that the rank has freed and not got again.
  std::unordered_map<uint64_t, CallRecord> freed[32];
  using Requests = RequestTable<Operation>;
  Requests requests;
  std::vector<Requests::Node> spare_requests;  ///< for reuse
  std::vector<std::unique_ptr<Lists>> spare_lists;
  std::unordered_map<int, OwnComm> comms;
  std::map<MPI_Win, Epochs> epochs;
  std::vector<Exposed> windows;
  std::map<uint64_t, OpenFile> files;  ///< by handle
  int64_t longest_region = 0;
  std::unordered_map<int, Message> matched;  ///< by MPI_Message
  /// The requests that the call was given: MPI sets the program's to MPI_REQUEST_NULL before an
  /// error of theirs is known.
  std::span<const MPI_Request> given;
  /// Where there are threads: calls that have begun and have not returned.
  std::vector<Call*> inside;
  uint64_t next_list = 0;
  /// The last calls, each in one of the slots that a hash of its return address and arguments says.
  Record remembered[16][kRememberedWays];
  std::span<Record, kRememberedWays> remembered_at(uint64_t call_hash) {
    return remembered[call_hash % std::size(remembered)];
  }
  uint32_t next_way = 0;
  static void* operator new(size_t bytes) { return take_memory(bytes, alignof(Rank)); }
  static void operator delete(void*) {}
  /// It has returned from a call, on the thread that it has begun on.
  void guess_next();
  OwnComm* comm_of(MPI_Comm handle);
  void forget_comm(MPI_Comm handle);
};

struct Process {
  bool on = false;
  uint32_t kinds = findings::kAllKinds;
  int me = 0, first = 0, ranks = 1, world_size = 1;
  findings::Spool spool;
  bool threads = false;
  bool ranks_share = false;  ///< several ranks have their globals in common
  /// Of the last call: what a child by fork accesses is memory of its own. The executions of
  /// mpiexec -explore, which are children as well, call MPI.
  pid_t pid = 0;
  bool unbuffered = false;    ///< FGMPI_SEND_BUFFERING=zero: standard sends are synchronous
  bool makes_others = false;  ///< communicators by extensions, which are not followed
  bool asked_model = false;   ///< a rank has asked for MPI_WIN_MODEL
  /// Ranks have come to an order by calls whose order is not followed (windows, other jobs): no
  /// races are reported.
  bool hidden_order = false;
  /// MPIX_*_open_group: members call the collectives in orders of their own.
  bool opens_groups = false;
  std::vector<std::unique_ptr<Rank>> all;           ///< by world rank minus first
  std::map<uint64_t, std::unique_ptr<Comm>> comms;  ///< by key
  std::vector<Inbox> inboxes;                       ///< by world rank minus first
  std::unordered_map<const void*, uint64_t> sites;
  uint64_t reports = 0;            ///< how many were made, those of kinds that are not wanted too
  uint64_t of_arguments = 0;       ///< findings of that kind
  std::vector<uint64_t> deadlock;  ///< findings that are none if a rank goes on
  bool wants(Kind kind) const { return kinds & findings::bit_of(kind); }
  /// Is it followed what each rank knows of others?
  bool follows_order() const { return wants(Kind::kRaces) || wants(Kind::kBuffering); }
};
extern Process& g_process;

/// Is all that unbuffered.h says looked at? As Process::kinds, `unbuffered` and `threads` say.
inline bool g_follows_steps = false;
inline bool follows_steps() { return g_follows_steps; }
inline void note_follows_steps() {
  g_follows_steps =
      g_process.wants(Kind::kBuffering) && !g_process.unbuffered && !g_process.threads;
}

/// step_enter() where steps are followed. REQUIRES: is_free().
inline void step_enter_at_once(Comm* c, int member, uint64_t number) {
  Entered* e = c->entered;
  if (!e || !e->waiting_for.empty() || !e->here.add_one(number, c->local_members))
    return enter_at_once(c, member, number);
  e->calls[static_cast<size_t>(member)] = number + 1;
}

inline void Rank::guess_next() {
  const bool repeats = last_call && !ended && !owned && !g_process.threads && !g_process.unbuffered;
  guess = repeats ? last_call->next_call : nullptr;
  short_path = guess ? __builtin_thread_pointer() : nullptr;
}

/// The running rank; nullptr outside of ranks and where MPI was not begun.
Rank* current_rank();
/// Where the scheduler keeps who runs, once the process is followed and where that is known.
extern const sched::Proclet* const* g_running;
/// As current_rank(), where no thread but the ranks' own may be asking; null: not known.
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
/// The other group of an intercommunicator as its members see it; here there may be none of them.
Comm* remote_side(const Comm& comm);

/// The number of the place of the call that returns to this address. REQUIRES: the call has not
/// returned.
uint64_t site_of(const void* return_address);
/// "count=1, datatype=MPI_INT, dest=3": what can be said of a call's arguments.
std::string arguments_of(const CallRecord& call, const Rank* rank);
findings::Participant participant(const Rank* rank, const CallRecord& call, const char* role = "");
/// Writes a finding unless its kind is not wanted. Returns its key in the spool.
uint64_t report(Kind kind, std::string sentence, std::string allowed,
                std::vector<findings::Participant> calls, bool note = false);

}  // namespace fgmpi::check
