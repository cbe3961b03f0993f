// A call of the program on its way to MPI: what is looked at before it and after it.
//
// Files beside this one each look at one thing: handles.cc at objects and what is left of them,
// requests.cc at what requests stand for, buffers.cc at memory, arguments.cc at single arguments,
// messages.cc at what is sent and received, agreement.cc at collectives.
// Thread rule: as rank.h. What looks at a communicator for the first time may switch.
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <type_traits>

#include "check/rank.h"
#include "watch/interpose.h"

namespace fgmpi::check {

template <class T>
int64_t word(T value) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<int64_t>(value);
  else
    return static_cast<int64_t>(value);
}

/// The argument that word() has made it of.
template <class T>
T argument(int64_t word) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<T>(word);
  else
    return static_cast<T>(word);
}

/// MPI_IN_PLACE among the words of a call.
inline int64_t word_of_in_place() { return word(MPI_IN_PLACE); }

/// Is a send of this call complete only when its receive has begun, if nothing is buffered?
inline bool needs_receive(const CallInfo& info) { return info.operation[0] != 'B'; }

/// A hash of what members of a collective give alike; 0: it has types that mean something only to
/// the rank.
uint64_t agreed_of(const CallRecord& call);

/// The source in a status that MPI has not filled in.
inline constexpr int kNotTold = -77;
/// In place of the error that a call returns: an error handler of the program's has thrown.
inline constexpr int kThrown = -1;

class Call {
 public:
  Call(Calls id, const void* place, int64_t* words);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  /// To be called when MPI has returned.
  void after(int result);

  /// Where MPI is to write the status: the program's place, or one of our own.
  MPI_Status* status(MPI_Status* of_program);
  MPI_Status* statuses(MPI_Status* of_program, int count);
  /// Its lists, which are empty where it has not used them.
  Lists& lists() { return lists_ ? *lists_ : *(lists_ = take_lists()); }
  bool has_lists() const { return lists_ != nullptr; }
  /// As the program gave them, of a call that completes or starts some.
  std::span<const MPI_Request> requests() const {
    return lists_ ? std::span<const MPI_Request>(lists_->requests) : std::span<const MPI_Request>();
  }
  /// MPI's request in place of one that only the program has.
  MPI_Request real(MPI_Request request);

  Rank* rank() const { return rank_; }
  bool nested() const { return !outer_; }
  const CallInfo& info() const { return kCalls[record_->id]; }
  const CallRecord& record() const { return *record_; }
  /// It, where the rank keeps it for the next call like it; else null.
  KeptCall* remembered_record() { return remembered_; }
  /// It, to be shared.
  Record kept() const { return remembered_ ? Record(remembered_) : Record(*record_); }
  /// Puts it there, where it may be already.
  void keep_in(Record* record) const {
    if (!remembered_ || record->get() != remembered_) *record = kept();
  }
  Waiting waiting() const { return {rank_, record_, remembered_}; }
  /// agreed_of() it.
  uint64_t agreed() const;
  int64_t at(int position) const { return record_->words[position]; }
  /// Of Positions.
  bool has(int8_t Positions::*where) const { return info().at.*where >= 0; }
  int64_t value(int8_t Positions::*where) const { return record_->at(info().at.*where); }
  const void* pointer(int8_t Positions::*where) const {
    return reinterpret_cast<const void*>(value(where));
  }
  /// Of other parameters, by name: the position or -1.
  int find(const char* name) const;
  findings::Participant me(const char* role = "") const {
    return participant(rank_, *record_, role);
  }
  /// The status of a call with one, or the i-th.
  const MPI_Status* told(int i = 0) const { return told_ ? told_ + i : nullptr; }
  bool status_read() const { return status_read_; }
  pthread_t thread() const { return thread_; }
  /// Might other threads of the process call MPI when it began? The level may rise before it
  /// returns.
  bool had_threads() const { return had_threads_; }

 private:
  friend struct Requests;
  void lock();
  void unlock();
  Lists* take_lists();
  void give_back();
  void more_after();

  void begin(Calls id, const void* place, const int64_t* words);
  void look();

