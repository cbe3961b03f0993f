// The table of peers. See peers.h.

#include "pt2pt/peers.h"

namespace fgmpi::pt2pt {

DeferredFrame Peers::lost_mark_{};

void Peers::make(uint32_t processes) {
  states_ = std::make_unique<PeerState[]>(processes);
  room_ = processes;
}

void Peers::add_until(uint32_t processes) {
  if (processes <= room_) return;
  const uint32_t room = std::max(processes, 2 * room_);
  auto states = std::make_unique<PeerState[]>(room);
  std::copy_n(states_.get(), room_, states.get());
  states_ = std::move(states);
  room_ = room;
}

void Peers::add_deferred(uint32_t process, DeferredFrame* frame) {
  PeerState& peer = states_[process];
  frame->next = nullptr;
  if (peer.head) {
    peer.tail->next = frame;
  } else {
    waiting_.push_back(process);
    peer.head = frame;
  }
  peer.tail = frame;
}

void Peers::move_first_deferred_to_end(uint32_t process) {
  PeerState& peer = states_[process];
  DeferredFrame* frame = peer.head;
  peer.head = frame->next;
  frame->next = nullptr;
  peer.tail->next = frame;
  peer.tail = frame;
}

DeferredFrame* Peers::mark_lost(uint32_t process) {
  std::erase(waiting_, process);
  return std::exchange(states_[process].head, &lost_mark_);
}

}  // namespace fgmpi::pt2pt
