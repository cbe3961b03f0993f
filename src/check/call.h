// One MPI call of the program: what is checked before MPI makes it and after MPI has returned.
//
// The aspects of a call are checked by rules (rules.def), which are functions of other files:
// handles.cc objects and leaks, requests.cc requests, buffers.cc memory, arguments.cc single
// arguments, messages.cc sends and receives, agreement.cc collectives.
// Thread rule: as rank.h. The first check that meets a new communicator may switch.
#pragma once

#include <atomic>
#include <optional>
#include <span>

#include "check/rank.h"
#include "check/rules.h"
#include "watch/interpose.h"
#include "watch/words.h"

namespace fgmpi::check {

using watch::argument;
using watch::word;

/// The value of MPI_IN_PLACE among the arguments of a call.
inline int64_t word_of_in_place() { return word(MPI_IN_PLACE); }

/// If nothing is buffered, is a send by this call complete only when its receive has begun?
inline bool needs_receive(const CallInfo& info) { return info.operation[0] != 'B'; }

/// Does the call give MPI_IN_PLACE in a collective where all members give it, or none does?
inline bool is_in_place_for_all(const CallRecord& call) {
  const CallInfo& info = call.info();
  switch (info.collective) {
    case Collective::kAllgather:
    case Collective::kAllgatherv:
    case Collective::kAlltoall:
    case Collective::kAlltoallv:
    case Collective::kAlltoallw:
    case Collective::kAllreduce:
      return call.at(info.at.send_buffer) == word_of_in_place();
    default:
      return false;
  }
}

/// A hash of the arguments that all members of a collective must give alike; 0 where a datatype
/// handle among them has a meaning only in its rank.
uint64_t agreed_of(const CallRecord& call);

/// The source in a status that MPI has not filled in: no rank or constant of MPI has this value.
inline constexpr int kNoSource = -77;
/// Where MPI writes the status of a call.
class CallStatus {
 public:
  /// Returns the program's address, or that of this object's own status where the program ignores
  /// it. `receives`: whether MPI has written the status shows whether a message was received.
  /// REQUIRES: the address is not null, if the call receives.
  [[gnu::always_inline]] MPI_Status* choose(MPI_Status* of_program, bool receives) {
    is_read_ = of_program != MPI_STATUS_IGNORE;
    written_ = is_read_ ? of_program : &own_;
    if (receives) written_->MPI_SOURCE = kNoSource;
    return written_;
  }
  /// Sets an array of statuses.
  void set(MPI_Status* statuses, bool is_read) {
    written_ = statuses;
    is_read_ = is_read;
  }
  void clear_own() { std::memset(&own_, 0, sizeof own_); }
  /// The status, or the first of them; null where the call has none.
  const MPI_Status* written() const { return written_; }
  bool is_read() const { return is_read_; }

 private:
  MPI_Status* written_ = nullptr;
  bool is_read_ = true;
  MPI_Status own_;
};

/// Replaces the result of a call when the program's error handler has thrown an exception.
inline constexpr int kThrown = -1;

class CheckedCall {
 public:
  CheckedCall(Calls id, const void* place, int64_t* words);
  ~CheckedCall();
  CheckedCall(const CheckedCall&) = delete;
  CheckedCall& operator=(const CheckedCall&) = delete;
  /// REQUIRES: MPI has returned.
  void after(int result);

  /// Where MPI shall write the status: at the program's address, or in this object if the program
  /// ignores statuses.
  MPI_Status* status(MPI_Status* of_program);
  MPI_Status* statuses(MPI_Status* of_program, int count);
  /// The lists of the call; empty until it first uses them.
  Lists& lists() { return lists_ ? *lists_ : *(lists_ = borrow_lists()); }
  bool has_lists() const { return lists_ != nullptr; }
  /// The requests that the program gave to a call which completes or starts some.
  std::span<const MPI_Request> requests() const {
    return lists_ ? std::span<const MPI_Request>(lists_->requests) : std::span<const MPI_Request>();
  }
  /// MPI's own request in place of a handle that only the program has (kFirstSent).
  MPI_Request real(MPI_Request request);
  std::vector<MPI_Request> real(const MPI_Request* requests, int count);

