// A transfer at a member that is not its root, from the first datagram about it until its root
// reports that all members have it.
//
// Packets are written straight to the receive's memory when a receive has been posted; those of
// eager transfers wait in memory of the transfer. When the root asks, an acknowledgement goes up
// the tree, about this member and all members below it. It is sent when all of these have been
// heard, and has the least of what they have. A missing packet is asked for after a random short
// time, in which it may still arrive, or be sent again for another member's request; then again at
// growing intervals. Likewise the acknowledgement by which a root learns of a receive that it waits
// for is sent again until data arrives.
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <memory>
#include <vector>

#include "multicast/context.h"

namespace fgmpi::multicast {

class Incoming {
 public:
  /// `h` may be the header of any datagram of the transfer.
  Incoming(Context* context, const DatagramHeader& h);

  void receive_data(const DatagramHeader& h, const char* payload, size_t length, int64_t now);
  void receive_poll(const DatagramHeader& h, const uint64_t* words, size_t count, int64_t now);
  /// Handles an acknowledgement from a child in the tree.
  void receive_ack(const DatagramHeader& h);
  /// Posts the receive: `completion` ends when all bytes have arrived.
  void post(char* data, size_t bytes, TransferCompletion* completion);
  /// Refuses a receive with other arguments: the receive ends, and what arrives of the
  /// transfer is dropped.
  void refuse(TransferCompletion* completion);
  /// Drops what arrives of the transfer from now on; a receive that has matched it ends
  /// with kGivenUp.
  void discard();
  void on_time(int64_t now);
  int64_t next_time() const { return waits_for_root() ? remind_at_ : nack_at_; }

  const Match& match() const { return match_; }
  uint32_t root() const { return root_; }
  uint64_t total() const { return total_; }
  bool posted() const { return posted_; }
  bool complete() const { return in_row_ == packets_; }
  /// True when the datagram cannot belong to this transfer.
  bool contradicts(const DatagramHeader& h) const {
    return h.total != total_ || !(match_of(h) == match_);
  }
  /// True when nothing is under way to this member: all has arrived, or the root has yet to begin
  /// and has heard of this member's receive.
  bool quiet() const;
  /// True when all packets have arrived here and at all members below in the tree, and the parent
  /// has been informed.
  bool acknowledged() const { return sent_posted_ && sent_acked_ == packets_; }

 private:
  struct Child {
    uint32_t member;
    uint32_t acked;
    bool known, posted;
    bool outside;  ///< the child, or a member below it, has not joined the address
  };
  /// True when there is a receive that the root may not have heard of: it has yet to begin.
  bool waits_for_root() const {
    return posted_ && seen_past_ == 0 && !complete() && !(root_informed_ && children_.empty());
  }
  bool has(uint32_t packet) const { return have_[packet / 64] >> packet % 64 & 1; }
  void ack_to_parent(bool even_if_old, bool answers);
  void ack_to_root();
  DatagramHeader answer(DatagramKind kind) const;
  void nack(int64_t now);
  void remind(int64_t now);
  void plan_nack(bool fresh, int64_t now);
  void finish_if_complete();

  Context* const context_;
  const uint32_t root_;
  const uint64_t serial_;
  const Match match_;
  const uint64_t total_;
  const uint32_t packets_;
  uint32_t in_row_ = 0;     ///< packets that have arrived without a gap
  uint32_t seen_past_ = 0;  ///< packets that the root has sent, as far as heard
  std::vector<uint64_t> have_;
  char* target_ = nullptr;
  std::unique_ptr<char[]> kept_;
  TransferCompletion* completion_ = nullptr;
  bool posted_ = false, discarded_ = false;
  bool announced_ = false;      ///< by a poll before any data was sent
  bool root_informed_ = false;  ///< the root has heard that this member has posted
  bool data_expected_ = false;  ///< the root does not wait for receives, or all are posted
  bool hurry_ = true;           ///< the root waits for acknowledgements
  std::vector<Child> children_;
  uint32_t sent_acked_ = ~0u;  ///< what was last reported to the parent
  bool sent_posted_ = false;
  int64_t remind_at_ = 0;  ///< next reminder to the root; 0: not planned yet
  int64_t remind_interval_ = 0;
  int64_t nack_at_ = kNever;
  int64_t nack_interval_ = 0;
};

}  // namespace fgmpi::multicast
