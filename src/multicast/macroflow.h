// Congestion control of a process: one window for all transfers of all its groups, since they leave
// by one interface and meet in the same receivers' buffers. If each had its own window, all
// transfers would be under way at once, and the bytes in flight would have no limit.
//
// The class is a congestion manager's macroflow (Balakrishnan, Rahul, Seshan, "An Integrated
// Congestion Management Architecture for Internet Hosts", SIGCOMM 1999; RFC 3124). The window, the
// round trip and the losses are those of all transfers together. Transfers that the window holds
// back take turns.
//
//   window     most bytes in flight; one datagram is allowed when none are. Doubles in a round trip
//              up to the threshold, then grows by a packet a round trip. Losses halve it, once for
//              all that was sent before (Jacobson, "Congestion Avoidance and Control", SIGCOMM
//              1988). Grows only while it is what limits (RFC 7661).
//   open       bytes that were sent and are not acknowledged by all members; limited by the size of
//              buffers. If a member of a transfer is silent, the transfer's open bytes do not count
//              any more: the member may compute for hours, and other transfers do not wait for it.
//   in flight  the open bytes that have not left the network, as far as members have reported: what
//              was sent behind all that they have seen. A packet that some of many members miss
//              stays open until it has been sent again and has arrived, for several round trips;
//              the window would not move meanwhile (Mathis, Mahdavi, "Forward Acknowledgement:
//              Refining TCP Congestion Control", SIGCOMM 1996).
//   repairs    a packet that is sent again replaces the lost one (Jacobson's conservation of
//              packets); all transfers together send at most a window of them in a round trip.
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.h"
#include "base/list.h"

namespace fgmpi::multicast {

/// Which losses reduce the window. Among many members some member misses something all the time. A
/// window that every one of them halves would shrink to nothing, though each has few losses. So a
/// member's losses halve it with probability 1/n where n members have trouble. These are the
/// members that miss at least a twentieth of what the worst one does (the random listening
/// algorithm: Wang, Schwartz, "Achieving Bounded Fairness for Multicast and TCP Traffic in the
/// Internet", SIGCOMM 1998).
class Trouble {
 public:
  explicit Trouble(uint32_t members) : signals_(members, 0) {}
  /// Records that the member has reported losses. True: they reduce the window.
  bool reduces(uint32_t member, RandomSequence* random);

 private:
  std::vector<float> signals_;  ///< recent reports of each member
};

class Macroflow {
 public:
  /// A transfer, which has a share of the bytes in flight and a position among those that wait
  /// for the window.
  class FlowSender {
   public:
    FlowSender(const FlowSender&) = delete;
    FlowSender& operator=(const FlowSender&) = delete;

    FlowSender *next = nullptr, *prev = nullptr;

   protected:
    explicit FlowSender(Macroflow* flow) : flow_(flow) {}
    ~FlowSender();
    /// Called at its turn: sends at least a datagram, if it still wants to; waits again for more.
    virtual void begin_turn(int64_t now) = 0;
    Macroflow& flow() const { return *flow_; }

   private:
    friend class Macroflow;
    Macroflow* const flow_;
    size_t charge_ = 0, open_ = 0, wants_ = 0, limit_ = 0;
    bool waits_ = false;
  };

  /// Called before something is sent: after a second without anything in flight, the measured
  /// values are out of date.
  void begin(size_t packet, int64_t now);
  /// `limit`: the most bytes that may be open, whatever the window is.
  bool may_send(size_t bytes, size_t limit, int64_t now) const {
    if (open_ == 0) return true;
    return open_ + bytes <= limit &&
           (in_flight_ == 0 || in_flight_ + bytes + repairing(limit, now) <= window(limit));
  }
  size_t window(size_t limit) const {
    return window_ < static_cast<double>(limit) ? static_cast<size_t>(window_) : limit;
  }
  /// Sets the sender's bytes in flight and open. REQUIRES: in_flight <= open.
  void set_charge(FlowSender* sender, size_t in_flight, size_t open) {
    in_flight_ += in_flight - sender->charge_;
    sender->charge_ = in_flight;
    open_ += open - sender->open_;
    sender->open_ = open;
  }
  size_t in_flight() const { return in_flight_; }
  size_t open() const { return open_; }
  size_t charge(const FlowSender& sender) const { return sender.charge_; }

  /// Gives the sender its turn when this many bytes may be sent. A waiting sender stays at
  /// its position.
  void wait(FlowSender* sender, size_t bytes, size_t limit);
  void stop_waiting(FlowSender* sender);
  bool waits(const FlowSender& sender) const { return sender.waits_; }
  bool others_wait() const { return !waiting_.empty(); }
  /// Gives turns, as many as the window allows. Must not be called within a turn.
  void serve(int64_t now);
  /// How many turns have been given.
  uint64_t turns() const { return turns_; }

  /// Records that `bytes` of what was in flight have arrived at all members of their group;
  /// `before`: bytes in flight until then.
  void acknowledged(size_t bytes, size_t before, size_t packet);
  /// Records that a member has reported something about a transfer.
  void heard(int64_t now) { heard_at_ = now; }
  /// Records that something that was sent after the last reduction has been lost.
  /// Halves the window.
  void lost(size_t packet, int64_t now);
  /// Records that a transfer's polls are not answered. Where no member has been heard since it last
  /// sent, about any transfer, all may have been lost, and the window starts again.
  void silent(int64_t sent_at, size_t packet, int64_t now);
  /// Counts a packet that is sent again now. Returns when the next one may be sent;
  /// INT64_MAX: at once.
  int64_t next_repair(size_t packet, size_t limit, int64_t now);
  /// How often the window has been reduced, and when it was last.
  uint64_t reductions() const { return reductions_; }
  int64_t reduced_at() const { return reduced_at_; }

  void measure(int64_t round_trip);
  /// Round trips (ns): their mean and mean deviation; 0: none has been measured.
  int64_t mean() const { return mean_; }
  int64_t deviation() const { return deviation_; }

  // Bundles: do they pay? Packets are sent together in a large datagram, of which one lost
  // fragment costs all.
  bool bundles() const { return small_ == 0; }
  /// Counts packets that were sent: each in a datagram of its own, or several in one.
  void count_sent(uint32_t packets, uint32_t bundle);
  /// Counts a packet that was sent again.
  void count_repair(uint32_t bundle);

 private:
  void reduce(double window, int64_t now);
  int64_t round_trip() const;
  size_t repairing(size_t limit, int64_t now) const;

  double window_ = 0, threshold_ = 0;  ///< bytes; 0: nothing has been sent
  size_t in_flight_ = 0, open_ = 0;
  int64_t used_at_ = 0, heard_at_ = 0, reduced_at_ = 0, repaired_until_ = 0;
  uint64_t reductions_ = 0, turns_ = 0;
  int64_t mean_ = 0, deviation_ = 0;
  uint64_t sent_ = 0, repaired_ = 0;  ///< packets, recently
  /// How many packets are still to be sent one a datagram, since many were lost.
  uint64_t small_ = 0;
  uint64_t next_small_ = 0;  ///< that number for the next time that many are lost
  bool serving_ = false;
  List<FlowSender> waiting_;
};

}  // namespace fgmpi::multicast