  Rank* rank() const { return rank_; }
  bool nested() const { return !outer_; }
  const CallInfo& info() const { return kCalls[record_->id]; }
  const CallRecord& record() const { return *record_; }
  /// The record, where the rank remembers it for the next call like it; else null.
  RememberedCall* remembered_record() { return remembered_; }
  /// The record, to be shared.
  SharedCall kept() const { return remembered_ ? SharedCall(remembered_) : SharedCall(*record_); }
  /// Stores kept() in `record`, unless it is there already.
  void keep_in(SharedCall* record) const {
    if (!remembered_ || record->get() != remembered_) *record = kept();
  }
  WaitingCall waiting() const { return {rank_, record_, remembered_}; }
  /// agreed_of() of the record.
  uint64_t agreed() const;
  int64_t at(int position) const { return record_->words[position]; }
  /// Access to the arguments that Positions names.
  bool has(int8_t Positions::*where) const { return info().at.*where >= 0; }
  int64_t value(int8_t Positions::*where) const { return record_->at(info().at.*where); }
  const void* pointer(int8_t Positions::*where) const {
    return reinterpret_cast<const void*>(value(where));
  }
  /// The position of another parameter, by its name; -1 where the call has none of that name.
  int find(const char* name) const;
  findings::Participant me(const char* role = "") const {
    return participant(rank_, *record_, role);
  }
  /// The status that MPI has written, or the i-th of them; null where the call has none.
  const MPI_Status* written_status(int i = 0) const {
    return status_.written() ? status_.written() + i : nullptr;
  }
  bool status_read() const { return status_.is_read() && !status_unread_; }
  /// Nothing in the program reads the source in the status that MPI fills in.
  void leave_status_unread() { status_unread_ = true; }
  /// What MPI has returned. REQUIRES: MPI has returned.
  int result() const { return result_; }
  /// Is the call in a function that the program has given to MPI, or does a finding explain the
  /// error that the call has returned?
  bool is_error_explained() const {
    return !outer_ || reported_ || g_process.reports != reports_at_error_;
  }
  pthread_t thread() const { return thread_; }
  /// Could other threads of the process call MPI when this call began? The thread level may rise
  /// before it returns.
  bool had_threads() const { return had_threads_; }

 private:
  friend struct Requests;
  void lock();
  void unlock();
  Lists* borrow_lists();
  void return_lists();
  /// Runs the rules of the set that belong to the phase.
  template <RulePhase kPhase>
  void run_rules(RuleSet set);

  void begin(Calls id, const void* place, const int64_t* words);
  void check_arguments();

  // Members that all calls use are adjacent, because other ranks may have run before MPI returns.
  Rank* rank_;
  const CallRecord* record_ = nullptr;
  RememberedCall* remembered_ =
      nullptr;            ///< the record where the rank remembers it; null: it is own_
  int* calls_ = nullptr;  ///< the counter that includes this call
  const CallRecord* before_ = nullptr;  ///< the call that the rank was in before
  Lists* lists_ = nullptr;
  /// False for a call that MPI makes within a call of the program (attribute functions,
  /// error handlers).
  bool outer_ = false;
  bool locked_ = false;
  const bool had_threads_ = g_process.threads;
  bool reported_ = false;  ///< a finding was reported before MPI made the call
  int result_ = MPI_SUCCESS;
  uint64_t reports_at_error_ = 0;  ///< Process::reports when MPI returned the error

 public:
  /// A blocking receive with no other pending: it is not entered in Rank::posted
  bool alone = false;
  int receiver_world = -1;
  uint64_t message_id = 0;  ///< the id of the message that it sends
  CheckedComm* comm = nullptr;
  RefPtr<CheckedReceive> posted;  ///< the receive that it posts
  /// The record whose `low` and `bytes` describe the call's only buffer; null where
  /// that is unknown.
  const RememberedCall* reach = nullptr;
  CollectiveCall collective;
  /// Lists::regions has the call's buffers.
  bool buffers_collected = false;
  /// The values of handles that the call may change, by parameter (sets.used).
  uint64_t old[kMostArguments];

