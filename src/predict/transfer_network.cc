// Flows of transfers.

#include "predict/transfer_network.h"

#include <algorithm>

namespace fgmpi::predict {

TransferNetwork::TransferNetwork(const PredictedMachine& machine, uint32_t nodes)
    : topology_(machine.topology), first_link_(2 * nodes) {
  if (machine.contention == ContentionModel::kLinks)
    shares_ = std::make_unique<FlowShares>(first_link_ + topology_.links());
}

void TransferNetwork::begin(VirtualTime now, const LinkPiece& piece, uint64_t bytes,
                            uint32_t from_node, uint32_t to_node, PredictedTransfer* transfer) {
  const VirtualTime work = std::max<VirtualTime>(occupancy(piece, bytes), 1);
  uses_.assign({{2 * from_node, 1}, {2 * to_node + 1, 1}});
  topology_.route(from_node, to_node, &way_);
  for (const uint32_t number : way_) {
    const double needed = static_cast<double>(bytes) * topology_.link(number).per_byte;
    if (needed > 0) uses_.push_back({first_link_ + number, needed / static_cast<double>(work)});
  }
  shares_->begin(now, work, uses_, transfer);
}

}  // namespace fgmpi::predict
