// Rank-and-Hash (section 5) and its form for several colors (section 6): sizes go up the parent's
// tree, ranges of ranks down it, then neighbours find each other through intermediaries.
//
//   up              color | vertices | members | best candidate      one record a color below
//   ranks           color, keeps the tree | first vertex | vertices | first rank | size | group id
//                   one record a color below; vertices are left out where the group keeps the
//                   parent's tree
//   register        color | number | number of children              to H(number)
//   register child  color | number of the parent | its number of children |
//                   which child (from 1; 0: vertex 0 itself)         to H(number of the parent)
//   parent is       color | address
//   children are    color | addresses
//
// The vertex numbered i in the new tree has the parent (i - 1) / k. Numbers and ranks rise
// together, so a vertex's ranks follow those of the vertex before it. A group with members at every
// vertex may keep the parent's tree instead (SplitOptions::kept_vertices), which the paper does not
// have: then nothing but the ranges goes down. H maps the numbers of a group one to one to
// addresses, so an intermediary stores O(k) for each group. Vertex 0 registers as its own parent
// too, as in equation (3): 2 m registrations.

#include <algorithm>

#include "system-ranked/vertex.h"

namespace fgmpi::system_ranked {
namespace {

class RankAndHash final : public Vertex {
 public:
  RankAndHash(const SplitOptions& options, ParentPlace where, std::vector<Enrolment> mine)
      : Vertex(options, std::move(where), std::move(mine)) {
    for (const Enrolment& e : mine_) states_[e.color].best = e.bid;
  }

 private:
  struct ChildShare {
    uint32_t child, vertices, weight;
  };
  struct ColorShares {
    Bid best;
    std::vector<ChildShare> parts;  ///< children with members below them
    int missing = 0;                ///< answers of intermediaries that have not arrived
  };
  struct Range {
    uint32_t vertex;
    int32_t rank;
    uint32_t vertices;
    int32_t size;
    GroupId id;
  };

  void take(uint32_t child, uint32_t color, MessageReader& in) override {
    ColorShares& s = states_[color];
    ChildShare part{child, in.get32(), in.get32()};
    s.parts.push_back(part);
    Bid bid = in.bid(first_world(where_.children[child]));
    if (bid.before(s.best)) s.best = bid;
  }

  uint32_t first_world(Address at) const {
    return options_.first_world ? options_.first_world(at) : at;
  }

  /// Vertices and members of the whole subtree.
  ChildShare total(uint32_t color, const ColorShares& s) const {
    ChildShare sum{0, 0, 0};
    if (const Enrolment* e = enrolment(color)) sum = {0, 1, e->weight};
    for (const ChildShare& part : s.parts) {
      sum.vertices += part.vertices;
      sum.weight += part.weight;
    }
    return sum;
  }

  void pass_up(MessageWriter& out, Carrier&) override {
    for (auto& [color, s] : states_) {
      ChildShare sum = total(color, s);
      if (!enrolment(color)) await_one();  // ranges for its children will come
      out.put(color);
      out.put(sum.vertices);
      out.put(sum.weight);
      out.put(s.best, first_world(where_.self));
    }
  }

  void turn(Carrier& carrier) override {
    std::vector<std::pair<uint32_t, Range>> ranges;
    for (const auto& [color, s] : states_) {
      ChildShare sum = total(color, s);
      ranges.push_back(
          {color, {0, 0, sum.vertices, static_cast<int32_t>(sum.weight), s.best.id()}});
    }
    pass_down(ranges, carrier);
  }

  void handle(MessageKind kind, Address from, MessageReader& in, Carrier& carrier) override {
    if (kind == kRanks) return receive_ranks(in, carrier);
    uint32_t color = in.get32();
    TreePosition* p = place(color);
    FGMPI_CHECK(p && (kind == kParentIs || kind == kChildrenAre));
    (void)from;
    if (kind == kParentIs)
      p->parent = in.get32();
    else
      p->children = in.list();
    if (--states_[color].missing == 0) complete(color);
  }

  void complete(uint32_t color) {
    states_.erase(color);
    complete_one();
  }

  /// Bit in the color of a record of ranges: the color's group keeps the parent's tree.
  static constexpr uint64_t kKept = 1;

  void receive_ranks(MessageReader& in, Carrier& carrier) {
    std::vector<std::pair<uint32_t, Range>> ranges;
    while (!in.empty()) {
      const uint64_t head = in.get();
      const uint32_t color = static_cast<uint32_t>(head >> 1);
      Range r{};
      if (head & kKept) {
        r.vertices = options_.kept_vertices;
      } else {
        r.vertex = in.get32();
        r.vertices = in.get32();
      }
      r.rank = static_cast<int32_t>(in.get32());
      r.size = static_cast<int32_t>(in.get32());
      r.id = in.group();
      ranges.push_back({color, r});
    }
    pass_down(ranges, carrier);
  }

