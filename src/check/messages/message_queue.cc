// The rare operations of a message queue: beginning messages in place, and turning them into
// QueuedMessage objects.

#include "check/messages/message_queue.h"

namespace fgmpi::check {

/// Begins with messages in place of another call, if the queue may have any and has none.
bool MessageQueue::begin_places(RememberedCall* of, const Knowledge& knows) {
  if (in_place || !stays) return false;
  call = SharedCall(of);
  contents = of->sent.contents;
  near_name = knows.near_name();
  near = knows.near;
  return true;
}

void MessageQueue::make_messages() {
  while (in_place) {
    const InPlace& one = placed[--in_place];
    QueuedMessage* m = new_message();
    m->set({contents, one.matched, one.begun, false});
    m->id = one.id;
    m->call = call;
    m->known.near = near;
    m->next = list;
    if (!list) last = m;
    list = m;
  }
}

}  // namespace fgmpi::check
