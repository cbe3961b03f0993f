// Service: the multicast of a process: its sockets, its groups, and their timers. A process has
// one, made at the first use; processes that never use multicast have none.
//
// To the idle loop (transport/idle.h) and to pt2pt's progress it is a WaitSource: they poll it and
// sleep on its descriptor, an epoll of all its sockets.
//
// Strangers. A datagram is accepted only with the tag of a group that this process is in; others
// are dropped and counted. Strangers may send to a group's address: another job, say, that has
// drawn the same one. Then on_collision is called. The members then move to another address
// (comm_groups.cc; groups that live on for some members: subgroups.h). In a
// group that is made for one call, the members that see the strangers stay outside.
//
// A member may be asked about a group that it has yet to join: its root is faster. A few polls and
// acknowledgements of unknown groups are stored, and join() handles them.
//
// Memberships are limited (net.ipv4.igmp_max_memberships; switches have tables, too). Beyond the
// limit the least recently used group is left. A member that has left gets what is sent to the
// group by unicast, until it uses the group again.
//
// Thread rule: one thread. Nothing here switches. Completions end inside poll() and inside the
// calls that have them as an argument.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "multicast/membership.h"
#include "multicast/sockets.h"
#include "transport/waiting.h"

namespace fgmpi::multicast {

/// The setting FGMPI_MULTICAST.
enum class MulticastMode : uint8_t { kAuto, kOn, kOff };
MulticastMode mode();

class Service final : public transport::WaitSource {
 public:
  /// Opens the process's own socket; idempotent. `own_host`: other processes of the job are on this
  /// host. An error is stored: later calls return it, too. May be called on any stack.
  Status start(bool own_host);
  /// The error of start() or set_broken(), in words; empty while all is well.
  const std::string& why_not() const { return why_not_; }
  /// From now on start() fails with these words, since datagrams to groups do not arrive.
  void set_broken(const std::string& why);
  // REQUIRES for the rest: start() was ok.
  const MulticastAddress& own() const { return own_; }
  /// The most bytes of a packet that fit a datagram of the interface; at most 16 KiB.
  size_t most_payload() const { return most_payload_; }

  /// How many packets of a transfer may be under way: as many as a receive buffer of this process's
  /// size holds, and no more than the network needs to be busy.
  uint32_t most_window(size_t payload) const;
  /// How many packets of `payload` bytes are sent in one datagram, carried in fragments, where few
  /// are lost.
  uint32_t bundle(size_t payload) const;
  uint32_t most_bundled_window(size_t payload) const;

  /// Joins a group. The pointer is valid until leave(). Error: there is a group with this id.
  Status join(const GroupSpec& spec, Membership** out);
  /// Leaves a group. What has been sent is delivered nevertheless.
  void leave(Membership* membership);
  /// The group with this id, or nullptr when this process is not in it.
  Membership* find(uint64_t id);
  /// Moves the group to another address. The members have agreed on it.
  void move(Membership* membership, const MulticastAddress& address);
  /// Leaves the group's address for ever: from now on this member gets what is sent to the
  /// group by unicast.
  void refuse_to_join(Membership* membership);
  /// Finds out whether what is sent to the group's address arrives at all members except those in
  /// `outside`: a poll() calls done(membership, it arrives) within about a second.
  void probe(Membership* membership, const std::vector<uint32_t>& outside,
             void (*done)(Membership* membership, bool all));

  void send(Membership* to, const Match& match, const char* data, size_t bytes,
            TransferCompletion* completion);
  void receive(Membership* from, uint32_t root, const Match& match, char* data, size_t bytes,
               TransferCompletion* completion);
  void expect(Membership* from, uint32_t root, const Match& match, TransferCompletion* completion);
  /// Calls TransferGroup::give_up() in all groups.
  void give_up(uint64_t ctx, int32_t tag, int32_t mask);

  /// Sets the function that is called when strangers send to the address of a group; it
  /// must not switch.
  void set_on_collision(void (*handler)(Membership* membership)) { on_collision_ = handler; }

  /// Sets the function that is called, within a poll(), for a transfer that no receive waits for
  /// yet; it must not switch.
  void set_on_unexpected(void (*handler)(Membership* membership, uint32_t root,
                                         const Match& match)) {
    on_unexpected_ = handler;
  }

  struct ServiceTotals {
    uint64_t groups = 0;     ///< that this process has entered
    uint64_t moves = 0;      ///< of these groups, to other addresses
    uint64_t transfers = 0;  ///< with this process as their root
    uint64_t bytes = 0;      ///< in these transfers
    uint64_t repairs = 0;    ///< packets sent again
    uint64_t dropped = 0;    ///< datagrams of strangers, and malformed ones
  };
  ServiceTotals totals() const;
  size_t groups() const { return groups_.size(); }
  size_t joined() const;

  // transport::WaitSource
  bool poll() override;
  bool arm() override;
  int wait_fd() const override { return epoll_.fd(); }
  int64_t longest_sleep() const override;
  bool quiet() const override;

  /// Sends the datagrams that were held back, then leaves all groups. start() fails from now on.
  void close();

 private:
  struct Forgotten {
    uint64_t id;
    GroupKey key;
    uint32_t me;
  };
  Status open_sockets(bool own_host);
  bool receive_all(const Socket& socket, Membership* joined_to);
  void receive_datagram(char* datagram, size_t length, const sockaddr_storage& from,
                        Membership* joined_to);
  void receive_probe(Membership* membership, const DatagramHeader& header);
  bool answer_as_forgotten(const char* datagram, size_t length, const DatagramHeader& header,
                           const sockaddr_storage& from);
  void stranger(Membership* joined_to);
  bool store_early(const char* datagram, size_t length, const DatagramHeader& header);
  void receive_early(Membership* membership);
  void use(Membership* membership);
  void join_address(Membership* membership);
  void leave_address(Membership* membership);
  void changed(Membership* membership);
  void on_time(Membership* membership, int64_t now);
  void set_next_time(Membership* membership);
  void send_batched();
  void drop_delivered();
  void report_unexpected();

  Interface interface_;
  MulticastAddress own_;
  Socket socket_, epoll_;
  Outbox outbox_{&socket_};
  size_t most_payload_ = 0, most_joined_ = 20;
  bool started_ = false;
  std::string why_not_;
  Macroflow flow_;  ///< of all groups
  std::unordered_map<uint64_t, std::unique_ptr<Membership>> groups_;
  std::deque<Forgotten> forgotten_;
  std::deque<std::vector<char>> early_;  ///< datagrams of groups that may be joined soon
  std::vector<char> buffers_;
  size_t buffer_ = 0;          ///< bytes of one of them
  std::vector<uint64_t> due_;  ///< groups that poll() is working on
  int64_t next_time_ = kNever, next_check_ = 0, batched_since_ = kNever;
  uint32_t leaving_ = 0;
  uint64_t uses_ = 0, turns_ = 0;  ///< turns: of flow_, which may set the timer of any group
  uint64_t entered_ = 0, moves_ = 0, transfers_ = 0, bytes_ = 0, dropped_ = 0, past_repairs_ = 0;
  void (*on_collision_)(Membership*) = nullptr;
  void (*on_unexpected_)(Membership*, uint32_t, const Match&) = nullptr;
};

/// The service of this process. Never destroyed.
Service& service();
/// Sets the function that is called when the service has opened its sockets. It must poll the
/// service and sleep on it from then on.
void set_opened_handler(void (*handler)(Service* service));

/// Draws an address for a group, which nobody can guess.
MulticastAddress draw_address(uint8_t family);

}  // namespace fgmpi::multicast