  // What all calls use is together: when MPI returns, other ranks have run.
  Rank* rank_;
  const CallRecord* record_ = nullptr;
  KeptCall* remembered_ = nullptr;      ///< the record; null: it is own_
  int* calls_ = nullptr;                ///< counts this one
  const CallRecord* before_ = nullptr;  ///< what the rank was in
  Lists* lists_ = nullptr;
  MPI_Status* told_ = nullptr;
  /// Not a call that MPI makes in a call of the program (attributes' functions, errors' handlers).
  bool outer_ = false;
  bool locked_ = false;
  const bool had_threads_ = g_process.threads;
  bool reported_ = false;  ///< something was wrong with it before MPI made it
  bool status_read_ = true;

 public:
  bool alone = false;  ///< it is a blocking receive and no other is under way: not posted
  int send_to = -1;
  uint64_t message = 0;  ///< what it sends
  Comm* comm = nullptr;
  Shared<Posted> posted;  ///< its receive
  /// Where it is known from that it has one buffer, of all bytes between two places.
  const KeptCall* reach = nullptr;
  CollectiveCall collective;
  /// Handles that the call may change, by parameter: those of sets.used.
  uint64_t old[kMostArguments];

 private:
  pthread_t thread_ = pthread_self();
  MPI_Status own_status_;
  std::optional<CallRecord> own_;
};

/// Element i of an array of counts or displacements that a call is given: of type MPI_Count in the
/// large form, else of int.
inline int64_t number_in(const Call& call, int64_t array, int64_t i) {
  return call.info().large ? reinterpret_cast<const MPI_Count*>(array)[i]
                           : reinterpret_cast<const int*>(array)[i];
}

// handles.cc --------------------------------------------------------------------------------------
void look_at_handles(Call* call);
void note_handles(Call* call);
/// What a nonblocking call has made is there: its request is complete.
void note_made_by(Call* call, const CallRecord& nonblocking);
/// A rank has ended: what it has left.
void report_leftovers(Rank* rank);

// threads.cc --------------------------------------------------------------------------------------
/// May the calling thread, which is not the one that the rank has begun on, call MPI? If not, that
/// is reported; where any thread may make the call it is not, but what is known of the rank is not
/// this thread's to change.
bool may_call(Rank* rank, Calls id, const void* place, const int64_t* words);
/// Where there are threads: the call is inside from now on. What other threads are in at the same
/// time is looked at.
void enter_call(Call* call);
void leave_call(Call* call);
/// Its requests are known.
void look_at_other_completions(Call* call);

// repeated_messages.cc ----------------------------------------------------------------------------
/// More receives of the rank have begun, if no standard send were buffered: queues and senders are
/// told.
void note_posted(Rank* rank);

// requests.cc -------------------------------------------------------------------------------------
void look_at_requests(Call* call);
void note_requests(Call* call);
/// MPI_Request_get_status may have said that a request is complete.
void note_released(Call* call);
void report_requests_left(Rank* rank);
/// Makes operations of what is in Rank::begun.
void make_operations(Rank* rank);
/// The first request that a call waits for; nullptr: it waits for none.
const Operation* awaited_by(Rank* rank, const CallRecord& waiting);
MPI_Request real_request(Rank* rank, MPI_Request request);
/// A nonblocking collective that the rank has made before was begun: KeptCall::operation, which is
/// no longer there, is its.
void note_again(Rank* rank, KeptCall* call, const CollectiveCall& collective);
/// What the rank has under this request, if it is a nonblocking collective that note_waited() can
/// complete; else null.
Rank::Requests::Entry* repeated_wait(Rank* rank, MPI_Request request);
/// MPI_Wait has completed that.
void note_waited(const Waiting& wait, Rank::Requests::Entry* entry);

