// The rare operations of a message queue: beginning messages in place, and turning them into
// QueuedMessage objects.

#include "check/messages/message_queue.h"

namespace fgmpi::check {

/// Begins with messages in place of another call, if the queue may have any and has none.
bool MessageQueue::begin_placing(RememberedCall* of, const Knowledge& knows) {
  if (placed_count || !stays) return false;
  call = SharedCall(of);
  signature_name = of->properties.signature_name;
  near_name = knows.near_name();
  near = knows.near;
  return true;
}

void MessageQueue::queue_placed_messages() {
  while (placed_count) {
    const PlacedMessage& one = placed[--placed_count];
    QueuedMessage* m = make_message(call, one.id, one.send_begun, near);
    m->receive_begun = one.receive_begun;
    m->next = list;
    if (!list) last = m;
    list = m;
  }
}

}  // namespace fgmpi::check
