// A transfer at its root: packets to all members until all have acknowledged them.
//
//   eager       the packets are sent at once; members store them until they post a receive
//   otherwise   a poll announces it; the packets are sent when all members have posted
//
// Window. All transfers of the process share one window (macroflow.h); a transfer that it holds
// back waits for its turn. A packet that is sent again replaces the lost one, and does not wait.
//
// Bundles. Consecutive packets are sent in one large datagram, which the network carries in
// fragments: fewer headers, fewer system calls and wake-ups. One lost fragment costs the datagram.
// So packets are sent again one by one, and after many losses further packets are sent one by one
// as well: for a while, which is longer each time.
//
// Repair. Negative acknowledgements are gathered for a moment. A packet that one member misses is
// sent to that member alone, one that several miss to all. Within a round trip a member's request
// for the same packet is not answered again, then within two, four, ...: where queues are long,
// members ask several times before a repair can have arrived.
//
// Silence. When no acknowledgement arrives, the root polls: at first all members by the tree, then
// asking for direct answers, then the silent ones by unicast too, at growing intervals and without
// end: a member may compute for hours. Meanwhile other transfers use the window. (The death of a
// process is found elsewhere.) Where all members have the data, and only receives are missing, the
// root polls seldom.
//
// Hurry. What an eager transfer has sent, if half of the window is still free, holds up nothing:
// its acknowledgements may arrive when the members have nothing else to do.
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "multicast/context.h"

namespace fgmpi::multicast {

class Outgoing final : private Macroflow::FlowSender {
 public:
  /// `data` does not change until the completion has ended. `keep`: an eager transfer; the data is
  /// copied and `completion` ends at once.
  Outgoing(Context* context, uint64_t serial, const Match& match, const char* data, size_t bytes,
           bool eager, TransferCompletion* completion);

  void start(uint64_t floor, int64_t now);
  void receive_ack(const DatagramHeader& h, int64_t now);
  void receive_nack(const DatagramHeader& h, const uint64_t* words, size_t count, int64_t now);
  void on_time(int64_t now);
  int64_t next_time() const {
    return closed_ ? kNever : repair_at_ < poll_at_ ? repair_at_ : poll_at_;
  }
  /// Ends the transfer: no more of it is sent, and members forget it.
  void abandon(int64_t now);
  /// Sets DatagramHeader::floor of further datagrams.
  void set_floor(uint64_t floor) { floor_ = floor; }

  const Match& match() const { return match_; }
  uint64_t serial() const { return serial_; }
  bool abandoned() const { return abandoned_; }
  /// True when all members have all of it and have posted receives for it: nothing is left to do.
  bool closed() const { return closed_; }
  /// True when all members have posted receives for it.
  bool posted_by_all() const { return posted_ == members_.size() - 1; }
  /// True when all members have all of it.
  bool delivered() const { return delivered_; }
  /// True when nothing is under way: the transfer waits only for receives to be posted.
  bool quiet() const;
  /// The bytes that count against the quota of what members store.
  size_t quota() const { return eager_ ? size_t{packets_} * context_->options.payload : 0; }

 private:
  struct MemberProgress {
    uint32_t acked = 0;  ///< packets that have arrived at the member without a gap
    uint32_t seen = 0;   ///< the member has seen the packet before this one, or a later one
    bool known = false;  ///< the member has heard of the transfer
    bool posted = false;
  };
  struct Repaired {
    int64_t at = 0;
    int times = 0;
  };

  DatagramHeader header(DatagramKind kind) const;
  void begin_turn(int64_t now) override;
  void pump(int64_t now);
  void send_packets(uint32_t first, uint32_t count, uint8_t flags, uint32_t to_member);
  size_t limit() const;
  uint32_t next_count() const;
  bool may_send_next() const;
  void settle();
  void record_seen(const DatagramHeader& h);
  void record_reductions();
  void poll(int64_t now);
  void progressed(uint32_t before);
  void stop_timing();
  bool is_new_loss(uint32_t packet, int64_t repaired_at) const;
  int64_t repaired_at(uint32_t packet, uint32_t member, int64_t now, bool* recent) const;
  void resend(int64_t now);
  void repair(uint32_t packet, const std::vector<uint32_t>& who, uint8_t flags, int64_t now);
  void finish_if_delivered(int64_t now);
  int64_t patience() const;
  bool may_send() const { return !abandoned_ && (eager_ || posted_by_all()); }

  static constexpr uint32_t kAll = UINT32_MAX;  ///< replaces a member

  Context* const context_;
  const uint64_t serial_;
  const Match match_;
  const char* data_;
  const size_t bytes_;
  const uint32_t packets_;
  std::unique_ptr<char[]> kept_;
  TransferCompletion* completion_;
  uint64_t floor_ = 0;
  const bool eager_;
  bool abandoned_ = false, delivered_ = false, closed_ = false;
  std::vector<MemberProgress> members_;
  uint32_t known_ = 0, posted_ = 0;  ///< how many members, without the root
  uint32_t least_ = 0;               ///< packets that all members have acknowledged
  uint32_t passed_ = 0;              ///< packets that have left the network
  uint32_t next_ = 0;                ///< the first packet that has not been sent
  // A loss reduces the window only if the lost packet was sent after the last reduction. So losses
  // of packets below recover_ do not reduce it while the number of reductions is still reductions_.
  uint32_t recover_ = 0;
  uint64_t reductions_ = 0;
  int64_t timed_at_ = kNever, sent_at_ = 0;
  uint32_t timed_ = 0;      ///< the packet whose round trip is measured
  int64_t round_trip_ = 0;  ///< from it to the last member that has acknowledged it
  bool silent_ = false;     ///< polls are not answered
  bool hurry_ = true;       ///< members are to acknowledge at once
  uint32_t polls_ = 0;      ///< since the last sign of a member
  int64_t poll_at_ = kNever, repair_at_ = kNever;
  /// Packets to be sent again, with the members that miss them.
  std::map<uint32_t, std::vector<uint32_t>> missing_;
  /// Repairs, by packet and by the member that each was sent to.
  std::map<std::pair<uint32_t, uint32_t>, Repaired> repaired_;
};

}  // namespace fgmpi::multicast
