// A transfer at a member that is not its root, from the first datagram that tells of it until its
// root says that all members have it.
//
// Packets go straight to the receive's memory when one has been posted; those of eager transfers
// wait in memory of the transfer. An acknowledgement goes up the tree when the root asks for one,
// about this member and all below it: when these have been heard of, with the least of what they
// have. A packet that misses is asked for after a random short time, in which it may still come or
// another member's request may have it sent again; then again at growing intervals. Likewise the
// acknowledgement that tells a root of the receive that it waits for is sent again until data
// comes.
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <memory>
#include <vector>

#include "transport/multicast/context.h"

namespace fgmpi::transport::multicast {

class Incoming {
 public:
  /// `h`: of any datagram of the transfer.
  Incoming(Context* context, const Header& h);

  void take_data(const Header& h, const char* payload, size_t length, int64_t now);
  void take_poll(const Header& h, const uint64_t* words, size_t count, int64_t now);
  /// From a child in the tree.
  void take_ack(const Header& h);
  /// The receive for it: `completion` ends when all is there.
  void post(char* data, size_t bytes, Completion* completion);
  /// The receive for it has other arguments: it ends, and what comes of the transfer is dropped.
  void refuse(Completion* completion);
  /// What comes of it is dropped from now on; a receive that has taken it ends with kGivenUp.
  void discard();
  void on_time(int64_t now);
  int64_t next_time() const { return waits_for_root() ? remind_at_ : nack_at_; }

  const Match& match() const { return match_; }
  uint32_t root() const { return root_; }
  uint64_t total() const { return total_; }
  bool posted() const { return posted_; }
  bool complete() const { return in_row_ == packets_; }
  /// It does not belong to the transfer that this is.
  bool contradicts(const Header& h) const { return h.total != total_ || !(match_of(h) == match_); }
  /// Nothing is on its way here: all is there, or the root has yet to begin and knows of this
  /// member.
  bool quiet() const;
  /// All is there, here and at all below this member in the tree, and the parent has been told so.
  bool acknowledged() const { return sent_posted_ && sent_acked_ == packets_; }

 private:
  struct Child {
    uint32_t member;
    uint32_t acked;
    bool known, posted;
    bool outside;  ///< it, or one below it, has not joined the group's address
  };
  /// There is a receive, and the root may not have heard so: it has yet to begin.
  bool waits_for_root() const {
    return posted_ && seen_past_ == 0 && !complete() && !(root_knows_ && children_.empty());
  }
  bool has(uint32_t packet) const { return have_[packet / 64] >> packet % 64 & 1; }
  void ack_to_parent(bool even_if_old, bool answers);
  void ack_to_root();
  Header answer(Kind kind) const;
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
  uint32_t in_row_ = 0;     ///< packets that are here without a gap
  uint32_t seen_past_ = 0;  ///< packets that the root has sent, as far as known
  std::vector<uint64_t> have_;
  char* target_ = nullptr;
  std::unique_ptr<char[]> kept_;
  Completion* completion_ = nullptr;
  bool posted_ = false, discarded_ = false;
  bool announced_ = false;   ///< by a poll before any data was sent
  bool root_knows_ = false;  ///< that this member has posted
  bool data_comes_ = false;  ///< its root does not wait for receives, or they have all been posted
  bool hurry_ = true;        ///< the root waits for acknowledgements
  std::vector<Child> children_;
  uint32_t sent_acked_ = ~0u;  ///< what the parent was told last
  bool sent_posted_ = false;
  int64_t remind_at_ = 0;  ///< while it waits for the root; 0: still to be planned
  int64_t remind_interval_ = 0;
  int64_t nack_at_ = kNever;
  int64_t nack_interval_ = 0;
};

}  // namespace fgmpi::transport::multicast