 private:
  pthread_t thread_ = pthread_self();
  CallStatus status_;
  bool status_unread_ = false;
  std::optional<CallRecord> own_;
};

/// Element i of an array of counts or displacements among the arguments. Its elements have type
/// MPI_Count in the large form of a call, else int.
inline int64_t number_in(const CheckedCall& call, int64_t array, int64_t i) {
  return call.info().large ? reinterpret_cast<const MPI_Count*>(array)[i]
                           : reinterpret_cast<const int*>(array)[i];
}

// handles.cc --------------------------------------------------------------------------------------
void check_handles_before(CheckedCall* call);
void record_handles_after(CheckedCall* call);
/// A nonblocking creation is complete: the rank owns the new object.
void record_handles_made_by(CheckedCall* call, const CallRecord& nonblocking);
/// A rank has ended: reports the objects that it has not freed.
void report_leftovers(Rank* rank);

// threads.cc --------------------------------------------------------------------------------------
/// May the calling thread, which is not the rank's first thread, call MPI? Reports it where MPI
/// forbids the call. Where any thread may make the call there is no finding, but the answer is no,
/// too: the call then bypasses the checker, because this thread must not change the rank's state.
bool may_call(Rank* rank, Calls id, const void* place, const int64_t* words);
/// Reports the calls for which may_call() has answered no. Not from there: the rank's first thread
/// may be in the checker at that time.
void report_forbidden_calls();
/// Where there are threads: records that the call is in progress, and compares it with the calls
/// that other threads of the rank are in.
void enter_call(CheckedCall* call);
void leave_call(CheckedCall* call);
/// Compares the call's requests, once they are known, with those that other threads are completing.
void check_concurrent_completions(CheckedCall* call);

// thread_calls.cc ---------------------------------------------------------------------------------
/// These two follow the threads of a rank: the first is called before MPI makes the call, the
/// second when MPI has made it.
void begin_threaded_call(CheckedCall* call);
void end_threaded_call(CheckedCall* call);
/// In a deadlock: reports threads of the rank that wait for a mutex whose owner waits in MPI.
/// Returns whether there are any.
bool report_blocked_threads(Rank* rank);
/// Adds the places at which threads of the rank wait for others: condition variables and the like.
void add_awaiting_threads(Rank* rank, std::vector<findings::Participant>* calls);
/// The operation begins, or ends, to use its regions.
void begin_threaded_use(Rank* rank, const RequestOperation& operation);
void end_threaded_use(Rank* rank, const RequestOperation& operation);

// repeated_messages.cc ----------------------------------------------------------------------------
/// More receives of the rank have begun in the unbuffered run (unbuffered.h): updates their queues
/// and the senders.
void record_posted_receives(Rank* rank);

// requests.cc -------------------------------------------------------------------------------------
void check_requests_before(CheckedCall* call);
void record_requests_after(CheckedCall* call);
/// MPI_Request_get_status or one of its array forms may have reported requests as complete.
void record_released_requests(CheckedCall* call);
void report_requests_left(Rank* rank);
/// Makes an RequestOperation of each element of Rank::begun.
void make_operations(Rank* rank);
/// The operation behind the first request that a call waits for; null where it waits for none.
const RequestOperation* awaited_by(Rank* rank, const CallRecord& waiting);
MPI_Request real_request(Rank* rank, MPI_Request request);
/// The request or array of requests that a call is given as this parameter.
struct RequestList {
  MPI_Request* list;
  int64_t count;
};
[[gnu::always_inline]] inline RequestList requests_of(const CallRecord& call, int position) {
  const Parameter& p = call.info().parameters[position];
  return {reinterpret_cast<MPI_Request*>(call.words[position]), p.array ? call.words[p.length] : 1};
}
/// MPI has made a request. Where its handle is the one of all sends that are complete at once, it
/// gets one of its own.
inline void give_own_handle(Rank* rank, MPI_Request* request) {
  if (*request == kSentHandle) *request = next_sent_handle(rank);
}
/// MPI has returned from a call with these requests: the program gets its own handles back for
/// requests that are not complete. `given`: the handles that the program gave.
inline void restore_own_handles(std::span<MPI_Request> list, std::span<const MPI_Request> given) {
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i] == kSentHandle) list[i] = given[i];
}
/// The rank has begun a nonblocking collective that it has made before: the operation stored in
/// RememberedCall::operation is entered into the table again, and leaves that member.
void record_repeated_collective(Rank* rank, RememberedCall* call, const CollectiveCall& collective);
/// The entry of this request, if it is a nonblocking collective that record_waited_collective() can
/// complete; else null.
Rank::Requests::TableEntry* repeated_wait(Rank* rank, MPI_Request request);
/// MPI_Wait has completed the entry that repeated_wait() returned.
void record_waited_collective(const WaitingCall& wait, Rank::Requests::TableEntry* entry);

