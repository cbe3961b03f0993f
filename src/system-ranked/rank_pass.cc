// The pass of sizes up a tree and of ranges of ranks down it.

#include "system-ranked/rank_pass.h"

#include <algorithm>

namespace fgmpi::system_ranked {

bool RankPass::begin(TreePosition* place, const Bid& bid, Carrier& carrier) {
  place_ = place;
  if (bid.before(best_)) best_ = bid;
  return all_arrived(carrier);
}

bool RankPass::receive_sizes(Address from, MessageReader& in, Carrier& carrier) {
  ChildWeight part{from, in.get32(), in.get32()};
  parts_.push_back(part);
  Bid bid = in.bid();
  if (bid.before(best_)) best_ = bid;
  return place_ && all_arrived(carrier);
}

bool RankPass::all_arrived(Carrier& carrier) {
  if (parts_.size() < place_->children.size()) return false;
  uint32_t vertices = 1, weight = place_->weight;
  for (const ChildWeight& part : parts_) {
    vertices += part.vertices;
    weight += part.weight;
  }
  if (place_->parent == kNobody) {
    place_->vertices = vertices;
    place_->size = static_cast<int32_t>(weight);
    place_->id = best_.id();
    send_down(0, carrier);
    return true;
  }
  MessageWriter up(kSizes);
  up.put(place_->color);
  up.put(vertices);
  up.put(weight);
  up.put(best_);
  carrier.send(place_->parent, up.take());
  return false;
}

void RankPass::receive_range(MessageReader& in, Carrier& carrier) {
  int32_t first = static_cast<int32_t>(in.get32());
  place_->vertices = in.get32();
  place_->size = static_cast<int32_t>(in.get32());
  place_->depth = in.get32();
  place_->id = in.group();
  send_down(first, carrier);
}

void RankPass::send_down(int32_t first, Carrier& carrier) {
  place_->first = first;
  first += static_cast<int32_t>(place_->weight);
  for (Address child : place_->children) {
    MessageWriter down(kRange);
    down.put(place_->color);
    down.put(static_cast<uint32_t>(first));
    down.put(place_->vertices);
    down.put(static_cast<uint32_t>(place_->size));
    down.put(place_->depth + 1);
    down.put(place_->id);
    carrier.send(child, down.take());
    place_->child_first.push_back(first);
    auto part = std::find_if(parts_.begin(), parts_.end(),
                             [&](const ChildWeight& p) { return p.child == child; });
    FGMPI_CHECK(part != parts_.end());
    first += static_cast<int32_t>(part->weight);
  }
  place_->end = first;
  std::vector<ChildWeight>().swap(parts_);
}

}  // namespace fgmpi::system_ranked
