// Sends and receives that the rank has made before, and the calls that wait for them (repeated.h).
//
// A nonblocking operation leaves a PendingOperation (rank.h). Before the rank makes a call that
// this file does not handle, or somebody asks what the rank waits for, make_operations() turns
// every PendingOperation into the RequestOperation that CheckedCall would have made.
//
// Everything that each call of a loop does is inlined into the wrapper of its function: otherwise
// function calls would take a third of the time. Thread rule: as CheckedCall (call.h). Never
// switches.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "check/messages/messages.h"
#include "check/repeated/repeated.h"

namespace fgmpi::check {

// The bits of RememberedCall::known hold for the rank's current epoch here, because repeated_call()
// has checked that.

/// Are the call's messages and their destination known?
[[gnu::always_inline]] inline bool can_send(const RememberedCall& call, const KnownQueue& to) {
  constexpr uint32_t kLocal = RememberedCall::kProperties | RememberedCall::kSendsTo;
  if ((call.known & kLocal) == kLocal) return to.is_there();
  return (call.known & RememberedCall::kProperties) && call.properties.receiver_world >= 0 &&
         !is_local(call.properties.receiver_world);
}

/// Does the call receive from one known queue, and is each earlier pending receive known to match
/// from one known queue as well?
inline bool can_receive(const Rank& rank, const RememberedCall& call) {
  return rank.in_turn && (call.known & RememberedCall::kReceivesFrom) && call.queue().is_there();
}

/// A hash of a buffer's address, size and use. Rank::pending_sum is the sum of these hashes.
inline uint64_t reach_of(const char* low, uint64_t bytes, bool writes) {
  uint64_t hash = reinterpret_cast<uintptr_t>(low) * kGoldenRatio ^ (bytes << 1 | writes);
  hash = (hash ^ hash >> 32) * kGoldenRatio;
  return hash ^ hash >> 29;
}

/// Is the call's buffer apart from those of all pending operations? REQUIRES:
/// RememberedCall::kReach.
bool recheck_disjoint(const Rank& rank, RememberedCall* call, bool writes);
[[gnu::always_inline]] inline bool is_beside(const Rank& rank, RememberedCall* call, bool writes) {
  return (call->messages.beside == rank.pending_sum && (call->known & RememberedCall::kBeside)) ||
         recheck_disjoint(rank, call, writes);
}

/// Is no receive pending that matches from the same queue? Behind one, a blocking receive would
/// have to wait for its turn.
bool is_first(const Rank& rank, const RememberedCall& call);

/// A receive has begun that will match the next message of a queue. The sender of that message is
/// notified now, or when the message arrives.
void begin_receive_from_list(MessageQueue* queue);
[[gnu::always_inline]] inline void begin_receive_from(MessageQueue* queue) {
#pragma GCC unroll 2
  for (uint16_t i = 0; i < queue->placed_count; ++i) {
    PlacedMessage& one = queue->placed[i];
    if (one.receive_begun) continue;
    one.receive_begun = 1;
    return announce_placed_receive(queue, one);
  }
  if (queue->list) return begin_receive_from_list(queue);
  ++queue->receives_waiting;
}

/// The 64-bit count whose lower half is `half`. `last` is the newest count, less than
/// 2^32 ahead of it.
inline uint64_t with_lower_half(uint64_t last, uint32_t half) {
  return last - (static_cast<uint32_t>(last) - half);
}
/// The id of the message of a pending send.
inline uint64_t message_id_of(const Rank& rank, const PendingOperation& send) {
  return message_id(rank, send.id);
}
inline uint64_t receive_number_of(const Rank& rank, const PendingOperation& receive) {
  return with_lower_half(rank.next_posted, receive.id);
}

/// The message that a complete receive has matched, and the queue in which it was.
struct RemovedMessage {
  PlacedMessage message;  ///< id 0: there is none
  MessageQueue* queue = nullptr;
};

/// Removes the message of a complete receive from its queue. remove_other_message() does so where
/// the message differs from those matched before.
RemovedMessage remove_other_message(Rank* rank, RememberedCall* call);
[[gnu::always_inline]] inline RemovedMessage remove_message(Rank* rank, RememberedCall* call) {
  const KnownQueue from = call->queue();
  MessageQueue* queue = from.queue;
  const bool fits = from.is_there() && queue->placed_count &&
                    queue->signature_name == call->messages.matched_signature &&
                    queue->signature_name &&
                    call->is_known(rank->epoch, RememberedCall::kSignatureMatched);
  if (!fits) return remove_other_message(rank, call);
  if (queue->near_name != rank->knows.near_name()) rank->knows.learn_near(queue->near);
  return {queue->remove_placed(), queue};
}

/// MPI_Send, MPI_Recv and MPI_Sendrecv.
template <bool kSends, bool kReceives>
class RepeatedMessage : public Repeated {
 public:
  static constexpr RuleSet kRuns =
      set_of_rules(kRule_check_pending_buffers, kRule_check_messages_before, kRule_undo_messages,
                   kRule_report_error_after) |
      (kSends ? set_of_rules(kRule_record_send_after) : 0) |
      (kReceives ? set_of_rules(kRule_record_messages_after) : 0);
  using Repeated::Repeated;
  /// Before MPI makes the call. Returns false without effect where CheckedCall must handle the
  /// call.
  [[gnu::always_inline]] bool begin() {
    handle_arrived();
    Rank* rank = rank_;
    RememberedCall& call = *same_;
    const bool beside =
        rank->regions.empty() && (rank->begun.empty() || ((call.known & RememberedCall::kReach) &&
                                                          is_beside(*rank, &call, kReceives) &&
                                                          (!kReceives || is_first(*rank, call))));
    if (!beside || (kSends && !can_send(call, sends_to())) ||
        (kReceives && !can_receive(*rank, call)))
      return leave_to_full_call();
    enter();
    if (kSends)
      message_id_ = announce_message(rank, same_, sends_to().queue, false, &receive_begun_);
    if (kReceives && follows_steps()) {
      if (is_free(rank->unbuffered))
        begin_receive_from(call.messages.queue);
      else
        rank->receives_from = call.messages.queue;
    }
    progress_by_call();
    return true;
  }

