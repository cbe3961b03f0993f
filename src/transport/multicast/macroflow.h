// Congestion control of a process: one window for all transfers of all its groups, since they leave
// by one interface and meet in the same receivers' buffers. With a window each, as many transfers
// as there are would be under way at once, and what they have in flight would have no limit.
//
// A congestion manager's macroflow (Balakrishnan, Rahul, Seshan, "An Integrated Congestion
// Management Architecture for Internet Hosts", SIGCOMM 1999; RFC 3124): the window, the round trip
// and the losses are those of all transfers together, and transfers that the window does not let
// send take turns.
//
//   window     bytes in flight at most, but for a datagram when none are. Doubles in a round trip
//              up to the threshold, then grows by a packet a round trip; halved by losses, once for
//              all that was sent before (Jacobson, "Congestion Avoidance and Control", SIGCOMM
//              1988). Grows only while it is what limits (RFC 7661).
//   open       what was sent and is not acknowledged by all members; it has the limit that buffers
//              set. What a transfer of whose members one is silent has open counts no more: that
//              member may compute for hours, and other transfers do not wait for it.
//   in flight  of this, what has not left the network, as far as members have said: what was sent
//              behind all that they have seen. A packet that some of many members miss is open
//              until it has been sent again and has come, for several round trips; the window would
//              stand still meanwhile (Mathis, Mahdavi, "Forward Acknowledgement: Refining TCP
//              Congestion Control", SIGCOMM 1996).
//   repairs    a packet that is sent again takes the place of the lost one (Jacobson's conservation
//              of packets); of all transfers together at most a window leaves in a round trip.
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.h"
#include "base/list.h"

namespace fgmpi::transport::multicast {

/// Which losses reduce the window. Among many members one or another misses something all the time:
/// a window that every one of them halves comes down to nothing, though each has little trouble. So
/// a member's losses halve it with probability 1/n where n members have trouble, which are those
/// that miss at least a twentieth of what the worst one does (the random listening algorithm: Wang,
/// Schwartz, "Achieving Bounded Fairness for Multicast and TCP Traffic in the Internet", SIGCOMM
/// 1998).
class Trouble {
 public:
  explicit Trouble(uint32_t members) : signals_(members, 0) {}
  /// The member has reported losses. True: they reduce the window.
  bool reduces(uint32_t member, RandomSequence* random);

 private:
  std::vector<float> signals_;  ///< reports of each member, lately
};

class Macroflow {
 public:
  /// A transfer. It has a share of what is in flight, and a place among those that wait for the
  /// window.
  class Sender {
   public:
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

    Sender *next = nullptr, *prev = nullptr;

   protected:
    explicit Sender(Macroflow* flow) : flow_(flow) {}
    ~Sender();
    /// Its turn: sends at least a datagram, if it still wants to; waits again for more.
    virtual void take_turn(int64_t now) = 0;
    Macroflow& flow() const { return *flow_; }

   private:
    friend class Macroflow;
    Macroflow* const flow_;
    size_t charge_ = 0, open_ = 0, wants_ = 0, limit_ = 0;
    bool waits_ = false;
  };

  /// To be called before something is sent: after a second without anything in flight what is known
  /// is out of date.
  void begin(size_t packet, int64_t now);
  /// `limit`: bytes that may be open at most, whatever the window is.
  bool may_send(size_t bytes, size_t limit, int64_t now) const {
    if (open_ == 0) return true;
    return open_ + bytes <= limit &&
           (in_flight_ == 0 || in_flight_ + bytes + repairing(limit, now) <= window(limit));
  }
  size_t window(size_t limit) const {
    return window_ < static_cast<double>(limit) ? static_cast<size_t>(window_) : limit;
  }
  /// What the sender has in flight now, and open. REQUIRES: in_flight <= open.
  void set_charge(Sender* sender, size_t in_flight, size_t open) {
    in_flight_ += in_flight - sender->charge_;
    sender->charge_ = in_flight;
    open_ += open - sender->open_;
    sender->open_ = open;
  }
  size_t in_flight() const { return in_flight_; }
  size_t open() const { return open_; }
  size_t charge(const Sender& sender) const { return sender.charge_; }

  /// The sender has its turn when so many bytes may be sent. It stays where it is among those that
  /// wait.
  void wait(Sender* sender, size_t bytes, size_t limit);
  void stop_waiting(Sender* sender);
  bool waits(const Sender& sender) const { return sender.waits_; }
  bool others_wait() const { return !waiting_.empty(); }
  /// Gives turns for what the window allows. Not within a turn.
  void serve(int64_t now);
  /// So many turns have been given.
  uint64_t turns() const { return turns_; }

  /// `bytes` of what was in flight have come to all members of their group; `before`: what was in
  /// flight until then.
  void acknowledged(size_t bytes, size_t before, size_t packet);
  /// A member has something to say about a transfer.
  void heard(int64_t now) { heard_at_ = now; }
  /// Something that was sent after the last reduction has been lost. Halves the window.
  void lost(size_t packet, int64_t now);
  /// A transfer's polls are not answered. Where nobody has been heard since it last sent, whatever
  /// the transfer, all may have been lost, and the window begins anew.
  void silent(int64_t sent_at, size_t packet, int64_t now);
  /// A packet is sent again now. When the next one may be: INT64_MAX: at once.
  int64_t next_repair(size_t packet, size_t limit, int64_t now);
  /// So often the window has been reduced, and when it was last.
  uint64_t reductions() const { return reductions_; }
  int64_t reduced_at() const { return reduced_at_; }

  void measure(int64_t round_trip);
  /// Round trips (ns): their mean and mean deviation; 0: none has been measured.
  int64_t mean() const { return mean_; }
  int64_t deviation() const { return deviation_; }

  // Bundles: is it worth it to send packets together in a large datagram, of which one lost
  // fragment costs all?
  bool bundles() const { return small_ == 0; }
  /// Packets have been sent: each in a datagram of its own, or several in one.
  void count_sent(uint32_t packets, uint32_t bundle);
  /// One has been sent again.
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
  uint64_t sent_ = 0, repaired_ = 0;  ///< packets, lately
  uint64_t small_ = 0;       ///< so many packets are to go out one a datagram: many got lost
  uint64_t next_small_ = 0;  ///< so many the next time that many get lost
  bool serving_ = false;
  List<Sender> waiting_;
};

}  // namespace fgmpi::transport::multicast
