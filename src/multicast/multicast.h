// Level two over IP multicast: what a process sends reaches all others of the team at once.
//
// The selector decides which collectives go by multicast (picks_multicast() in selector.cc). The
// processes agree on the communicator's group at the first use (multicast_groups.h). A receiver
// finds a transfer by the collective's context id and tag, its root, and the number of its step.
// Both ends must give the same length.
//
// Thread rule: one thread; transfers may switch. Errors: those of Team's messages.
#pragma once

#include <memory>
#include <vector>

#include "base/settings.h"
#include "coll/algorithms.h"
#include "coll/multicast_groups.h"
#include "coll/team.h"

namespace fgmpi::coll {

struct Shape;

/// True if this collective must go by multicast, as far as settings, hosts and shape
/// (picks_multicast()) decide. The result is the same at all its processes. No message is sent to
/// find out.
bool wants_multicast(const Team& team, settings::SettingId setting, const Shape& shape);

class MulticastTransfer;

/// The connection to all other processes of a team, or to some of them.
class Multicast {
 public:
  /// REQUIRES: `group` is the result of group_of(team).
  Multicast(const Team& team, multicast::Membership* group);
  /// Makes a connection to these members of the team only. REQUIRES: `group` is
  /// theirs (multicast_subgroups.h).
  Multicast(const Team& team, multicast::Membership* group, const std::vector<uint32_t>& members);
  /// The bytes of data that fit a packet.
  size_t payload() const { return group_->group.options().payload; }

  /// Sends to all others. Returns when all have received the data, or when it has been copied.
  /// May switch.
  Status send(const void* data, size_t bytes, uint16_t step = 0) const;
  /// Receives what process `from` of the team sends. May switch.
  Status recv(uint32_t from, void* data, size_t bytes, uint16_t step = 0) const;
  /// Waits until the next transfer of process `from` is announced: *bytes is its length. May
  /// switch.
  Status expect(uint32_t from, size_t* bytes, uint16_t step = 0) const;

  /// Begin a transfer, which finish() completes. Neither switches.
  void start_send(const void* data, size_t bytes, uint16_t step, MulticastTransfer* transfer) const;
  void start_recv(uint32_t from, void* data, size_t bytes, uint16_t step,
                  MulticastTransfer* transfer) const;
  /// Waits for transfers. finish_after() returns `first` if that is an error, else the first error
  /// of the transfers; it skips nullptr. When the collective is about to end with an error,
  /// transfers that others do not receive any more are abandoned.
  Status finish(MulticastTransfer* transfers, size_t count) const;
  Status finish_after(Status first, std::initializer_list<MulticastTransfer*> transfers) const;

 private:
  multicast::Match match(uint16_t step) const;
  const Team& team_;
  multicast::Membership* group_;
  uint32_t types_;
  PerProcess<uint32_t> index_;  ///< in the group, of each process of the team
};

/// A transfer under way. It must not move until it has been finished.
class MulticastTransfer final : public pt2pt::Request {
 public:
  MulticastTransfer() = default;
  void describe(std::string* out) const override;
  void cancel() override {}
  multicast::TransferCompletion completion;
  size_t bytes = 0;  ///< length that both ends expect
  bool sends = false;

 private:
  friend class Multicast;
  void prepare(const Team& team, size_t n, bool is_send);
};

}  // namespace fgmpi::coll
