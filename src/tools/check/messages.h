// What messages.cc and repeated_messages.cc share: messages under way, in the receiver's process.
// Thread rule: as Call (call.h).
#pragma once

#include "tools/check/rank.h"

namespace fgmpi::check {

/// Messages of one communicator have one name on both sides of an intercommunicator.
inline Inbox::Key key_of(uint64_t comm_key, int source, int tag) {
  return {comm_key >> 1, source, tag};
}

inline Inbox& inbox_of(int receiver_world) {
  return g_process.inboxes[static_cast<size_t>(receiver_world - g_process.first)];
}

/// The queue with this key. `known`: where it was found the last time, on the communicator `known_on`.
inline MessageQueue& queue_for(Inbox* inbox, KnownQueue* known, uint64_t* known_on,
                               uint64_t comm_key, int source, int tag) {
  if (*known_on != comm_key || !known->is_there()) {
    *known = {&inbox->queues[key_of(comm_key, source, tag)], g_queues_erased};
    *known_on = comm_key;
  }
  return *known->queue;
}

inline Message* g_spare_messages = nullptr;

inline Message* new_message() {
  Message* m = g_spare_messages;
  if (!m) return new Message;
  g_spare_messages = m->next;
  __builtin_prefetch(m->next);
  m->next = nullptr;
  return m;
}

inline void drop_message(Message* m) {
  if (m->has_clock) m->known.clock = nullptr;
  m->call.reset();
  m->next = g_spare_messages;
  g_spare_messages = m;
}

/// True: its receive has begun already.
inline bool append(MessageQueue* queue, Message* m) {
  (queue->first ? queue->last->next : queue->first) = m;
  queue->last = m;
  if (queue->ready == 0) return false;
  --queue->ready;
  m->matched = 1;
  return true;
}

/// Takes the first message out. REQUIRES: there is one.
inline Message* take_first(MessageQueue* queue) {
  Message* m = queue->first;
  queue->first = m->next;
  return m;
}

/// Queues that are empty stay for the next message of their kind, but not very many.
inline constexpr size_t kMostEmptyQueues = 1024;
inline bool has_many_queues(const Inbox& inbox) { return inbox.queues.size() > kMostEmptyQueues; }
inline void erase_if_many(Inbox* inbox, const MessageQueue& queue, const Inbox::Key& key) {
  if (!queue.first && has_many_queues(*inbox)) inbox->erase(key);
}

/// Fetches what step_matched() reads of the message's sender. Inlined, as KeptCall::prefetch_next().
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
  return receive.is_known(rank.epoch, KeptCall::kFits) && m.contents && receive.fits == m.contents;
}

/// Makes a message of a send and tells its receiver's process of it; its id. `taken`: its receive has begun.
/// REQUIRES: KeptCall::kSent; for a receiver of this process, that `sends_to` is there.
uint64_t send_known(Rank* rank, KeptCall* record, bool* taken);
/// Does what the receive takes have its types? `kept`: where what has fitted before is remembered, or null.
void compare(Rank* rank, const Message& m, const CallRecord& call, MPI_Datatype type, int64_t count,
             KeptCall* kept);

}  // namespace fgmpi::check
