// What messages.cc and repeated_messages.cc share: messages under way, in the receiver's process.
// Thread rule: as Call (call.h).
#pragma once

#include "check/rank.h"

namespace fgmpi::check {

/// Messages of one communicator have one name on both sides of an intercommunicator.
inline Inbox::Key key_of(uint64_t comm_key, int source, int tag) {
  return {comm_key >> 1, source, tag};
}

inline Inbox& inbox_of(int receiver_world) {
  return g_process.inboxes[static_cast<size_t>(receiver_world - g_process.first)];
}

/// The queue with this key. `known`: where it was found the last time, on the communicator
/// `known_on`.
inline KnownQueue queue_for(Inbox* inbox, const KnownQueue& known, uint64_t* known_on,
                            uint64_t comm_key, int source, int tag) {
  if (*known_on == comm_key && known.is_there()) return known;
  *known_on = comm_key;
  return {inbox->queue(key_of(comm_key, source, tag)), g_queues_erased};
}

/// Fetches what step_matched() reads of the message's sender. Inlined, as
/// KeptCall::prefetch_next().
[[gnu::always_inline]] inline void prefetch_sender(const Message& m) {
  const auto sender_world = static_cast<int>(m.id >> 32);
  const Rank* sender = is_local(sender_world) ? local_rank(sender_world) : nullptr;
  if (!sender) return;
  const auto* of_sender = reinterpret_cast<const char*>(&sender->unbuffered);
  __builtin_prefetch(of_sender);
  __builtin_prefetch(of_sender + 64);
}

/// Is the message like one that the receive has taken without fault?
inline bool fits_as_before(const Rank& rank, const Message& m, const KeptCall& receive) {
  return receive.is_known(rank.epoch, KeptCall::kFits) && m.contents &&
         receive.messages.fits == m.contents;
}

/// A send begins. True: it has, if no standard send is buffered, too.
inline bool step_send(Rank* rank, uint64_t message, int receiver_world) {
  if (!follows_steps()) return false;
  Unbuffered& u = rank->unbuffered;
  if (!is_free(u) || !u.waiting.empty()) return step_send_in_turn(rank, message, receiver_world);
  u.begun = message;
  return true;
}

/// A receive begins.
inline void step_receive(Rank* rank, uint64_t number) {
  if (!follows_steps()) return;
  Unbuffered& u = rank->unbuffered;
  if (!is_free(u) || !u.matches.empty()) return step_receive_in_turn(rank, number);
  u.posted = number;
}

/// The id of a message: the rank counts those that it sends.
inline uint64_t message_id(const Rank& rank, uint32_t number) {
  return static_cast<uint64_t>(rank.world) << 32 | number;
}
inline uint64_t next_message(Rank* rank) { return message_id(*rank, ++rank->next_message); }

/// send_known() where the message is not in place.
uint64_t send_as_message(Rank* rank, KeptCall* record, MessageQueue* queue, bool* taken);
/// Makes a message of a send and tells its receiver's process of it; its id. `queue`: that it goes
/// to, null: of another process. `told`: the rank is told when its receive begins, and need not ask
/// by is_known_taken(). `taken`: it has begun already. REQUIRES: KeptCall::kSent.
[[gnu::always_inline]] inline uint64_t send_known(Rank* rank, KeptCall* record, MessageQueue* queue,
                                                  bool told, bool* taken) {
  if (!queue || !queue->has_place(record, rank->knows))
    return send_as_message(rank, record, queue, taken);
  const uint64_t id = next_message(rank);
  *taken = queue->place(id, step_send(rank, id, record->sent.to), told);
  return id;
}
/// Has the receive begun of a message of a send of this rank, as far as is known here? If not, the
/// rank is told of it then. `queue`: that it has gone to.
bool is_known_taken(Rank* rank, const KeptCall& send, const KnownQueue& queue, uint64_t message);
/// Does what the receive takes have its types? `kept`: where what has fitted before is remembered,
/// or null.
void compare(Rank* rank, const Message& m, const CallRecord& call, MPI_Datatype type, int64_t count,
             KeptCall* kept);

}  // namespace fgmpi::check
