// Messages under way, in the receiver's process: what their senders have announced of them, by
// receiver, communicator, sender and tag.
//
// Messages of a repeated call differ in little more than their ids. So a queue stores the
// first few of them in place, without a QueuedMessage object: sending and receiving one of them
// touches one cache line.
//
// A sender that waits for a send must learn when the receive has begun (unbuffered.h). Ids in a
// queue increase, and receives match messages in order. So for messages in place the queue records
// up to which id receives have begun, and the sender is notified only if it has asked before
// (has_receive_begun()). For a message that has a QueuedMessage object the sender is always
// notified.
// Thread rule: as CheckedCall (call.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "check/memory/layout.h"
#include "check/memory/memory.h"
#include "check/order/clock.h"
#include "check/record.h"

namespace fgmpi::check {

/// A word of a message that is written as a whole when the message is made.
struct MessageState {
  uint64_t signature_name : 64 - TypeSignature::kSpareBits = 0;  ///< name() of its signature
  uint64_t receive_begun : 1 = 0;  ///< its receive has begun, and its sender knows or can find out
  uint64_t send_begun : 1 = 0;     ///< its send has begun in the unbuffered run
  uint64_t has_clock : 1 = 0;
};

/// A message under way, as its sender announced it to the receiver's process. The fields that are
/// read of most messages are in the first 64 bytes.
struct alignas(64) QueuedMessage : MessageState {
  QueuedMessage* next = nullptr;
  uint64_t id = 0;  ///< unique in the job
  SharedCall call;  ///< also holds what all messages of the call share
  void set(const MessageState& word) { static_cast<MessageState&>(*this) = word; }
  Knowledge known;  ///< the sender's clock
  const TypeSignature& signature() const { return call->properties.signature; }
  int64_t bytes() const { return call->properties.bytes; }
  int source() const { return call->properties.source; }
  int tag() const { return call->properties.tag; }
  int source_world() const { return call->properties.source_world; }
};

inline QueuedMessage* g_spare_messages = nullptr;

/// A message that its sender has announced. `near` and `clock` are the sender's (Knowledge).
inline QueuedMessage* make_message(SharedCall call, uint64_t id, bool send_begun,
                                   const Knowledge::Near& near, const Clock& clock = nullptr) {
  QueuedMessage* m = g_spare_messages;
  if (m) {
    g_spare_messages = m->next;
    __builtin_prefetch(m->next);
    m->next = nullptr;
  } else {
    m = make_lasting<QueuedMessage>();
  }
  m->set({call->properties.signature_name, false, send_begun, clock != nullptr});
  m->id = id;
  m->call = std::move(call);
  m->known.near = near;
  if (clock) m->known.clock = clock;
  return m;
}

inline void drop_message(QueuedMessage* m) {
  if (m->has_clock) m->known.clock = nullptr;
  m->call.reset();
  m->next = g_spare_messages;
  g_spare_messages = m;
}

/// A message in place, without a QueuedMessage object.
struct PlacedMessage {
  uint64_t id : 61 = 0;  ///< world ranks are below 2^29
  uint64_t receive_begun : 1 = 0;
  uint64_t send_begun : 1 = 0;
  uint64_t notify_sender : 1 = 0;  ///< the sender is to be notified when the receive begins
};

/// The state of a message outside of any queue. Its sender is always notified.
inline PlacedMessage as_placed(const QueuedMessage& m) {
  PlacedMessage placed;
  placed.id = m.id;
  placed.receive_begun = m.receive_begun;
  placed.send_begun = m.send_begun;
  placed.notify_sender = 1;
  return placed;
}

/// Messages of one sender with one tag on one communicator, in the order in which they were sent.
struct alignas(64) MessageQueue {
  static constexpr uint16_t kMostInPlace = 2;

