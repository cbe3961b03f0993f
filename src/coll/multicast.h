// Level two over IP multicast: what a process sends goes to all others of the team at once.
//
// Which collectives do: selector.cc, by picks_multicast(); the group of the communicator is agreed
// on at the first use (multicast_groups.h). A transfer is found at the receivers by the
// collective's context id and tag, its root, and a number of its step; both ends must give the same
// length.
//
// Thread rule: one thread; transfers may switch. Errors: as those of Team's messages.
#pragma once

#include <memory>
#include <vector>

#include "base/settings.h"
#include "coll/algorithms.h"
#include "coll/multicast_groups.h"
#include "coll/team.h"

namespace fgmpi::coll {

struct Shape;

/// Is this collective to go by multicast, as far as settings, hosts and shape (picks_multicast())
/// say: the same at all its processes. Nothing is sent to find out.
bool wants_multicast(const Team& team, settings::Id setting, const Shape& shape);

class MulticastTransfer;

/// The way to all other processes of a team.
class Multicast {
 public:
  /// REQUIRES: `group` is what group_of(team) gave.
  Multicast(const Team& team, transport::multicast::Membership* group);
  /// To these members of the team only. REQUIRES: `group` is theirs (multicast_subgroups.h).
  Multicast(const Team& team, transport::multicast::Membership* group,
            const std::vector<uint32_t>& members);
  /// Bytes of a packet.
  size_t payload() const { return group_->group.options().payload; }

  /// Sends to all others. Returns when all have it, or when it has been copied. May switch.
  Status send(const void* data, size_t bytes, uint16_t step = 0) const;
  /// Receives what process `from` of the team sends. May switch.
  Status recv(uint32_t from, void* data, size_t bytes, uint16_t step = 0) const;
  /// Waits until the next transfer of process `from` is announced: *bytes is its length. May
  /// switch.
  Status expect(uint32_t from, size_t* bytes, uint16_t step = 0) const;

  /// Begun here, finished by the transfer. Never switch.
  void start_send(const void* data, size_t bytes, uint16_t step, MulticastTransfer* transfer) const;
  void start_recv(uint32_t from, void* data, size_t bytes, uint16_t step,
                  MulticastTransfer* transfer) const;
  /// Waits for them: the first error, or `first` if that is one. Those that are nullptr are left
  /// out. When the collective is about to end with an error, transfers that others do not receive
  /// any more are abandoned.
  Status finish(MulticastTransfer* transfers, size_t count) const;
  Status finish_after(Status first, std::initializer_list<MulticastTransfer*> transfers) const;

 private:
  transport::multicast::Match match(uint16_t step) const;
  const Team& team_;
  transport::multicast::Membership* group_;
  uint32_t types_;
  PerProcess<uint32_t> index_;  ///< in the group, of each process of the team
};

/// A transfer under way. It stays where it is until it has been finished.
class MulticastTransfer final : public pt2pt::Request {
 public:
  MulticastTransfer() = default;
  void describe(std::string* out) const override;
  void cancel() override {}
  transport::multicast::Completion completion;
  size_t bytes = 0;  ///< that were to come
  bool sends = false;

 private:
  friend class Multicast;
  void prepare(const Team& team, size_t n, bool is_send);
};

}  // namespace fgmpi::coll
