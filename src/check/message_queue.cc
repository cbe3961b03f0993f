// What a queue of messages does rarely: beginning its places, and turning places into messages.

#include "check/message_queue.h"

namespace fgmpi::check {

/// Those that are there are gone: messages in place are of another call from now on, if the queue
/// may have any.
bool MessageQueue::begin_places(KeptCall* of, const Knowledge& knows) {
  if (in_place || !stays) return false;
  call = Record(of);
  contents = of->sent.contents;
  near_name = knows.near_name();
  near = knows.near;
  return true;
}

void MessageQueue::make_messages() {
  while (in_place) {
    const InPlace& one = placed[--in_place];
    Message* m = new_message();
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