  QueuedMessage* list = nullptr;  ///< messages behind those in place
  SharedCall
      call;  ///< the call of all messages in place, which share `signature_name` and `near` too
  /// The number of receives that have begun and will match the next messages to arrive, whatever
  /// else is posted.
  uint32_t receives_waiting = 0;
  uint16_t placed_count = 0;
  bool stays = false;  ///< the queue is never erased; only then may it have messages in place
  PlacedMessage placed[kMostInPlace];
  uint64_t signature_name = 0;        ///< MessageState::signature_name
  uint64_t near_name = 0;             ///< Knowledge::near_name()
  uint64_t receives_begun_up_to = 0;  ///< receives of messages in place have begun up to this id
  QueuedMessage* last = nullptr;      ///< end of `list`
  Knowledge::Near near = {};          ///< the sender's clock

  bool empty() const { return !placed_count && !list; }
  /// The first message, null if there is none. Moves messages in place into the list.
  QueuedMessage* first() {
    if (placed_count) queue_placed_messages();
    return list;
  }

  /// Can a message of this call be stored in place, that is, is it like those already there?
  [[gnu::always_inline]] bool has_place(RememberedCall* of, const Knowledge& knows) {
    if (list || knows.clock || placed_count == kMostInPlace) return false;
    return (call.get() == of && near_name == knows.near_name()) || begin_placing(of, knows);
  }
  /// Adds a message in place; returns whether its receive has begun already. REQUIRES: has_place().
  bool add_placed(uint64_t id, bool send_begun, bool notify_sender) {
    const bool receive_begun = receives_waiting > 0;
    receives_waiting -= receive_begun;
    PlacedMessage& one = placed[placed_count++];
    one.id = id;
    one.receive_begun = receive_begun;
    one.send_begun = send_begun;
    one.notify_sender = notify_sender;
    return receive_begun;
  }
  /// Adds a message at the end; returns whether its receive has begun already.
  bool add_queued(QueuedMessage* m) {
    (list ? last->next : list) = m;
    last = m;
    if (receives_waiting == 0) return false;
    --receives_waiting;
    m->receive_begun = 1;
    return true;
  }
  /// Removes the first message in place. REQUIRES: there is one.
  PlacedMessage remove_placed() {
    const PlacedMessage first = placed[0];
    placed[0] = placed[1];
    --placed_count;
    return first;
  }
  /// Removes the first message of the list. REQUIRES: first() is not null.
  QueuedMessage* remove_first() {
    QueuedMessage* m = list;
    list = m->next;
    return m;
  }

  /// Has the receive of a message that was in place begun? If not, the sender is
  /// notified when it does.
  bool has_receive_begun(uint64_t id) {
    if (receives_begun_up_to >= id) return true;
    for (uint16_t i = 0; i < placed_count; ++i)
      if (placed[i].id == id) placed[i].notify_sender = 1;
    return false;
  }

 private:
  bool begin_placing(RememberedCall* of, const Knowledge& knows);
  void queue_placed_messages();
};

/// Messages for one rank.
struct Inbox {
  struct QueueKey {
    uint64_t comm;
    int source, tag;
    bool operator==(const QueueKey&) const = default;
  };
  struct QueueKeyHash {
    size_t operator()(const QueueKey& k) const {
      return (k.comm ^ static_cast<uint64_t>(static_cast<uint32_t>(k.source)) << 32 ^
              static_cast<uint32_t>(k.tag)) *
             kGoldenRatio;
    }
  };
  /// The number of empty queues that are retained for later messages.
  static constexpr size_t kMostEmpty = 1024;

  std::unordered_map<QueueKey, MessageQueue, QueueKeyHash, std::equal_to<QueueKey>,
                     NodeMemory<std::pair<const QueueKey, MessageQueue>>>
      queues;

  MessageQueue* queue(const QueueKey& key) {
    const auto [at, fresh] = queues.try_emplace(key);
    if (fresh) at->second.stays = queues.size() <= kMostEmpty;
    return &at->second;
  }
  void erase_if_many(const MessageQueue& queue, const QueueKey& key) {
    if (queue.stays || !queue.empty() || queues.size() <= kMostEmpty) return;
    queues.erase(key);
    ++g_queues_erased;
  }
};

}  // namespace fgmpi::check
