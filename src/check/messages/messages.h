// Messages under way, in the receiver's process: shared by messages.cc and repeated_messages.cc.
// Thread rule: as CheckedCall (call.h).
#pragma once

#include "check/rank.h"

namespace fgmpi::check {

/// Both sides of an intercommunicator use one key for its messages, so the bit for the side is
/// shifted out.
inline Inbox::QueueKey key_of(uint64_t comm_key, int source, int tag) {
  return {comm_key >> 1, source, tag};
}

inline Inbox& inbox_of(int receiver_world) {
  return g_process.inboxes[static_cast<size_t>(receiver_world - g_process.first)];
}

inline int source_of(const CallRecord& receive) {
  return static_cast<int>(receive.at(receive.info().at.source));
}
inline int receive_tag_of(const CallRecord& receive) {
  return static_cast<int>(receive.at(receive.info().at.recv_tag));
}
inline MPI_Datatype receive_type_of(const CallRecord& receive) {
  return static_cast<MPI_Datatype>(receive.at(receive.info().at.recv_type));
}
inline int64_t receive_count_of(const CallRecord& receive) {
  return receive.at(receive.info().at.recv_count);
}

/// The queue with this key. `known` is the queue that was found last, for the communicator
/// `known_on`; both are updated where the communicator differs.
inline KnownQueue queue_for(Inbox* inbox, const KnownQueue& known, uint64_t* known_on,
                            uint64_t comm_key, int source, int tag) {
  if (*known_on == comm_key && known.is_there()) return known;
  *known_on = comm_key;
  return {inbox->queue(key_of(comm_key, source, tag)), g_queues_erased};
}

/// Prefetches the fields of the sender that step_matched() reads. Inlined for the same reason as
/// RememberedCall::prefetch_next().
[[gnu::always_inline]] inline void prefetch_sender(const QueuedMessage& m) {
  const auto sender_world = static_cast<int>(m.id >> 32);
  const Rank* sender = is_local(sender_world) ? local_rank(sender_world) : nullptr;
  if (!sender) return;
  const auto* of_sender = reinterpret_cast<const char*>(&sender->unbuffered);
  __builtin_prefetch(of_sender);
  __builtin_prefetch(of_sender + 64);
}

/// Has the receive already matched a message of the same signature without a finding?
inline bool has_signature_matched(const Rank& rank, const QueuedMessage& m,
                                  const RememberedCall& receive) {
  return receive.is_known(rank.epoch, RememberedCall::kSignatureMatched) && m.signature_name &&
         receive.messages.matched_signature == m.signature_name;
}

/// The last event of this rank that a rank with this clock knows of (races.cc).
uint64_t known_events(const Rank& rank, const Knowledge& knows);
/// The sender of a message, as a part of a finding (races.cc).
findings::Participant sender_of(int world, const CallRecord& call, const char* role);
/// Reports what depends on the order of ranks, once for its sentence and calls (races.cc).
void report_once(Rank* rank, FindingKind kind, const char* sentence, const char* allowed, bool note,
                 std::vector<findings::Participant> calls);

/// A send begins. Returns whether it has begun in the unbuffered run as well (unbuffered.h).
inline bool step_send(Rank* rank, uint64_t message_id, int receiver_world) {
  if (!follows_steps()) return false;
  Unbuffered& u = rank->unbuffered;
  if (!is_free(u) || !u.waiting.empty()) return step_send_in_turn(rank, message_id, receiver_world);
  u.begun = message_id;
  return true;
}

/// A receive begins.
inline void step_receive(Rank* rank, uint64_t number) {
  if (!follows_steps()) return;
  Unbuffered& u = rank->unbuffered;
  if (!is_free(u) || !u.matches.empty()) return step_receive_in_turn(rank, number);
  u.posted = number;
}

/// A receive begins that may match in its turn only; returns its number.
[[gnu::always_inline]] inline uint64_t begin_posted_receive(Rank* rank) {
  const uint64_t number = ++rank->next_posted;
  step_receive(rank, number);
  return number;
}

/// The id of the rank's message with this number; a rank numbers its messages from 1.
inline uint64_t message_id(const Rank& rank, uint32_t number) {
  return static_cast<uint64_t>(rank.world) << 32 | number;
}
inline uint64_t reserve_message_id(Rank* rank) {
  return message_id(*rank, ++rank->last_message_number);
}

/// announce_message() for a message that cannot be in place.
uint64_t announce_queued_message(Rank* rank, RememberedCall* record, MessageQueue* queue,
                                 bool* receive_begun);
/// Records the message of a send and announces it to the receiver's process; returns its id.
/// `queue`: the queue that the message enters, null where the receiver is in another process.
/// `notify_sender`: this rank is notified when the receive begins, and need not ask by
/// has_receive_begun().
/// `receive_begun`: set if the receive has begun already. REQUIRES: RememberedCall::kProperties.
[[gnu::always_inline]] inline uint64_t announce_message(Rank* rank, RememberedCall* record,
                                                        MessageQueue* queue, bool notify_sender,
                                                        bool* receive_begun) {
  rank->say_left();
  if (!queue || !queue->has_place(record, rank->knows))
    return announce_queued_message(rank, record, queue, receive_begun);
  const uint64_t id = reserve_message_id(rank);
  *receive_begun =
      queue->add_placed(id, step_send(rank, id, record->properties.receiver_world), notify_sender);
  return id;
}
/// Has the receive of a message of this rank begun, as far as this process knows? If not, the rank
/// is notified when it does. `queue`: the queue that the message entered.
bool has_receive_begun(Rank* rank, const RememberedCall& send, const KnownQueue& queue,
                       uint64_t message_id);
/// Checks that the message has the types of the receive. `kept` remembers a signature that
/// matched, or is null.
void check_message_types(Rank* rank, const QueuedMessage& m, const CallRecord& receive,
                         RememberedCall* kept);

// What the rank's calls do with messages is the same on the path of repeated calls and in
// CheckedCall, so each step of it is one function.

/// A call waits for the message of `send` until its receive has begun. `queue`: the queue that the
/// message entered. `waits()` returns the WaitingCall, `begun_by` is `send` where that is another
/// call, else null.
template <class Waits>
[[gnu::always_inline]] inline void step_need_receive_of(Rank* rank, Waits&& waits,
                                                        const RememberedCall& send,
                                                        const KnownQueue& queue,
                                                        uint64_t message_id,
                                                        RememberedCall* begun_by) {
  if (has_receive_begun(rank, send, queue, message_id)) return;
  if (!begun_by) return step_need_receive(waits(), message_id, nullptr);
  const SharedCall awaited(begun_by);
  step_need_receive(waits(), message_id, &awaited);
}

/// The receive of a message that is, or was, in place has begun: notifies the sender, or
/// lets it find out.
inline void announce_placed_receive(MessageQueue* queue, const PlacedMessage& one) {
  if (one.notify_sender) return step_receive_begun(one.id);
  queue->receives_begun_up_to = one.id;
}

/// Has the rank's receive with this number begun in the unbuffered run?
inline bool has_posted_receive_begun(const Rank& rank, uint64_t number) {
  return follows_steps() && !rank.unbuffered.written && rank.unbuffered.posted >= number;
}

/// The rank has received a message whose queue it has left: checks its types, and the rank learns
/// its sender's clock.
inline void check_removed_message(Rank* rank, const QueuedMessage& m, const CallRecord& receive,
                                  RememberedCall* kept) {
  check_message_types(rank, m, receive, kept);
  rank->knows.learn(m.known);
}
/// Ends the use of a message that was removed from a queue with this key.
inline void drop_removed_message(Rank* rank, const MessageQueue& queue, const Inbox::QueueKey& key,
                                 QueuedMessage* m) {
  drop_message(m);
  inbox_of(rank->world).erase_if_many(queue, key);
}

/// A blocking receive that is not in Rank::posted has matched a message, which has left the queue;
/// id 0: there was none. `waits()` returns the receive as a WaitingCall. `certain`: no other
/// receive could have matched the message. `needs_send`: no other message could have matched the
/// receive, so that it waits for this one.
template <class Waits>
[[gnu::always_inline]] inline void record_lone_match(Rank* rank, Waits&& waits,
                                                     const PlacedMessage& m, MessageQueue* queue,
                                                     bool certain, bool needs_send) {
  ++rank->next_posted;
  if (!m.receive_begun && m.id) {
    if (is_free(rank->unbuffered) && !m.notify_sender)
      announce_placed_receive(queue, m);
    else
      step_receive_message(rank, m.id, certain);
  }
  if (needs_send && !m.send_begun && m.id) step_need_send(waits(), m.id, nullptr);
}

/// A receive that has begun before has matched a message; id 0: there was none. `number()` returns
/// the number of the receive. `certain`: no other receive could have matched the message.
template <class Number>
[[gnu::always_inline]] inline void record_posted_match(Rank* rank, Number&& number,
                                                       const PlacedMessage& m, MessageQueue* queue,
                                                       bool certain) {
  if (m.receive_begun || !m.id) return;
  const uint64_t posted = number();
  if (has_posted_receive_begun(*rank, posted))
    announce_placed_receive(queue, m);
  else
    step_matched(rank, posted, m.id, certain);
}

}  // namespace fgmpi::check
