// Flows of transfers.

#include "predict/transfer_network.h"

#include <algorithm>

namespace fgmpi::predict {

TransferNetwork::TransferNetwork(const PredictedMachine& machine, uint32_t nodes)
    : topology_(machine.topology),
      file_link_(2 * nodes),
      shares_links_(machine.contention == ContentionModel::kLinks) {
  if (shares_links_ || machine.files.moves())
    shares_ = std::make_unique<FlowShares>(file_link_ + 1 + topology_.links());
}

void TransferNetwork::begin_file(VirtualTime now, const FileSystem& files,
                                 PredictedTransfer* transfer, uint64_t bytes) {
  const double all = static_cast<double>(bytes) * files.all_per_byte;
  const double work = std::max(static_cast<double>(bytes) * files.client_per_byte, all);
  uses_.assign({{file_link_, all / work}});
  shares_->begin(now, static_cast<VirtualTime>(work + 0.5), uses_, transfer);
}

void TransferNetwork::begin(VirtualTime now, const LinkPiece& piece, uint64_t bytes,
                            uint32_t from_node, uint32_t to_node, PredictedTransfer* transfer) {
  const VirtualTime work = std::max<VirtualTime>(occupancy(piece, bytes), 1);
  uses_.assign({{2 * from_node, 1}, {2 * to_node + 1, 1}});
  topology_.route(from_node, to_node, &way_);
  for (const uint32_t number : way_) {
    const double needed = static_cast<double>(bytes) * topology_.link(number).per_byte;
    if (needed > 0) uses_.push_back({file_link_ + 1 + number, needed / static_cast<double>(work)});
  }
  shares_->begin(now, work, uses_, transfer);
}

}  // namespace fgmpi::predict
