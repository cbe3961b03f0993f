// Flow control: how much a sender may send before its receiver has agreed.
//
// A process holds at most FGMPI_UNEXPECTED_LIMIT bytes of eager copies: half for collocated senders
// (all of it in a job of one process), half shared evenly as windows of the other processes. A
// sender counts the bytes that are under way or unconsumed at each peer (peers.h), and uses
// rendezvous when its window is used up. The receiver returns credit when a quarter of a window has
// been consumed.
//
// The limits below are by transport bit. Each message counts as charge() bytes.
// Thread rule: one thread.
#pragma once

#include <cstdint>

#include "transport/transport.h"

namespace fgmpi::pt2pt {

class FlowControl {
 public:
  /// How many bytes of a window an eager message of `bytes` uses up at its receiver.
  static uint64_t charge(uint64_t bytes) { return bytes + 128; }

  // ---- Between collocated proclets --------------------------------------------------------------
  /// May a message of `bytes` be copied where no receive is posted, as far as its length decides?
  bool is_eager_local(uint64_t bytes) const { return bytes <= eager_local_; }
  /// May a message of `bytes` be copied now?
  bool allows_local_copy(uint64_t bytes) const {
    return bytes <= eager_local_ && local_unexpected_ + charge(bytes) <= local_limit_;
  }
  /// A decider buffers longer messages (message_decider.h).
  void set_eager_local(uint64_t bytes) { eager_local_ = bytes; }
  void add_local_copy(uint64_t bytes) { local_unexpected_ += charge(bytes); }
  void remove_local_copy(uint64_t bytes) { local_unexpected_ -= charge(bytes); }

  // ---- Between processes ------------------------------------------------------------------------
  /// Longest message that may be sent eagerly, in one frame or several.
  uint64_t longest_eager(int bit) const { return eager_remote_[bit]; }
  /// May a message be sent as one frame whose payload is copied, as far as its length decides?
  bool fits_copied_frame(int bit, uint64_t bytes) const { return bytes <= copied_remote_[bit]; }
  /// Is a payload worth lending to the transport?
  bool is_worth_lending(int bit, uint64_t bytes) const { return bytes >= least_lent_[bit]; }
  uint64_t longest_not_lent(int bit) const { return least_lent_[bit] - 1; }
  /// Has the window of a peer room for an eager message of `bytes`?
  bool window_allows(uint64_t in_flight, uint64_t bytes) const {
    return in_flight + charge(bytes) <= window_;
  }
  /// Are so many consumed bytes to be returned to the sender now?
  bool is_credit_due(uint64_t to_return) const { return to_return * 4 >= window_; }

  // ---- Limits -----------------------------------------------------------------------------------
  /// Reads the settings, for a job of so many processes.
  void begin(uint32_t processes);
  /// Sets the limits of messages that this transport carries.
  void set_limits(int bit, const transport::FrameCarrier& transport);
  /// Sets the limits of bit 1 for peers that are reached by `others`. `shared`: further peers with
  /// this bit use another transport, and the limits are the lower ones of both.
  void set_limits_of_others(const transport::FrameCarrier& others, bool shared);
  /// There are so many processes from now on, with those of other jobs.
  void set_processes(uint32_t processes);
  /// Multiplies what may be held here (buffer_limit.h).
  void multiply_limits(uint64_t factor);

 private:
  uint64_t eager_local_ = 0;  ///< FGMPI_EAGER_LOCAL
  /// Longest eager message: FGMPI_EAGER_REMOTE, at most what the transport allows.
  uint64_t eager_remote_[2] = {};
  /// Longest message that is sent at once: fits a frame and is not to be lent.
  uint64_t copied_remote_[2] = {};
  uint64_t least_lent_[2] = {};
  uint64_t local_limit_ = 0;  ///< bytes of eager copies that collocated senders may make
  uint64_t window_ = 0;       ///< bytes of eager messages in flight or unconsumed, per peer process
  uint64_t limit_factor_ = 1;  ///< by which FGMPI_UNEXPECTED_LIMIT has been multiplied
  uint64_t local_unexpected_ = 0;
};

}  // namespace fgmpi::pt2pt