// buffers.cc --------------------------------------------------------------------------------------
/// Fills in which bytes so many elements cover.
void set_reach(Region* region, const Layout& layout);
void look_at_buffers(Call* call);
/// Might some of them overlap with what is under way, so that look_at_buffers() must look?
bool may_meet_pending(const Rank& rank, const Regions& regions);
/// One word more in a checksum.
inline uint64_t add_word(uint64_t sum, const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  sum = (sum ^ word) * kGoldenRatio;
  return sum ^ sum >> 32;
}
/// A checksum of the bytes between; of many, of the first and the last ones.
uint64_t checksum_of_any(const char* low, const char* high);
inline uint64_t checksum_between(const char* low, const char* high) {
  return high - low == 8 ? add_word(8, low) : checksum_of_any(low, high);
}
/// What an operation sends is not what it was when it began. REQUIRES: the rank is in the call that
/// completes it.
void report_changed(Rank* rank, const CallRecord& operation);
/// An operation starts: it owns all of its regions, but for a partitioned send, which gets each
/// when its partition is ready. A request of the rank is started: its memory is compared with that
/// of what is under way.
void look_at_started(Call* call, const Operation& operation);
void begin_regions(Rank* rank, int request, Operation* operation);
void end_regions(Rank* rank, int request, Operation* operation);
/// One of them begins, by this call, or ends, before the operation is complete.
void begin_region(Call* call, int request, Operation* operation, Region* region);
void end_region(Rank* rank, int request, Operation* operation, Region* region);

// neighbours.cc -----------------------------------------------------------------------------------
/// None where the communicator has no topology.
const Neighbours& neighbours_of(MPI_Comm comm, OwnComm* own);
/// How many parts the buffer of a collective has whose counts are in an array. `others`: the rank
/// that each is for; left as it is where the i-th is for rank i. Of intercommunicators 0: they are
/// not looked at.
int64_t parts_of(const Call& call, bool sends, OwnComm* own, const std::vector<int>** others);

// arguments.cc ------------------------------------------------------------------------------------
void look_at_arguments(Call* call);
/// Of the calls on a communicator that the rank remembers, or of all: a rank that looks computed is
/// noted after the job.
void write_ranks_given(Rank* rank, MPI_Comm comm = MPI_COMM_NULL);
void write_rank_given(Rank* rank, const CallRecord& call);
/// Is it what a wrong argument leads to?
bool is_of_argument(int error_class);
/// The call has returned an error, of which nothing was reported: a note, since the program may
/// have asked for it.
void note_error(const Rank* rank, const CallRecord& call, int result);

// messages.cc -------------------------------------------------------------------------------------
void look_at_messages(Call* call);
void note_messages(Call* call);
/// Adds a receive, which has this number, to those that are posted. Null: it takes no message.
Shared<Posted> post_as(Rank* rank, Record call, uint64_t number);
/// A blocking receive that was not posted, because no other was under way, has returned.
void received_alone(const Waiting& call, const MPI_Status* status, bool status_read);
/// A receive has failed: has it taken its message all the same?
bool is_taken(int result, const MPI_Status* status);
/// The call has failed: nothing was sent; a message that was too long is received, else none.
void undo_messages(Call* call, int result);
/// Fetches what will be read of the messages that these have taken.
void prefetch_messages(std::span<const Completed> done);
/// What the operation sends.
void set_message(Operation* operation, uint64_t message, int send_to, Comm* comm);
/// A persistent operation starts.
void start_message(Call* call, Operation* operation);
/// A receive of a request is complete. What it tells is looked at by sweep().
void received(Rank* rank, const Shared<Posted>& posted, const MPI_Status* status);
/// Looks at receives that are complete and wait for no earlier one.
void sweep(Rank* rank);
/// A receive whose request was freed: which message it takes is not seen.
void receive_forgotten(Rank* rank, const Shared<Posted>& posted);
/// An error is about to end the job: was a message too long for the receive that has taken it?
/// Reports it.
bool report_too_long(Rank* rank, const CallRecord& current);
/// A send of a request was cancelled.
void take_back(const Comm* comm, int send_to, uint64_t message);
void report_messages_left();
void on_message(const void* data, int bytes);

// partitioned.cc ----------------------------------------------------------------------------------
inline bool is_partitioned(const CallInfo& info) {
  return info.role == Role::kPartitionedSend || info.role == Role::kPartitionedReceive;
}
/// How many partitions the call gives memory for; 0: none, or too many to be looked at one by one.
int64_t partitions_followed(const CallRecord& call);
/// A partitioned request was made: sends are told to the receiver's process.
void note_partitioned(Call* call, Operation* op);
/// A call that starts, frees or completes it is about to be made.
void look_at_partitioned(Call* call, Operation* op);
/// They are about to be made ready.
void look_at_partitions(Call* call);
/// Partitions are ready, or MPI_Parrived has said whether one is there.
void note_partitions(Call* call);
/// What an active request lacks, where that is known: "partition 2 is not ready"; else empty.
std::string why_incomplete(const Operation& op);
/// While MPI polls: nothing of MPI is called.
void on_partitioned(const void* data, size_t bytes);
void report_partitioned_left();

