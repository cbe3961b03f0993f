// The transports of this process: which of them carries frames to a process, and which are polled.
//
//   bit 0   the first transport
//   bit 1   another one for other processes of the job, or the links to other jobs (src/dynamic)
//   --      a source that is only polled and carries no frames (src/multicast)
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <cstdint>
#include <cstring>

#include "ch4-av-rankmap/av.h"
#include "transport/transport.h"

namespace fgmpi::pt2pt {

class Transports {
 public:
  /// The transport of the processes with this transport bit, or nullptr.
  transport::FrameCarrier* with_bit(int bit) const { return by_bit_[bit]; }
  /// The transport that carries frames to the process.
  transport::FrameCarrier* to(uint32_t process) const {
    return by_bit_[g_av.transport_bit(process)];
  }
  /// What reads messages that the process has announced, or nullptr: they come as data frames.
  transport::MemoryReader* reader(uint32_t process) const {
    return readers_[g_av.transport_bit(process)];
  }
  /// Is the transport with bit 0 the one through shared memory?
  bool first_shares_memory() const { return first_shares_memory_; }
  /// Is another transport than the first polled, too?
  bool polls_more() const { return polls_more_; }

  /// Receives what has arrived; true when there was anything.
  bool poll() {
    bool moved = by_bit_[0] && by_bit_[0]->poll();
    if (__builtin_expect(polls_more_, 0)) moved |= poll_others();
    return moved;
  }
  /// False while the source that is only polled has something under way.
  bool polled_only_is_quiet() const { return !polled_only_ || polled_only_->quiet(); }

  void set(transport::FrameCarrier* first, transport::FrameCarrier* second) {
    by_bit_[0] = first;
    by_bit_[1] = second;
    readers_[0] = first ? first->memory_reader() : nullptr;
    readers_[1] = second ? second->memory_reader() : nullptr;
    first_shares_memory_ = first && std::strcmp(first->name(), "shm") == 0;
    polls_more_ = second != nullptr;
  }
  void set_second(transport::FrameCarrier* second) {
    by_bit_[1] = second;
    readers_[1] = second->memory_reader();
    polls_more_ = true;
  }
  /// Adds a source that is only polled.
  void add_polled(transport::WaitSource* source) {
    polled_only_ = source;
    polls_more_ = true;
  }
  /// From now on there is no transport. first_shares_memory() stays: counters are read until the
  /// process ends.
  void remove_all() {
    by_bit_[0] = by_bit_[1] = nullptr;
    readers_[0] = readers_[1] = nullptr;
    polled_only_ = nullptr;
    polls_more_ = false;
  }

 private:
  bool poll_others() {
    bool moved = by_bit_[1] && by_bit_[1]->poll();
    if (polled_only_) moved |= polled_only_->poll();
    return moved;
  }

  transport::FrameCarrier* by_bit_[2] = {nullptr, nullptr};
  transport::MemoryReader* readers_[2] = {nullptr, nullptr};
  transport::WaitSource* polled_only_ = nullptr;
  bool first_shares_memory_ = false;
  bool polls_more_ = false;
};

}  // namespace fgmpi::pt2pt
