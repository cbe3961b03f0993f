// TransferNetwork: the ways of transfers between nodes, and the shares of those that move at the
// same time; also those of accesses to files.
//
// The first links of FlowShares are the ports: node i sends by link 2 * i and receives by 2 * i +
// 1. The servers of files are one more link, and those of the topology follow. A flow's work is
// what the transfer keeps a port busy for, or what the access takes a client alone.
//
// Thread rule: one thread; nothing here switches.
#pragma once

#include <memory>
#include <vector>

#include "predict/flows.h"
#include "predict/machine.h"
#include "predict/topology.h"

namespace fgmpi::predict {

struct PredictedTransfer;

class TransferNetwork {
 public:
  TransferNetwork(const PredictedMachine& machine, uint32_t nodes);

  /// The latency that the way adds to that of the class of links.
  VirtualTime latency(uint32_t from_node, uint32_t to_node) const {
    return topology_.latency(from_node, to_node);
  }
  /// Do transfers share links, or wait for ports?
  bool shares_links() const { return shares_links_; }
  /// Is there anything that has shares?
  bool has_shares() const { return shares_ != nullptr; }
  /// The bytes of an access to a file begin to move. REQUIRES: has_shares(), here and below.
  void begin_file(VirtualTime now, const FileSystem& files, PredictedTransfer* transfer,
                  uint64_t bytes);
  /// The bytes of a transfer begin to move. REQUIRES: shares_links().
  void begin(VirtualTime now, const LinkPiece& piece, uint64_t bytes, uint32_t from_node,
             uint32_t to_node, PredictedTransfer* transfer);
  /// When the first transfer's bytes have moved, if none begins before. `now`: the latest event;
  /// `until`: the next one. Shares are only computed when time passes between them.
  VirtualTime first(VirtualTime now, VirtualTime until) {
    if (shares_->is_stale()) {
      if (until <= now) return kNever;
      shares_->share(now);
    }
    return shares_->first();
  }
  PredictedTransfer* pop() { return static_cast<PredictedTransfer*>(shares_->pop()); }

 private:
  const MachineTopology topology_;
  const uint32_t file_link_;  ///< behind the ports; those of the topology follow
  const bool shares_links_;
  std::unique_ptr<FlowShares> shares_;
  std::vector<uint32_t> way_;
  std::vector<LinkUse> uses_;
};

}  // namespace fgmpi::predict
