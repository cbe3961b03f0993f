// A transfer at its root: packets to all members until all have acknowledged them.
//
//   eager       the packets go out at once; members keep them until they post a receive
//   otherwise   a poll announces it; the packets go out when all members have posted
//
// Window. All transfers of the process share one (macroflow.h); what it does not let out waits for
// its turn. A packet that is sent again takes the place of the one that was lost, which others do
// not wait for.
//
// Bundles. Packets that follow each other go out in one large datagram, which the network carries
// in fragments: fewer headers, fewer system calls and wake-ups. One fragment that is lost costs the
// datagram, so packets are sent again one by one, and where many have to be, further ones go out
// one by one as well; for a while, which is longer each time.
//
// Repair. Negative acknowledgements are gathered for a moment. A packet that one member misses is
// sent to that member alone, one that several miss to all. Within a round trip a member's request
// for the same packet is not answered again, then within two, four, ...: where queues are long,
// members ask several times before a repair can have come.
//
// Silence. When no acknowledgement comes, the root polls: at first all members by way of the tree,
// then asking for direct answers, then the silent ones by unicast too, at growing intervals, for as
// long as it takes: a member may compute for hours. Meanwhile other transfers use the window. (That
// a process has died is for others to find out.) Where all have the data, and only receives miss,
// it polls seldom.
//
// Hurry. What was sent by an eager transfer, and leaves half of the window free, holds up nobody:
// its acknowledgements may come when the members have nothing else to do.
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "transport/multicast/context.h"

namespace fgmpi::transport::multicast {

class Outgoing final : private Macroflow::Sender {
 public:
  /// `data` stays as it is until the completion has ended. `keep`: an eager one; the data is copied
  /// and `completion` ends at once.
  Outgoing(Context* context, uint64_t serial, const Match& match, const char* data, size_t bytes,
           bool eager, Completion* completion);

  void start(uint64_t floor, int64_t now);
  void take_ack(const Header& h, int64_t now);
  void take_nack(const Header& h, const uint64_t* words, size_t count, int64_t now);
  void on_time(int64_t now);
  int64_t next_time() const {
    return closed_ ? kNever : repair_at_ < poll_at_ ? repair_at_ : poll_at_;
  }
  /// No more of it is sent, and members forget it.
  void abandon(int64_t now);
  /// What goes into datagrams as Header::floor.
  void set_floor(uint64_t floor) { floor_ = floor; }

  const Match& match() const { return match_; }
  uint64_t serial() const { return serial_; }
  bool abandoned() const { return abandoned_; }
  /// All members have it all and have posted receives for it: nothing is left to do.
  bool closed() const { return closed_; }
  /// All members have posted receives for it.
  bool taken_by_all() const { return posted_ == members_.size() - 1; }
  /// All members have all of it.
  bool delivered() const { return delivered_; }
  /// Nothing is on its way: only receives that are not posted are waited for.
  bool quiet() const;
  /// What counts against the quota of bytes that members keep.
  size_t quota() const { return eager_ ? size_t{packets_} * context_->options.payload : 0; }

 private:
  struct Member {
    uint32_t acked = 0;  ///< packets that have come to it in a row
    uint32_t seen = 0;   ///< it has seen the one before this, or a later one
    bool known = false;  ///< it has heard of the transfer
    bool posted = false;
  };
  struct Repaired {
    int64_t at = 0;
    int times = 0;
  };

  Header header(Kind kind) const;
  void take_turn(int64_t now) override;
  void pump(int64_t now);
  void send_packets(uint32_t first, uint32_t count, uint8_t flags, uint32_t to_member);
  size_t limit() const;
  uint32_t next_count() const;
  bool may_send_next() const;
  void settle();
  void note_seen(const Header& h);
  void note_reductions();
  void poll(int64_t now);
  void progressed(uint32_t before);
  void stop_timing();
  bool is_new_loss(uint32_t packet, int64_t repaired_at) const;
  int64_t repaired_at(uint32_t packet, uint32_t member, int64_t now, bool* recent) const;
  void resend(int64_t now);
  void repair(uint32_t packet, const std::vector<uint32_t>& who, uint8_t flags, int64_t now);
  void finish_if_delivered(int64_t now);
  int64_t patience() const;
  bool may_send() const { return !abandoned_ && (eager_ || taken_by_all()); }

  static constexpr uint32_t kAll = UINT32_MAX;  ///< in place of a member

  Context* const context_;
  const uint64_t serial_;
  const Match match_;
  const char* data_;
  const size_t bytes_;
  const uint32_t packets_;
  std::unique_ptr<char[]> kept_;
  Completion* completion_;
  uint64_t floor_ = 0;
  const bool eager_;
  bool abandoned_ = false, delivered_ = false, closed_ = false;
  std::vector<Member> members_;
  uint32_t known_ = 0, posted_ = 0;  ///< how many members, the root aside
  uint32_t least_ = 0;               ///< packets that all have acknowledged
  uint32_t passed_ = 0;              ///< packets that have left the network
  uint32_t next_ = 0;                ///< the first packet that has not been sent
  // A loss of what was sent before the window was last reduced is no reason to do so again: of
  // packets below this one, where so many reductions had been made when the last one was sent.
  uint32_t recover_ = 0;
  uint64_t reductions_ = 0;
  int64_t timed_at_ = kNever, sent_at_ = 0;
  uint32_t timed_ = 0;      ///< the packet whose round trip is measured
  int64_t round_trip_ = 0;  ///< of it, to the last member that has acknowledged it so far
  bool silent_ = false;     ///< polls are not answered
  bool hurry_ = true;       ///< members are to acknowledge at once
  uint32_t polls_ = 0;      ///< since something was heard
  int64_t poll_at_ = kNever, repair_at_ = kNever;
  /// Packets to be sent again, and who misses them.
  std::map<uint32_t, std::vector<uint32_t>> missing_;
  /// By packet and whom it was sent to again.
  std::map<std::pair<uint32_t, uint32_t>, Repaired> repaired_;
};

}  // namespace fgmpi::transport::multicast