// buffers.cc --------------------------------------------------------------------------------------
/// Fills in which bytes the region's `count` elements cover.
void set_reach(Region* region, const TypeLayout& layout);
/// The memory that the call uses, as far as it is known.
const Regions& buffers_of(CheckedCall* call);
/// Fills Lists::regions with the buffers of the call.
void collect_buffers(CheckedCall* call);
/// Rules (rules.def): do two buffers of the call overlap, and does one overlap with a buffer of a
/// pending operation?
void check_own_buffers(CheckedCall* call);
void check_pending_buffers(CheckedCall* call);
/// Might some of the regions overlap with pending ones, so that check_pending_buffers()
/// must compare them?
bool may_meet_pending(const Rank& rank, const Regions& regions);
/// Extends a checksum by 8 bytes.
inline uint64_t add_word(uint64_t sum, const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  sum = (sum ^ word) * kGoldenRatio;
  return sum ^ sum >> 32;
}
/// A checksum of the bytes in [low, high); for long buffers of the first and last bytes only.
uint64_t checksum_of_any(const char* low, const char* high);
inline uint64_t checksum_between(const char* low, const char* high) {
  return high - low == 8 ? add_word(8, low) : checksum_of_any(low, high);
}
/// The data that an operation sends has changed since it began. REQUIRES: the rank is in the call
/// that completes the operation.
void report_changed(Rank* rank, const CallRecord& operation);
/// A request of the rank starts: its memory is compared with that of pending operations.
void check_started_buffers(CheckedCall* call, const RequestOperation& operation);
/// The operation owns all of its regions from now on. A partitioned send owns each region only when
/// its partition is ready.
void begin_regions(Rank* rank, int request, RequestOperation* operation);
void end_regions(Rank* rank, int request, RequestOperation* operation);
/// One region begins, by this call, or ends before the operation is complete.
void begin_region(CheckedCall* call, int request, RequestOperation* operation, Region* region);
void end_region(Rank* rank, int request, RequestOperation* operation, Region* region);

// program_objects.cc ------------------------------------------------------------------------------
/// For programs that were compiled with -check: do the call's buffers fit the types and the memory
/// that the program has for them?
void check_program_objects(CheckedCall* call);
/// Does a buffer on the stack of the rank's first thread reach beyond it? Other memory may follow
/// the stack, so that such a call need not crash.
void check_stack_end(CheckedCall* call);
/// Has a function returned whose variables a pending operation uses? `place`: as the call's;
/// `frame`: the address of a frame of this library that the call is in.
void check_frames(CheckedCall* call, const void* place, const char* frame);

// neighbours.cc -----------------------------------------------------------------------------------
/// The neighbours in the topology of the communicator; none where it has no topology.
const Neighbours& neighbours_of(MPI_Comm comm, OwnComm* own);
/// The number of parts in a buffer of a collective whose counts are in an array. `others` receives
/// the rank that each part is for; it is unchanged where part i is for rank i. 0 for
/// intercommunicators, whose parts are not checked.
int64_t parts_of(const CheckedCall& call, bool sends, OwnComm* own,
                 const std::vector<int>** others);