  /// Splits each color's range: the vertex itself first, then its children in order.
  void pass_down(std::vector<std::pair<uint32_t, Range>>& ranges, Carrier& carrier) {
    std::vector<MessageWriter> down(where_.children.size(), MessageWriter(kRanks));
    for (auto& [color, range] : ranges) {
      const Range own = range;
      const bool kept = own.vertices == options_.kept_vertices;
      const Enrolment* e = enrolment(color);
      if (e) {
        ++range.vertex;
        range.rank += static_cast<int32_t>(e->weight);
      }
      auto it = states_.find(color);
      FGMPI_CHECK(it != states_.end());
      // The children are in the order in which they reported; ranks must not depend on that.
      std::sort(it->second.parts.begin(), it->second.parts.end(),
                [](const ChildShare& a, const ChildShare& b) { return a.child < b.child; });
      for (const ChildShare& part : it->second.parts) {
        MessageWriter& out = down[part.child];
        out.put(uint64_t{color} << 1 | (kept ? kKept : 0));
        if (!kept) {
          out.put(range.vertex);
          out.put(range.vertices);
        }
        out.put(static_cast<uint32_t>(range.rank));
        out.put(static_cast<uint32_t>(range.size));
        out.put(range.id);
        range.vertex += part.vertices;
        range.rank += static_cast<int32_t>(part.weight);
      }
      if (kept) {
        store_position(color, own, it->second.parts);
        continue;
      }
      std::vector<ChildShare>().swap(it->second.parts);
      if (e) {
        find_neighbours(color, own, carrier);
      } else {
        states_.erase(it);
        if (where_.parent != kNobody) complete_one();
      }
    }
    for (size_t child = 0; child < down.size(); ++child)
      if (down[child].size() > 1) carrier.send(where_.children[child], down[child].take());
  }

  /// Completes the place of a color in whose group all vertices are: this vertex has the same
  /// position as in the parent's tree.
  void store_position(uint32_t color, const Range& own, const std::vector<ChildShare>& parts) {
    TreePosition* p = place(color);
    FGMPI_CHECK(p && parts.size() == where_.children.size());
    p->first = own.rank;
    p->size = own.size;
    p->vertices = own.vertices;
    p->id = own.id;
    p->depth = where_.depth;
    p->parent = where_.parent;
    p->children = where_.children;
    p->end = own.rank + static_cast<int32_t>(p->weight);
    for (const ChildShare& part : parts) {
      p->child_first.push_back(p->end);
      p->end += static_cast<int32_t>(part.weight);
    }
    complete(color);
  }

  void find_neighbours(uint32_t color, const Range& own, Carrier& carrier) {
    TreePosition* p = place(color);
    p->first = own.rank;
    p->size = own.size;
    p->vertices = own.vertices;
    p->id = own.id;
    p->depth = depth_of(own.vertex, options_.k);
    p->number = own.vertex;
    uint32_t children = children_of(own.vertex, options_.k, own.vertices);
    uint32_t parent = parent_of(own.vertex, options_.k);
    states_[color].missing = (own.vertex > 0) + (children > 0);
    MessageWriter self(kRegister), child(kRegisterChild);
    self.put(color);
    self.put(own.vertex);
    self.put(children);
    child.put(color);
    child.put(parent);
    child.put(children_of(parent, options_.k, own.vertices));
    child.put(own.vertex == 0 ? 0 : (own.vertex - 1) % options_.k + 1);
    carrier.send(options_.directory->intermediary(color, own.vertex), self.take());
    carrier.send(options_.directory->intermediary(color, parent), child.take());
    if (states_[color].missing == 0) complete(color);
  }

  size_t state_bytes() const override {
    size_t bytes = sizeof *this;
    for (const auto& [color, s] : states_)
      bytes += sizeof s + 40 + s.parts.capacity() * sizeof(ChildShare);
    return bytes;
  }

  std::map<uint32_t, ColorShares> states_;
};

}  // namespace

std::unique_ptr<Vertex> make_rank_and_hash(const SplitOptions& options, ParentPlace where,
                                           std::vector<Enrolment> mine) {
  FGMPI_CHECK(options.directory != nullptr);
  return std::make_unique<RankAndHash>(options, std::move(where), std::move(mine));
}

size_t Intermediary::bytes() const {
  size_t bytes = 0;
  for (const auto& [key, slot] : slots_)
    bytes += sizeof key + sizeof slot + 32 + slot.children.capacity() * sizeof(Address);
  return bytes;
}

void Intermediary::receive(Address from, std::span<const uint8_t> message, Carrier& carrier) {
  MessageReader in(message);
  MessageKind kind = in.kind();
  uint32_t color = in.get32(), number = in.get32(), expected = in.get32();
  auto parent_is = [&](Address child, Address parent) {
    MessageWriter out(kParentIs);
    out.put(color);
    out.put(parent);
    carrier.send(child, out.take());
  };
  RegistrySlot& slot = slots_[{color, number}];
  slot.expected = expected;
  if (kind == kRegister) {
    slot.self = from;
    for (Address child : slot.children)
      if (child != kNobody) parent_is(child, from);
  } else if (uint32_t child = in.get32(); child > 0) {
    slot.children.resize(expected, kNobody);
    slot.children[child - 1] = from;
    ++slot.registered;
    if (slot.self != kNobody) parent_is(from, slot.self);
  } else {
    slot.root_registered = true;
  }
  if (slot.self == kNobody || slot.registered < expected || (number == 0 && !slot.root_registered))
    return;
  if (expected > 0) {
    MessageWriter out(kChildrenAre);
    out.put(color);
    out.put_list(slot.children);
    carrier.send(slot.self, out.take());
  }
  slots_.erase({color, number});
}

}  // namespace fgmpi::system_ranked
