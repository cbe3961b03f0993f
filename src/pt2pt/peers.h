// Peers: what this process records about each of its peer processes.
//
//   process -> | bytes in flight to it | bytes to return to it | deferred frames | arriving |
//
// Frames that find no room in a transport are deferred. Each peer has one list of them, oldest
// first; a frame is sent only when the list before it is empty, so nothing overtakes. The list of a
// lost process is a mark that no frame has: frames for it are dropped, and a job without lost
// processes pays no instruction for that. Bytes are those of flow_control.h.
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "pt2pt/operation.h"

namespace fgmpi::pt2pt {

class Peers {
 public:
  /// Makes the peers anew, `processes` of them.
  void make(uint32_t processes);
  /// Adds peers until there are at least `processes`.
  void add_until(uint32_t processes);
  void release() { states_.reset(); }

  // ---- Deferred frames --------------------------------------------------------------------------
  /// Must a frame to this process be deferred, or dropped since the process is lost?
  bool has_deferred(uint32_t process) const { return states_[process].head != nullptr; }
  DeferredFrame* first_deferred(uint32_t process) const { return states_[process].head; }
  /// Has the process more deferred frames than one? REQUIRES: it has one.
  bool has_more_deferred(uint32_t process) const {
    return states_[process].head != states_[process].tail;
  }
  /// Adds a frame behind the others of the process. REQUIRES: !is_lost(process).
  void add_deferred(uint32_t process, DeferredFrame* frame);
  /// Removes first_deferred().
  void remove_first_deferred(uint32_t process) {
    states_[process].head = states_[process].head->next;
  }
  /// Moves first_deferred() behind the others. REQUIRES: has_more_deferred().
  void move_first_deferred_to_end(uint32_t process);
  /// Does any process have deferred frames?
  bool any_deferred() const { return !waiting_.empty(); }
  /// Calls push(process) for each process with deferred frames. push() sends what it can.
  template <class F>
  void push_deferred(F&& push) {
    for (size_t i = 0; i < waiting_.size();) {
      const uint32_t process = waiting_[i];
      push(process);
      if (states_[process].head) {
        ++i;
      } else {
        waiting_[i] = waiting_.back();
        waiting_.pop_back();
      }
    }
  }
  /// Calls f(frame) for each deferred frame.
  template <class F>
  void for_each_deferred(F&& f) const {
    for (uint32_t process : waiting_)
      for (const DeferredFrame* frame = states_[process].head; frame; frame = frame->next) f(frame);
  }

  // ---- Processes that go ------------------------------------------------------------------------
  bool is_lost(uint32_t process) const { return states_[process].head == &lost_mark_; }
  /// Marks the process as lost. Returns the list of its deferred frames, which are the caller's.
  DeferredFrame* mark_lost(uint32_t process);
  /// Forgets a process of another job, after drop(frame) for each of its deferred frames.
  template <class F>
  void forget(uint32_t process, F&& drop) {
    PeerState& peer = states_[process];
    std::erase(waiting_, process);
    while (DeferredFrame* frame = peer.head) {
      peer.head = frame->next;
      drop(frame);
    }
    peer = {};
  }

  // ---- Credit -----------------------------------------------------------------------------------
  uint64_t in_flight(uint32_t process) const { return states_[process].in_flight; }
  void add_in_flight(uint32_t process, uint64_t bytes) { states_[process].in_flight += bytes; }
  /// The process has consumed `bytes`; more than are in flight count as all of them.
  void remove_in_flight(uint32_t process, uint64_t bytes) {
    PeerState& peer = states_[process];
    peer.in_flight -= std::min(peer.in_flight, bytes);
  }
  /// Adds bytes that were consumed here; returns how many the process has not got back yet.
  uint64_t add_to_return(uint32_t process, uint64_t bytes) {
    return states_[process].to_return += bytes;
  }
  /// The bytes that the process has not got back yet, which the caller returns to it.
  uint64_t take_to_return(uint32_t process) { return std::exchange(states_[process].to_return, 0); }

  // ---- Messages of several frames ---------------------------------------------------------------
  /// The message of the process of which some frames have not arrived yet, or nullptr.
  Arriving* arriving(uint32_t process) const { return states_[process].arriving; }
  void set_arriving(uint32_t process, Arriving* message) { states_[process].arriving = message; }

 private:
  struct PeerState {
    uint64_t in_flight = 0;  ///< bytes charged for eager frames that the peer has not consumed
    uint64_t to_return = 0;  ///< bytes of its eager frames consumed here, credit not yet sent
    /// Frames that wait for room, a list; &lost_mark_ when the process is lost.
    DeferredFrame* head = nullptr;
    DeferredFrame* tail = nullptr;
    Arriving* arriving = nullptr;
  };
  static_assert(sizeof(PeerState) == 40, "memory budget: flow control of a peer");
  [[gnu::visibility("hidden")]] static DeferredFrame lost_mark_;

  /// By process; those of other jobs follow the own job's.
  std::unique_ptr<PeerState[]> states_;
  uint32_t room_ = 0;
  std::vector<uint32_t> waiting_;  ///< processes with deferred frames
};

}  // namespace fgmpi::pt2pt
