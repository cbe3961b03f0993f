// What one vertex does while balanced trees are built.

#include "system-ranked/vertex.h"

#include <algorithm>

#include "base/hash.h"

namespace fgmpi::system_ranked {

const char* kind_name(MessageKind kind) {
  constexpr const char* kNames[] = {
      "up",   "scatter", "ranks",   "register", "register child", "parent is", "children are",
      "fill", "balance", "request", "supply",   "sizes",          "range"};
  static_assert(std::size(kNames) == kKinds);
  return kNames[kind];
}

const char* const kAlgorithmNames = "centralized, shrink_and_balance, rank_and_hash";

const char* algorithm_name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kCentralized:
      return "centralized";
    case Algorithm::kShrinkAndBalance:
      return "shrink_and_balance";
    default:
      return "rank_and_hash";
  }
}

bool parse_algorithm(const std::string& name, Algorithm* out) {
  for (Algorithm a :
       {Algorithm::kCentralized, Algorithm::kShrinkAndBalance, Algorithm::kRankAndHash}) {
    if (name != algorithm_name(a)) continue;
    *out = a;
    return true;
  }
  return false;
}

Directory::Directory(uint32_t count, Addresses addresses, const void* list)
    : count_(count), addresses_(addresses), list_(list) {
  // The step is near the golden section, so that neighbouring ranks have intermediaries far apart.
  step_ = std::max(1u, static_cast<uint32_t>(0.6180339887 * count));
  while (std::gcd(step_, count_) != 1) ++step_;
}

Address Directory::intermediary(uint32_t color, uint32_t rank) const {
  uint64_t start = (color * kGoldenRatio) >> 32;
  uint32_t at = static_cast<uint32_t>((uint64_t{rank} * step_ + start) % count_);
  return addresses_ ? addresses_(list_, at) : at;
}

std::unique_ptr<Vertex> Vertex::make(const SplitOptions& options, ParentPlace where,
                                     std::vector<Enrolment> mine) {
  switch (options.algorithm) {
    case Algorithm::kCentralized:
      return make_centralized(options, std::move(where), std::move(mine));
    case Algorithm::kShrinkAndBalance:
      return make_shrink_and_balance(options, std::move(where), std::move(mine));
    default:
      return make_rank_and_hash(options, std::move(where), std::move(mine));
  }
}

Vertex::Vertex(const SplitOptions& options, ParentPlace where, std::vector<Enrolment> mine)
    : options_(options),
      where_(std::move(where)),
      mine_(std::move(mine)),
      pending_(static_cast<uint32_t>(mine_.size())) {
  places_.resize(mine_.size());
  for (size_t i = 0; i < mine_.size(); ++i) {
    places_[i].color = mine_[i].color;
    places_[i].weight = mine_[i].weight;
  }
}

size_t Vertex::bytes() const {
  size_t bytes = state_bytes() + where_.children.capacity() * sizeof(Address);
  for (const TreePosition& p : places_)
    bytes += sizeof p + (p.children.capacity() + p.child_first.capacity()) * sizeof(Address);
  return bytes + mine_.capacity() * sizeof(Enrolment);
}

TreePosition* Vertex::place(uint32_t color) {
  auto it = std::lower_bound(places_.begin(), places_.end(), color,
                             [](const TreePosition& p, uint32_t c) { return p.color < c; });
  return it != places_.end() && it->color == color ? &*it : nullptr;
}

const Enrolment* Vertex::enrolment(uint32_t color) const {
  auto it = std::lower_bound(mine_.begin(), mine_.end(), color,
                             [](const Enrolment& e, uint32_t c) { return e.color < c; });
  return it != mine_.end() && it->color == color ? &*it : nullptr;
}

void Vertex::start(Carrier& carrier) {
  if (where_.children.empty()) all_arrived(carrier);
}

void Vertex::receive(Address from, std::span<const uint8_t> message, Carrier& carrier) {
  MessageReader in(message);
  MessageKind kind = in.kind();
  if (kind != kUp) return handle(kind, from, in, carrier);
  auto it = std::find(where_.children.begin(), where_.children.end(), from);
  FGMPI_CHECK(it != where_.children.end());
  uint32_t child = static_cast<uint32_t>(it - where_.children.begin());
  while (!in.empty()) {
    uint32_t color = in.get32();
    take(child, color, in);
  }
  if (++arrived_ == where_.children.size()) all_arrived(carrier);
}

void Vertex::all_arrived(Carrier& carrier) {
  passed_ = true;
  if (where_.parent == kNobody) return turn(carrier);
  MessageWriter up(kUp);
  pass_up(up, carrier);
  carrier.send(where_.parent, up.take());
}

}  // namespace fgmpi::system_ranked
