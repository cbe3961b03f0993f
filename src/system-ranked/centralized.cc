// Centralized (section 3), the reference: a gather of the enrolled up the parent's tree; the root
// decides; a scatter down the tree under construction. O(m) bytes at the root, O(m + log n) time.
//
//   up       color | best candidate | count | (address, weight) * count      one record a color
//   scatter  color | parent | first rank | vertices | size | depth | group id |
//            (address, weight) of the subtree's vertices, its root first
//
// The list of a subtree is cut into k pieces whose lengths differ by one at most, so the tree has
// the least depth. Each piece is a subtree with consecutive ranks.

#include <algorithm>

#include "system-ranked/vertex.h"

namespace fgmpi::system_ranked {
namespace {

struct Listed {
  Address address;
  uint32_t weight;
};

class Centralized final : public Vertex {
 public:
  Centralized(const SplitOptions& options, ParentPlace where, std::vector<Enrolment> mine)
      : Vertex(options, std::move(where), std::move(mine)) {
    for (const Enrolment& e : mine_) {
      ColorSubtree& s = states_[e.color];
      s.best = e.bid;
      s.listed.push_back({where_.self, e.weight});
    }
  }

 private:
  struct ColorSubtree {
    Bid best;
    std::vector<Listed> listed;
  };
  struct SubtreeHeader {
    uint32_t color, vertices;
    Address parent;
    int32_t first, size;
    uint32_t depth;
    GroupId id;
  };

  void take(uint32_t, uint32_t color, MessageReader& in) override {
    ColorSubtree& s = states_[color];
    Bid bid = in.bid();
    if (bid.before(s.best)) s.best = bid;
    for (uint32_t count = in.get32(); count > 0; --count) {
      Address address = in.get32();
      s.listed.push_back({address, in.get32()});
    }
  }

  void pass_up(MessageWriter& out, Carrier&) override {
    for (const auto& [color, s] : states_) {
      out.put(color);
      out.put(s.best);
      out.put(s.listed.size());
      for (const Listed& l : s.listed) {
        out.put(l.address);
        out.put(l.weight);
      }
    }
    states_.clear();
  }

  void turn(Carrier& carrier) override {
    for (const auto& [color, s] : states_) {
      SubtreeHeader header{color,      static_cast<uint32_t>(s.listed.size()), kNobody, 0, 0, 0,
                           s.best.id()};
      for (const Listed& l : s.listed) header.size += static_cast<int32_t>(l.weight);
      // If the root of the parent's tree is a member, it lists itself first: then it is the root of
      // this tree too.
      if (s.listed.front().address == where_.self)
        scatter(header, s.listed, carrier);
      else
        send(header, s.listed, carrier);
    }
    states_.clear();
  }

  void handle(MessageKind kind, Address from, MessageReader& in, Carrier& carrier) override {
    FGMPI_CHECK(kind == kScatter);
    SubtreeHeader header;
    header.color = in.get32();
    header.parent = in.get() != 0 ? from : kNobody;
    header.first = static_cast<int32_t>(in.get32());
    header.vertices = in.get32();
    header.size = static_cast<int32_t>(in.get32());
    header.depth = in.get32();
    header.id = in.group();
    std::vector<Listed> listed;
    while (!in.empty()) {
      Address address = in.get32();
      listed.push_back({address, in.get32()});
    }
    peak_ = std::max(peak_, listed.size() * sizeof(Listed));
    scatter(header, listed, carrier);
  }

  void send(const SubtreeHeader& header, std::span<const Listed> listed, Carrier& carrier) {
    MessageWriter out(kScatter);
    out.put(header.color);
    out.put(header.parent != kNobody);
    out.put(static_cast<uint32_t>(header.first));
    out.put(header.vertices);
    out.put(static_cast<uint32_t>(header.size));
    out.put(header.depth);
    out.put(header.id);
    for (const Listed& l : listed) {
      out.put(l.address);
      out.put(l.weight);
    }
    carrier.send(listed.front().address, out.take());
  }

  void scatter(SubtreeHeader header, std::span<const Listed> listed, Carrier& carrier) {
    TreePosition* p = place(header.color);
    FGMPI_CHECK(p && !listed.empty() && listed.front().address == where_.self);
    p->parent = header.parent;
    p->first = header.first;
    p->size = header.size;
    p->vertices = header.vertices;
    p->depth = header.depth++;
    p->id = header.id;
    header.parent = where_.self;
    header.first += static_cast<int32_t>(p->weight);
    listed = listed.subspan(1);
    for (uint32_t parts = options_.k; parts > 0 && !listed.empty(); --parts) {
      std::span<const Listed> part = listed.first((listed.size() + parts - 1) / parts);
      listed = listed.subspan(part.size());
      p->children.push_back(part.front().address);
      p->child_first.push_back(header.first);
      send(header, part, carrier);
      for (const Listed& l : part) header.first += static_cast<int32_t>(l.weight);
    }
    p->end = header.first;
    complete_one();
  }

  size_t state_bytes() const override {
    size_t bytes = sizeof *this + peak_;
    for (const auto& [color, s] : states_)
      bytes += sizeof s + s.listed.capacity() * sizeof(Listed) + 40;
    return bytes;
  }

  std::map<uint32_t, ColorSubtree> states_;
  size_t peak_ = 0;  ///< of the longest list that was cut
};

}  // namespace

std::unique_ptr<Vertex> make_centralized(const SplitOptions& options, ParentPlace where,
                                         std::vector<Enrolment> mine) {
  return std::make_unique<Centralized>(options, std::move(where), std::move(mine));
}

}  // namespace fgmpi::system_ranked