  /// MPI has returned. REQUIRES: begin() has returned true.
  [[gnu::always_inline]] void after(int result) {
    return_from_mpi();
    Rank* rank = rank_;
    if (kReceives) rank->receives_from = nullptr;
    if (result != MPI_SUCCESS) [[unlikely]] {
      after_error(waiting(), result, message_id_, status_.written(), status_.is_read());
    } else {
      if (kReceives) {
        const auto [m, queue] = remove_message(rank, same_);
        record_lone_match(
            rank, [this] { return waiting(); }, m, queue, true, true);
      }
      if (kSends && message_id_ && !receive_begun_)
        step_need_receive_of(
            rank, [this] { return waiting(); }, *same_, sends_to(), message_id_, nullptr);
    }
    progress_by_call();
  }

  /// Where MPI shall write the status.
  MPI_Status* status(MPI_Status* of_program) { return status_.choose(of_program, true); }

 private:
  KnownQueue sends_to() const { return kReceives ? same_->send_queue : same_->queue(); }

  static void after_error(const WaitingCall& call, int result, uint64_t message_id,
                          const MPI_Status* status, bool status_read);

  uint64_t message_id_ = 0;     ///< id of the message that the call sends
  bool receive_begun_ = false;  ///< the receive of that message has begun
  CallStatus status_;
};

/// MPI_Isend, or MPI_Irecv.
template <bool kSends>
class RepeatedStart : public Repeated {
 public:
  static constexpr RuleSet kRuns =
      set_of_rules(kRule_check_pending_buffers, kRule_check_messages_before,
                   kRule_record_requests_after, kRule_undo_messages, kRule_report_error_after);
  using Repeated::Repeated;
  /// Before MPI makes the call. Returns false without effect where CheckedCall must handle the
  /// call.
  [[gnu::always_inline]] bool begin() {
    handle_arrived();
    Rank* rank = rank_;
    RememberedCall& call = *same_;
    if (rank->begun.size() >= PendingOperations::kMost || !rank->regions.empty() ||
        !(call.known & RememberedCall::kReach) || !is_beside(*rank, &call, !kSends) ||
        !(kSends ? can_send(call, call.queue()) : can_receive(*rank, call)))
      return leave_to_full_call();
    enter();
    if (kSends) {
      id_ = announce_message(rank, same_, call.messages.queue, false, &receive_begun_);
    } else {
      id_ = begin_posted_receive(rank);
    }
    progress_by_call();
    return true;
  }

  /// MPI has returned. REQUIRES: begin() has returned true.
  [[gnu::always_inline]] void after(int result) {
    return_from_mpi();
    constexpr int kRequest = 6;  // index of the argument
    auto* request = reinterpret_cast<MPI_Request*>(same_->words[kRequest]);
    if (result != MPI_SUCCESS) [[unlikely]]
      after_error(waiting(), result, kSends ? id_ : 0);
    else if (*request != MPI_REQUEST_NULL)
      keep(request);
    progress_by_call();
  }

 private:
  [[gnu::always_inline]] void keep(MPI_Request* request) {
    Rank* rank = rank_;
    RememberedCall& call = *same_;
    give_own_handle(rank, request);
    const bool begun =
        kSends ? receive_begun_ : has_posted_receive_begun(*rank, id_) && call.queue().is_there();
    if (!kSends && begun) begin_receive_from(call.messages.queue);
    const char* low = call.messages.low;
    rank->pending_sum += reach_of(low, call.messages.bytes, !kSends);
    const bool sums = kSends && g_process.wants(FindingKind::kBuffers);
    PendingOperation* b = rank->begun.add();
    b->call = &call;
    b->word = sums ? checksum_between(low, call.high()) : 0;
    b->handle = *request;
    b->at = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(request));
    b->id = static_cast<uint32_t>(id_);
    b->sends = kSends;
    b->receive_begun = begun;
  }
  static void after_error(const WaitingCall& call, int result, uint64_t message_id);

  bool receive_begun_ = false;
  uint64_t id_ = 0;  ///< PendingOperation::id
};

/// MPI_Wait and MPI_Waitall.
class RepeatedWait : public Repeated {
 public:
  static constexpr RuleSet kRuns =
      set_of_rules(kRule_check_requests_before, kRule_record_requests_after);
  using Repeated::Repeated;
  /// Before MPI makes the call. Returns false without effect where CheckedCall must handle the
  /// call.
  bool begin();
  ~RepeatedWait();
  void after(int result);
  /// make_operations() is about to run, so CheckedCall's functions will complete the requests.
  /// Returns the requests that the wait was given.
  const std::vector<MPI_Request>* leave_to_call();

 private:
  bool find_begun();
  void complete();
  void complete_by_call(int result);
  void fill(MPI_Status* statuses) const;

  MPI_Request* list_ = nullptr;
  int count_ = 0;
  bool left_to_call_ = false;
  std::vector<MPI_Request> given_;
};

}  // namespace fgmpi::check
