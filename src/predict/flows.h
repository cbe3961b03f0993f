// FlowShares: which part of its speed each transfer under way has, where transfers share links.
//
// A flow is a transfer for the time in which its bytes move. It uses links: the two ports of its
// nodes and those of its route. Alone it would take `work`; while it has the share x of its speed,
// 0 < x <= 1, so much of the work is done in a unit of time, and x * use of each link's capacity is
// taken:
//
//   work 100, use {port: 1, thin link: 4}     alone:     x = 1/4, ends after 400
//                                             with a second such flow: x = 1/8
//
// Shares are max-min fair: no share can grow unless one that is not larger shrinks. They are found
// by progressive filling: all shares grow together until a link is full, whose flows keep what they
// have; then the others go on. When flows begin or end, only those are looked at again that are
// connected with them by links that could be full: a link on which all flows could run at full
// speed connects nobody.
//
// Source: Bertsekas, Gallager, "Data Networks" (1992), section 6.5.2. Thread rule: one thread;
// nothing here switches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "predict/virtual_time.h"

namespace fgmpi::predict {

/// A link that a flow uses. `use`: the part of its capacity that the flow takes at full speed.
struct LinkUse {
  uint32_t link = 0;
  double use = 1;
};

class FlowShares {
 public:
  /// Makes links numbered from 0.
  explicit FlowShares(size_t links) : links_(links) {}

  /// A flow begins at `now`. Its share is known after share(). Returns its number, which is free
  /// again when it has ended. `links`: no two of them the same.
  uint32_t begin(VirtualTime now, VirtualTime work, const std::vector<LinkUse>& links, void* owner);
  /// Shares the links anew among the flows. REQUIRES: all flows that end before `now` have been
  /// taken.
  void share(VirtualTime now);
  /// Have flows begun or ended since share()?
  bool is_stale() const { return !stale_links_.empty() || !stale_flows_.empty(); }
  /// When the first flow ends; kNever: there is none. REQUIRES: not is_stale().
  VirtualTime first() const { return heap_.empty() ? kNever : flows_[heap_[0]].ends; }
  /// Takes the flow that ends first; among those at the same time, the one that began first.
  /// Returns its owner.
  void* pop();

  size_t size() const { return heap_.size(); }
  double share_of(uint32_t flow) const { return flows_[flow].share; }

 private:
  /// A flow's use of a link: in 2^-24 of its capacity, so that sums are exact.
  struct FlowUse {
    uint32_t link;
    uint32_t place;  ///< in the link's list
    int64_t part;
  };
  struct SharedFlow {
    std::vector<FlowUse> uses;
    double left = 0;   ///< of the work, at `since`
    double share = 0;  ///< 0: none yet
    double before = 0;
    VirtualTime since = 0, ends = kNever;
    uint64_t number = 0;  ///< of its beginning
    void* owner = nullptr;
    uint32_t heap_place = 0;
    bool seen = false, fixed = false, running = false;
  };
  struct Member {
    uint32_t flow;
    uint32_t use;  ///< index in its uses
  };
  struct SharedLink {
    std::vector<Member> members;
    int64_t demand = 0;  ///< of all flows at full speed
    bool seen = false, stale = false;
    // While shares are computed:
    double left = 0;      ///< of the capacity
    int64_t unfixed = 0;  ///< demand of the flows that still grow
  };
  static constexpr int64_t kWhole = int64_t{1} << 24;

  bool could_be_full(const SharedLink& link) const { return link.demand > kWhole; }
  void add_stale(uint32_t link);
  void visit(uint32_t flow);
  void collect();
  void fill();
  void fix(uint32_t flow, double level);
  double level_of(const SharedLink& link) const;
  void set_end(uint32_t flow, VirtualTime now);
  bool before(uint32_t a, uint32_t b) const {
    return flows_[a].ends != flows_[b].ends ? flows_[a].ends < flows_[b].ends
                                            : flows_[a].number < flows_[b].number;
  }
  void sift(uint32_t place);
  void put(uint32_t place, uint32_t flow) {
    heap_[place] = flow;
    flows_[flow].heap_place = place;
  }

  std::vector<SharedLink> links_;
  std::vector<SharedFlow> flows_;
  std::vector<uint32_t> free_, heap_;
  std::vector<uint32_t> stale_links_, stale_flows_;
  /// Flows and links of the present share(); the links' levels when they were last computed.
  std::vector<uint32_t> seen_flows_, seen_links_;
  std::vector<std::pair<double, uint32_t>> levels_;
  uint64_t begun_ = 0;
};

}  // namespace fgmpi::predict