// arguments.cc ------------------------------------------------------------------------------------
/// Rules (rules.def): are the datatypes of buffers committed, and have two results of the call
/// different addresses?
void check_types_committed(CheckedCall* call);
void check_results_apart(CheckedCall* call);
/// Rules: do entries of a datatype overlap that the call receives with, and does the operation take
/// the datatype at every library?
void check_received_types(CheckedCall* call);
void check_operation_types(CheckedCall* call);
/// Rule: is the key MPI_TAG_UB used as a tag?
/// Do the origin's types match those of the target of a one-sided operation?
void check_target_types(CheckedCall* call);
void check_tags(CheckedCall* call);
/// Writes the ranks given in the remembered calls on a communicator, or in all of them, to the
/// spool. After the job, ranks that look computed are reported in a note.
void write_ranks_given(Rank* rank, MPI_Comm comm = MPI_COMM_NULL);
/// Writes the targets that calls gave in a window to the spool, before the window is forgotten.
void write_targets_given(Rank* rank, MPI_Win window);
void write_rank_given(Rank* rank, const CallRecord& call);
/// Is this error class one that a wrong argument causes?
bool is_of_argument(int error_class);
/// The call has returned an error for which there is no finding: makes a note of it. The program
/// may have provoked the error.
void report_error_result(const Rank* rank, const CallRecord& call, int result);
/// report_error_result() unless another finding explains the error.
void report_error_after(CheckedCall* call);

// messages.cc -------------------------------------------------------------------------------------
void check_messages_before(CheckedCall* call);
void record_messages_after(CheckedCall* call);
/// Adds a receive with this number to Rank::posted. Null where it matches no message.
RefPtr<CheckedReceive> post_as(Rank* rank, SharedCall call, uint64_t number);
/// A blocking receive that was not entered in Rank::posted has returned.
void record_lone_receive(const WaitingCall& call, const MPI_Status* status, bool status_read);
/// Has a receive that failed nevertheless matched its message?
bool has_matched_despite_error(int result, const MPI_Status* status);
/// A blocking send has returned.
void record_send_after(CheckedCall* call);
/// A call that has failed after it sent a message or while it received one.
struct FailedCall {
  WaitingCall call;
  int result = MPI_SUCCESS;
  const CheckedComm* comm = nullptr;  ///< null: it has sent no message
  int receiver_world = -1;
  uint64_t message_id = 0;
  bool receives_alone = false;  ///< CheckedCall::alone
  const MPI_Status* status = nullptr;
  bool status_read = false;
  RefPtr<CheckedReceive> posted = {};
};
/// The call has failed: its message is withdrawn, because nothing was sent. A receive counts as
/// matched only if its message was too long.
void undo_messages(const FailedCall& failed);
void undo_messages(CheckedCall* call);
/// undo_messages() for a repeated call, and report_error_result() unless that makes a finding.
void record_repeated_error(const FailedCall& failed);
/// Prefetches the messages that these requests have matched.
void prefetch_messages(std::span<const CompletedEntry> done);
/// Sets what the operation sends.
void set_message(RequestOperation* operation, uint64_t message_id, int receiver_world,
                 CheckedComm* comm);
/// The message of a persistent operation that starts.
void start_message(CheckedCall* call, RequestOperation* operation);
/// A receive of a request is complete. sweep() checks its message.
void record_receive_complete(Rank* rank, const RefPtr<CheckedReceive>& posted,
                             const MPI_Status* status);
/// Checks the receives that are complete and have no incomplete receive before them.
void sweep(Rank* rank);
/// The program has freed the request of a receive, so nobody sees which message it matches.
void record_freed_receive(Rank* rank, const RefPtr<CheckedReceive>& posted);
/// An error is about to end the job: reports it if a message was too long for the receive that
/// matched it. Returns whether it was.
bool report_too_long(Rank* rank, const CallRecord& current);
/// The send of a request was cancelled.
void withdraw_message(const CheckedComm* comm, int receiver_world, uint64_t message_id);
void report_messages_left();
void on_message(const void* data, int bytes);

// unmatched.cc ------------------------------------------------------------------------------------
/// The rank waits for ever, in `call`, for `awaited` or for the call itself where that is null. If
/// it receives, adds messages for the rank that it would receive with other arguments.
void add_unmatched_messages(Rank* rank, const CallRecord& call, const RequestOperation* awaited,
                            std::vector<findings::Participant>* calls);