// races.cc ----------------------------------------------------------------------------------------
/// A receive, probe or completion whose result depends on what comes first is complete: the rank's
/// own clock goes on.
uint32_t next_event(Rank* rank);
/// A synchronous send is complete: its receive had begun.
void learn_of_synchronous(Rank* rank, int send_to);
/// The receive has taken the message.
void note_taken(Rank* rank, const Message& message, const Posted& receive);
/// MPI_Probe or MPI_Iprobe has found a message.
void note_probed(Call* call, const Message& message);
/// A call has completed some of a list of requests.
void note_passed(Call* call, std::span<const Completed> done);
/// Could a receive or probe of any source, earlier than the receive with this number, have had the
/// message instead?
bool could_be_of_earlier(Rank* rank, const Message& message, const Comm* comm, uint64_t number);
/// The message was never taken.
void note_untaken(Rank* rank, const Message& message, const Comm* comm);
/// The rank has ended: what was still to be decided.
void report_races(Rank* rank);

// windows.cc --------------------------------------------------------------------------------------
/// The library is to tell of accesses that conflict. Called when this library is loaded.
void follow_conflicts();
/// A call with a window was made.
void note_epochs(Call* call);
/// A call begins: tells the library of the loads and stores in exposed memory that the program has
/// made since the last one.
void tell_exposed_accesses(Call* call);
/// The same while the rank is in no call. REQUIRES: there are no threads.
void tell_touched_now(Rank* rank);
/// A call has returned: may accesses to the rank's windows meet operations that are under way?
/// REQUIRES: it owns memory.
void look_for_exposed(Rank* rank);
/// Was an error of this class made by what an epoch allows?
bool is_of_epochs(int error_class);
/// Adds the calls that have begun the epochs of the window which a call is given.
void add_epochs(const Rank* rank, const CallRecord& call,
                std::vector<findings::Participant>* calls);
void report_epochs_left(Rank* rank);

// files.cc ----------------------------------------------------------------------------------------
/// The library is to tell where accesses by shared pointers begin. Called when the process is set
/// up.
void follow_places();
/// Before a call: an access to a file is written down.
void look_at_files(Call* call);
/// A call of the topic of files was made.
void note_files(Call* call);

// agreement.cc ------------------------------------------------------------------------------------
void look_at_collective(Call* call);
/// While MPI polls: nothing of MPI is called but MPIX_Tool_notify.
void on_agreement(int process, const void* data, int bytes);
void report_disagreements();
void report_collectives_left();
/// MPI has made the call: the rank knows what those have known that it has waited for.
void leave_collective(Rank* rank, const CallInfo& info, const CollectiveCall& call);
/// An error is about to end the job: waits, not for long, for what other processes know of the
/// calls.
void ask_others();

// pairs.cc ----------------------------------------------------------------------------------------
/// What is held back of collective calls that not all members here have made goes to others.
void tell_held();

// life.cc -----------------------------------------------------------------------------------------
/// What a call that returns from MPI has to look at, which most often is nothing.
enum Attention : uint32_t {
  kArrived = 1,         ///< something has come in from other processes
  kThreads = 2,         ///< Process::threads
  kDeadlockIsTold = 4,  ///< Process::deadlock is not empty
  kOpensGroups = 8,     ///< Process::opens_groups
};
extern std::atomic<uint32_t> g_attention;
/// REQUIRES: kArrived.
void take_all_arrived();
/// Looks at what has come in from other processes.
inline void take_arrived() {
  if (g_attention.load(std::memory_order_acquire) & kArrived) take_all_arrived();
}
void rank_ends(Rank* rank);
/// A rank goes on: what was reported as a deadlock was none, because another job or the limit of
/// buffering has given way.
void withdraw_deadlock();

}  // namespace fgmpi::check
