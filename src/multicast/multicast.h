// Level two over IP multicast: what a process sends reaches all others of the team at once.
//
// The layer above decides which collectives go by multicast. The processes agree on the
// communicator's group at the first use (comm_groups.h). A receiver finds a transfer by the
// collective's context id and tag, its root, and the number of its step. Both ends must give the
// same length.
//
// Thread rule: one thread; transfers may switch. Errors: MPI_ERR_TRUNCATE for another length,
// MPI_ERR_TYPE for other types, and the error with which the collective has failed meanwhile.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "multicast/caller.h"
#include "multicast/comm_groups.h"

namespace fgmpi::multicast {

class MulticastTransfer;

/// The connection of a collective to all its other processes, or to some of them.
class Multicast {
 public:
  /// `types`: a number for the type signature of the data; 0: not known. REQUIRES: `group` is the
  /// result of group_of(caller).
  Multicast(const MulticastCaller& caller, Membership* group, uint32_t types);
  /// Makes a connection of the same collective to these of its processes only. REQUIRES: `group` is
  /// theirs (subgroups.h).
  Multicast(const Multicast& whole, Membership* group, const std::vector<uint32_t>& members);
  const MulticastCaller& caller() const { return caller_; }
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
  Multicast(const MulticastCaller& caller, Membership* group, uint32_t types,
            const std::vector<uint32_t>& members);
  Match match(uint16_t step) const;
  const MulticastCaller& caller_;
  Membership* group_;
  uint32_t types_;
  /// The index in the group of each process of the team. Up to nine need no allocation.
  boost::container::small_vector<uint32_t, 9> index_;
};

/// A transfer under way. It must not move until it has been finished.
class MulticastTransfer final : public pt2pt::Request {
 public:
  MulticastTransfer() = default;
  void describe(std::string* out) const override;
  void cancel() override {}
  TransferCompletion completion;
  size_t bytes = 0;  ///< length that both ends expect
  bool sends = false;

 private:
  friend class Multicast;
  void prepare(const MulticastCaller& caller, size_t n, bool is_send);
};

}  // namespace fgmpi::multicast