// partitioned.cc ----------------------------------------------------------------------------------
inline bool is_partitioned(const CallInfo& info) {
  return info.role == CallRole::kPartitionedSend || info.role == CallRole::kPartitionedReceive;
}
/// The number of partitions for which the call gives memory; 0: none, or too many to follow each.
int64_t partitions_followed(const CallRecord& call);
/// A partitioned request was made: a send is announced to the receiver's process.
void record_partitioned_after(CheckedCall* call, RequestOperation* op);
/// The program is about to start, free or complete the operation.
void check_partitioned_before(CheckedCall* call, RequestOperation* op);
/// The program is about to make partitions ready.
void check_partitions_before(CheckedCall* call);
/// The program has made partitions ready, or MPI_Parrived has returned whether one has arrived.
void record_partitions_after(CheckedCall* call);
/// What an active request still lacks, where that can be found out: "partition 2 is not
/// ready"; else empty.
std::string why_incomplete(const RequestOperation& op);
/// Called while MPI polls, so it calls nothing of MPI.
void on_partitioned(const void* data, size_t bytes);
void report_partitioned_left();

// ready_sends.cc ----------------------------------------------------------------------------------
/// Does the program call functions that make ready sends?
bool program_sends_ready();
/// A receive begins: an event, where the program makes ready sends.
void record_receive_begun(Rank* rank, CheckedReceive* receive);
/// Compares a ready send with the begin of the receive that has matched it.
void check_ready_send(Rank* rank, const QueuedMessage& message, const CheckedReceive& receive);

// races.cc ----------------------------------------------------------------------------------------
/// A receive, probe or completion whose result depends on which message comes first is complete:
/// advances the rank's own clock.
uint32_t next_event(Rank* rank);
/// A synchronous send is complete, so its receive has begun.
void record_synchronous_end(Rank* rank, int receiver_world);
/// The receive has matched the message.
void record_matched_message(Rank* rank, const QueuedMessage& message,
                            const CheckedReceive& receive);
/// MPI_Probe or MPI_Iprobe has found a message.
void record_probed_message(CheckedCall* call, const QueuedMessage& message);
/// A call has completed some of a list of requests, but not all.
void record_passed_receives(CheckedCall* call, std::span<const CompletedEntry> done);
/// Could an earlier receive or probe of MPI_ANY_SOURCE, before the receive with this number, have
/// matched the message instead?
bool could_be_of_earlier(Rank* rank, const QueuedMessage& message, const CheckedComm* comm,
                         uint64_t number);
/// No receive has matched the message.
void check_unreceived_message(Rank* rank, const QueuedMessage& message, const CheckedComm* comm);
/// The rank has ended: decides the cases that were still open.
void report_races(Rank* rank);

// windows.cc --------------------------------------------------------------------------------------
/// Registers for the conflicts of accesses that the library finds. Called when this
/// library is loaded.
void follow_conflicts();
/// The call imposes an order on ranks that is not tracked.
void record_unknown_order(CheckedCall* call);
/// A call with a window has returned.
void record_epochs_after(CheckedCall* call);
/// The window that a call uses; MPI_WIN_NULL: none.
MPI_Win window_of(const CallRecord& call);
/// A call begins: passes to the library the loads and stores that the program has made in exposed
/// memory since the last call.
void compare_exposed_accesses(CheckedCall* call);
/// As compare_exposed_accesses(), while the rank is in no call. REQUIRES: the process has
/// no other threads.
void compare_touched_now(Rank* rank);
/// A call has returned: sets which windows' memory must be checked against pending operations.
/// REQUIRES: the rank has an OwnedMemory.
void update_exposed(Rank* rank);
/// Is this error class caused by what an epoch does not allow?
bool is_of_epochs(int error_class);
/// Adds the calls that began the current epochs of the window which the call is given.
void add_epochs(const Rank* rank, const CallRecord& call,
                std::vector<findings::Participant>* calls);
void report_epochs_left(Rank* rank);

// windows_order.cc --------------------------------------------------------------------------------
/// Registers for the order of accesses to windows. Called before the library knows of
/// follow_conflicts().
void follow_order();
/// A call of a rank with windows begins: what the rank may have found in its memory counts as known
/// from now on. For repeated calls, which have no buffers there, learn_of_updates_quickly()
/// suffices.
void learn_of_windows(CheckedCall* call);
/// The call that the calling thread is in; null: none.
const CallRecord* call_here(const Rank* rank);
/// Do buffers of the call lie in memory of the rank's windows?
bool uses_windows(const CheckedCall& call);
/// The rank may know of all events of all ranks, because of a call whose order is not tracked.
void learn_everything(Rank* rank);
/// The call of a rank with windows is complete, and has written these regions. `status`: of a
/// receive.
void record_used_memory(Rank* rank, const CallRecord& call, const Regions& regions,
                        const MPI_Status* status);
/// Does so for a blocking call that has memory of a window among its buffers.
void record_used_memory_after(CheckedCall* call);

// epochs.cc ---------------------------------------------------------------------------------------
/// Before MPI_Win_fence and MPI_Win_free: have the operations since the last fence been completed,
/// and do the assertions hold?
void check_epochs_before(CheckedCall* call);
/// The rank's own memory in a window has been changed since the last fence, for MPI_MODE_NOSTORE.
void record_change(Rank* rank, uintptr_t low, uintptr_t high,
                   const findings::Participant& participant);
/// An operation of one-sided communication, or MPI_Win_fence, has returned.
void record_operation(const CheckedCall& call, Epochs* epochs);
void record_fence(const CheckedCall& call, Epochs* epochs);

// files.cc ----------------------------------------------------------------------------------------
/// Registers for the offsets at which accesses by shared file pointers begin. Called when the
/// process is set up.
void follow_places();
/// Before a call: writes an access to a file to the spool.
void check_files_before(CheckedCall* call);
/// A call of MPI's chapter on files has returned.
void record_files_after(CheckedCall* call);

// agreement.cc ------------------------------------------------------------------------------------
void check_collective_before(CheckedCall* call);
void record_collective_after(CheckedCall* call);
/// Called while MPI polls, so it calls nothing of MPI but MPIX_Tool_notify.
void on_agreement(int process, const void* data, int bytes);
void report_disagreements();
void report_collectives_left();
/// MPI has returned: the rank learns the clocks of the members that it has waited for.
void leave_collective(Rank* rank, const CallInfo& info, const CollectiveCall& call);
/// An error is about to end the job: waits for a short time (README) for what other processes have
/// announced of the calls.
void ask_others();

// early.cc ----------------------------------------------------------------------------------------
/// A rank of another process has entered a collective call that it knew a rank of this one had
/// left.
void on_left_early(const void* data, size_t bytes);

// pairs.cc ----------------------------------------------------------------------------------------
/// Sends the pieces about collective calls that are held back until all members here have called.
void send_held_details();

// life.cc -----------------------------------------------------------------------------------------
/// What a call that returns from MPI must check; in most calls no bit is set.
enum Attention : uint32_t {
  kArrived = 1,         ///< notices from other processes have arrived
  kThreads = 2,         ///< Process::threads
  kDeadlockIsTold = 4,  ///< Process::deadlock is not empty
  kOpensGroups = 8,     ///< Process::opens_groups
};
extern std::atomic<uint32_t> g_attention;
/// REQUIRES: kArrived.
void handle_all_arrived();
/// Handles the notices that have arrived from other processes.
inline void handle_arrived() {
  if (g_attention.load(std::memory_order_acquire) & kArrived) handle_all_arrived();
}
void rank_ends(Rank* rank);
/// Sets which findings are written, and where: as the process begins, or before a finding that
/// comes earlier.
void open_spool();

// ends.cc -----------------------------------------------------------------------------------------
/// Registers for ranks that leave without MPI_Finalize and for crashes. Called when this library is
/// loaded.
void follow_ends();
/// An error is about to end the job, of a rank that is in no call which is watched: reports it,
/// with the line that the call stack tells.
void report_unwatched_error(const Rank* rank, const char* text);

/// A rank of a reported deadlock goes on, because another job or the limit of buffering has given
/// way: withdraws the findings.
void withdraw_deadlock();
/// MPI has returned from a call: handles what others have caused meanwhile.
inline void attend_to_others() {
  handle_arrived();
  if (!g_process.deadlock.empty()) withdraw_deadlock();
}

}  // namespace fgmpi::check
