// The rounds of each algorithm.

#include "predict/schedule.h"

#include <algorithm>
#include <bit>

namespace fgmpi::predict {
namespace {

using coll::CollectiveKind;

/// Peers whose messages are under way at the same time in kScattered (MPIR_CVAR_ALLTOALL_THROTTLE).
constexpr uint32_t kThrottle = 32;

uint32_t floor_log2(uint32_t n) { return static_cast<uint32_t>(std::bit_width(n)) - 1; }
uint32_t ceil_log2(uint32_t n) { return n <= 1 ? 0 : static_cast<uint32_t>(std::bit_width(n - 1)); }

/// The work of one member in one round: the arguments of all functions below.
struct Work {
  const ScheduledCollective& shape;
  const MemberBytes& own;
  uint32_t me;
  ScheduleRound* out;
  uint32_t n() const { return shape.members; }
  void send(uint32_t peer, uint64_t bytes) const { out->sends.push_back({peer, bytes}); }
  void receive(uint32_t peer, uint64_t bytes) const { out->receives.push_back({peer, bytes}); }
  void exchange(uint32_t peer, uint64_t bytes) const {
    send(peer, bytes);
    receive(peer, bytes);
  }
  uint32_t relative() const { return (me + n() - shape.root) % n(); }
  uint32_t absolute(uint32_t relative) const { return (relative + shape.root) % n(); }
  /// Members of the subtree of the member with this relative number whose lowest bit is `bit`.
  uint32_t subtree(uint32_t relative, uint32_t bit) const { return std::min(bit, n() - relative); }
  /// The bit below which children hang: the lowest one of `relative`, or above all for the root.
  uint32_t own_bit() const {
    const uint32_t r = relative();
    return r ? r & (~r + 1) : uint32_t{1} << ceil_log2(n());
  }
};

// ---- Trees --------------------------------------------------------------------------------------

/// From the root down: round 0 receives, round 1 sends to the children, the largest subtree first.
/// `block`: bytes of each member below; 0: `whole` for all.
bool down_tree(const Work& w, uint32_t number, uint64_t whole, uint64_t block) {
  const uint32_t relative = w.relative(), bit = w.own_bit();
  const auto size = [&](uint32_t child, uint32_t mask) {
    return block ? block * w.subtree(child, mask) : whole;
  };
  if (number == 0 && relative) w.receive(w.absolute(relative - bit), size(relative, bit));
  if (number == 1)
    for (uint32_t mask = bit / 2; mask; mask /= 2)
      if (relative + mask < w.n()) w.send(w.absolute(relative + mask), size(relative + mask, mask));
  return number < 2;
}

/// Up to the root: a round for each child, the smallest subtree first, then one that sends.
bool up_tree(const Work& w, uint32_t number, uint64_t whole, uint64_t block, bool combines) {
  const uint32_t relative = w.relative(), bit = w.own_bit();
  const uint32_t mask = uint32_t{1} << number;
  if (mask < bit) {
    if (relative + mask >= w.n()) return true;  // a larger number may still be the parent's round
    w.receive(w.absolute(relative + mask),
              block ? block * w.subtree(relative + mask, mask) : whole);
    if (combines) w.out->combined = whole;
    return true;
  }
  if (mask > bit || relative == 0) return false;
  w.send(w.absolute(relative - bit), block ? block * w.subtree(relative, bit) : whole);
  return true;
}

// ---- Exchanges between members whose numbers differ in one bit
// ------------------------------------

/// How algorithms for powers of two serve other numbers: of the first 2 * rest members each even
/// one gives its data to the next, which stands for both.
struct PowerOfTwo {
  explicit PowerOfTwo(uint32_t n) : steps(floor_log2(n)), rest(n - (uint32_t{1} << steps)) {}
  uint32_t steps, rest;
  bool is_out(uint32_t me) const { return me < 2 * rest && me % 2 == 0; }
  bool stands_for_two(uint32_t me) const { return me < 2 * rest && me % 2 == 1; }
  uint32_t inner(uint32_t me) const { return me < 2 * rest ? me / 2 : me - rest; }
  uint32_t outer(uint32_t inner) const { return inner < rest ? inner * 2 + 1 : inner + rest; }
};

/// Round 0 of all algorithms that begin so. Returns true where the round is this one.
bool first_round(const Work& w, const PowerOfTwo& p, uint32_t number, uint64_t bytes) {
  if (number > 0) return false;
  if (p.is_out(w.me)) w.send(w.me + 1, bytes);
  if (p.stands_for_two(w.me)) {
    w.receive(w.me - 1, bytes);
    w.out->combined = bytes;
  }
  return true;
}
/// The last round: the member that has stood for two returns the result.
void last_round(const Work& w, const PowerOfTwo& p, uint64_t bytes) {
  if (p.is_out(w.me)) w.receive(w.me + 1, bytes);
  if (p.stands_for_two(w.me)) w.send(w.me - 1, bytes);
}
/// The peer of an inner step; the step with number 0 is that with the nearest peer.
uint32_t peer_at(const PowerOfTwo& p, uint32_t me, uint32_t step) {
  return p.outer(p.inner(me) ^ (uint32_t{1} << step));
}

bool allreduce_doubling(const Work& w, uint32_t number) {
  const PowerOfTwo p(w.n());
  const uint64_t bytes = w.shape.bytes;
  if (first_round(w, p, number, bytes)) return true;
  if (number <= p.steps) {
    if (p.is_out(w.me)) return true;
    w.exchange(peer_at(p, w.me, number - 1), bytes);
    w.out->combined = bytes;
    return true;
  }
  if (number == p.steps + 1 && p.rest) last_round(w, p, bytes);
  return number == p.steps + 1 && p.rest;
}

/// The rounds of a reduction by halves: the first, then `steps` after which each inner member has
/// its part of the result. Returns true where the round is one of them.
bool halving_round(const Work& w, const PowerOfTwo& p, uint32_t number, uint64_t bytes) {
  if (first_round(w, p, number, bytes)) return true;
  if (number > p.steps) return false;
  if (p.is_out(w.me)) return true;
  const uint64_t half = bytes >> number;
  w.exchange(peer_at(p, w.me, p.steps - number), half);
  w.out->combined = half;
  return true;
}
bool allreduce_halving(const Work& w, uint32_t number) {
  const PowerOfTwo p(w.n());
  const uint64_t bytes = w.shape.bytes;
  if (halving_round(w, p, number, bytes)) return true;
  if (number <= 2 * p.steps) {
    const uint32_t step = number - p.steps - 1;
    if (!p.is_out(w.me)) w.exchange(peer_at(p, w.me, step), bytes >> (p.steps - step));
    return true;
  }
  if (number == 2 * p.steps + 1 && p.rest) last_round(w, p, bytes);
  return number == 2 * p.steps + 1 && p.rest;
}
bool reduce_halving(const Work& w, uint32_t number) {
  const PowerOfTwo p(w.n());
  const uint64_t bytes = w.shape.bytes;
  if (halving_round(w, p, number, bytes)) return true;
  const uint32_t step = number - p.steps - 1;
  const uint32_t target = p.is_out(w.shape.root) ? w.shape.root + 1 : w.shape.root;
  if (step < p.steps) {
    if (p.is_out(w.me)) return true;
    // Members whose lower bits are those of the root's still have something to pass on.
    const uint32_t distance = p.inner(w.me) ^ p.inner(target);
    if (distance & ((uint32_t{1} << step) - 1)) return true;
    const uint64_t part = bytes >> (p.steps - step);
    const bool sends = distance >> step & 1;
    sends ? w.send(peer_at(p, w.me, step), part) : w.receive(peer_at(p, w.me, step), part);
    return true;
  }
  if (step == p.steps && target != w.shape.root) {
    if (w.me == target) w.send(w.shape.root, bytes);
    if (w.me == w.shape.root) w.receive(target, bytes);
    return true;
  }
  return false;
}
bool reduce_scatter_halving(const Work& w, uint32_t number) {
  const PowerOfTwo p(w.n());
  const uint64_t whole = w.shape.bytes * w.n();
  if (halving_round(w, p, number, whole)) return true;
  if (number == p.steps + 1 && p.rest) last_round(w, p, w.shape.bytes);
  return number == p.steps + 1 && p.rest;
}

// ---- Exchanges of blocks
// --------------------------------------------------------------------------

bool dissemination(const Work& w, uint32_t number) {
  const uint64_t distance = uint64_t{1} << number;
  if (distance >= w.n()) return false;
  const auto d = static_cast<uint32_t>(distance);
  w.send((w.me + d) % w.n(), 0);
  w.receive((w.me + w.n() - d) % w.n(), 0);
  return true;
}
bool allgather_doubling(const Work& w, uint32_t number, uint64_t block) {
  if (number >= floor_log2(w.n())) return false;
  w.exchange(w.me ^ (uint32_t{1} << number), block << number);
  return true;
}
bool allgather_bruck(const Work& w, uint32_t number, uint64_t block) {
  const uint64_t distance = uint64_t{1} << number;
  if (distance >= w.n()) return false;
  const auto d = static_cast<uint32_t>(distance);
  const uint64_t bytes = block * std::min(d, w.n() - d);
  w.send((w.me + w.n() - d) % w.n(), bytes);
  w.receive((w.me + d) % w.n(), bytes);
  return true;
}
bool ring(const Work& w, uint32_t number, uint64_t block) {
  if (number + 1 >= w.n()) return false;
  w.send((w.me + 1) % w.n(), block);
  w.receive((w.me + w.n() - 1) % w.n(), block);
  return true;
}
bool alltoall_bruck(const Work& w, uint32_t number) {
  const uint64_t distance = uint64_t{1} << number;
  if (distance >= w.n()) return false;
  const auto d = static_cast<uint32_t>(distance);
  // Blocks whose number has this bit.
  const uint32_t whole = w.n() / (2 * d) * d, tail = w.n() % (2 * d);
  const uint64_t bytes = w.shape.bytes * (whole + (tail > d ? tail - d : 0));
  w.send((w.me + d) % w.n(), bytes);
  w.receive((w.me + w.n() - d) % w.n(), bytes);
  return true;
}
bool pairwise(const Work& w, uint32_t number, bool combines) {
  const uint32_t i = number + 1;
  if (i >= w.n()) return false;
  const bool power = std::has_single_bit(w.n());
  w.send(power ? w.me ^ i : (w.me + i) % w.n(), w.shape.bytes);
  w.receive(power ? w.me ^ i : (w.me + w.n() - i) % w.n(), w.shape.bytes);
  if (combines) w.out->combined = w.shape.bytes;
  return true;
}
/// All messages with kThrottle peers at a time. MemberBytes: sorted by the distance of the peers. A
/// message is in the same round at both its ends: the distances decide, not how many come before.
bool scattered(const Work& w, uint32_t number) {
  const size_t first = size_t{number} * kThrottle;
  if (w.shape.kind == CollectiveKind::kAlltoall) {
    for (size_t i = first + 1; i <= first + kThrottle && i < w.n(); ++i) {
      const auto d = static_cast<uint32_t>(i);
      w.receive((w.me + d) % w.n(), w.shape.bytes);
      w.send((w.me + w.n() - d) % w.n(), w.shape.bytes);
    }
    return first + 1 < w.n();
  }
  const auto take = [&](const std::vector<RoundPart>& all, bool receives,
                        std::vector<RoundPart>* out) {
    const auto distance = [&](const RoundPart& part) {
      return receives ? (part.peer + w.n() - w.me) % w.n() : (w.me + w.n() - part.peer) % w.n();
    };
    auto part = std::partition_point(all.begin(), all.end(),
                                     [&](const RoundPart& p) { return distance(p) <= first; });
    for (; part != all.end() && distance(*part) <= first + kThrottle; ++part) out->push_back(*part);
  };
  take(w.own.receives, true, &w.out->receives);
  take(w.own.sends, false, &w.out->sends);
  return first + 1 < w.n();
}
/// One round with the given peers.
bool as_given(const Work& w, uint32_t number) {
  if (number) return false;
  w.out->sends = w.own.sends;
  w.out->receives = w.own.receives;
  return true;
}
/// Everybody sends to member 0, which answers.
bool to_first_and_back(const Work& w, uint32_t number) {
  if (number > 1) return false;
  const bool receives = (number == 0) == (w.me == 0);
  for (uint32_t i = 1; i < w.n(); ++i) {
    if (w.me != 0 && w.me != i) continue;
    const uint32_t peer = w.me == 0 ? i : 0;
    receives ? w.receive(peer, w.shape.bytes) : w.send(peer, w.shape.bytes);
  }
  return true;
}
bool scan(const Work& w, uint32_t number) {
  const uint64_t distance = uint64_t{1} << number;
  if (distance >= w.n()) return false;
  const uint32_t peer = w.me ^ static_cast<uint32_t>(distance);
  if (peer < w.n()) {
    w.exchange(peer, w.shape.bytes);
    w.out->combined = w.shape.bytes;
  }
  return true;
}

/// A broadcast of long data: the scatter's two rounds, then those of an allgather.
bool bcast_by_scatter(const Work& w, uint32_t number, bool by_ring) {
  const uint64_t block = (w.shape.bytes + w.n() - 1) / w.n();
  if (number < 2) return down_tree(w, number, 0, std::max<uint64_t>(block, 1));
  return by_ring ? ring(w, number - 2, block) : allgather_doubling(w, number - 2, block);
}

bool fill_binomial(const Work& w, uint32_t number) {
  const uint64_t bytes = w.shape.bytes;
  switch (w.shape.kind) {
    case CollectiveKind::kBcast:
      return down_tree(w, number, bytes, 0);
    case CollectiveKind::kScatter:
      return down_tree(w, number, 0, std::max<uint64_t>(bytes, 1));
    case CollectiveKind::kGather:
      return up_tree(w, number, 0, std::max<uint64_t>(bytes, 1), false);
    default:
      return up_tree(w, number, bytes, 0, true);
  }
}
bool fill_doubling(const Work& w, uint32_t number) {
  switch (w.shape.kind) {
    case CollectiveKind::kAllgather:
    case CollectiveKind::kAllgatherv:
      return allgather_doubling(w, number, w.shape.bytes);
    case CollectiveKind::kScan:
    case CollectiveKind::kExscan:
      return scan(w, number);
    default:
      return allreduce_doubling(w, number);
  }
}

}  // namespace

ScheduleAlgorithm choose_algorithm(CollectiveKind kind, uint32_t members, uint64_t bytes) {
  using A = ScheduleAlgorithm;
  constexpr uint64_t kShort = 2048, kBcastShort = 12'288, kBcastLong = 524'288;
  constexpr uint64_t kGatherShort = 81'920, kGatherLong = 524'288;
  const bool power = std::has_single_bit(members);
  const uint64_t total = bytes * members;
  switch (kind) {
    case CollectiveKind::kBarrier:
      return A::kDissemination;
    case CollectiveKind::kBcast:
      if (bytes < kBcastShort || members < 8) return A::kBinomial;
      return bytes < kBcastLong && power ? A::kScatterDoubling : A::kScatterRing;
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
      return A::kBinomial;
    case CollectiveKind::kReduce:
      return bytes <= kShort || members < 4 ? A::kBinomial : A::kHalvingGather;
    case CollectiveKind::kAllreduce:
      return bytes <= kShort || members < 4 ? A::kDoubling : A::kHalvingDoubling;
    case CollectiveKind::kAllgather:
    case CollectiveKind::kAllgatherv:
      if (power && total < kGatherLong) return A::kDoubling;
      return total < kGatherShort ? A::kBruck : A::kRing;
    case CollectiveKind::kAlltoall:
      if (bytes <= 256 && members >= 8) return A::kBruck;
      return bytes <= 32'768 ? A::kScattered : A::kPairwise;
    case CollectiveKind::kAlltoallv:
    case CollectiveKind::kAlltoallw:
      return A::kScattered;
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kReduceScatterBlock:
      return total < kBcastLong ? A::kHalving : A::kPairwise;
    case CollectiveKind::kScan:
    case CollectiveKind::kExscan:
      return A::kDoubling;
    case CollectiveKind::kGatherv:
    case CollectiveKind::kScatterv:
      return A::kLinear;
    default:
      return A::kNeighbours;
  }
}

ScheduleAlgorithm choose_algorithm(const std::vector<CollectiveRule>& rules, CollectiveKind kind,
                                   uint32_t members, uint64_t bytes) {
  using A = ScheduleAlgorithm;
  const CollectiveRule* holds = nullptr;
  for (const CollectiveRule& rule : rules)
    if (rule.collective == static_cast<uint8_t>(kind) && rule.from_bytes <= bytes &&
        (!holds || holds->from_bytes <= rule.from_bytes))
      holds = &rule;
  if (!holds) return choose_algorithm(kind, members, bytes);
  const bool is_gather = kind == CollectiveKind::kAllgather || kind == CollectiveKind::kAllgatherv;
  const bool needs_power =
      holds->algorithm == A::kScatterDoubling || (holds->algorithm == A::kDoubling && is_gather);
  if (needs_power && !std::has_single_bit(members)) return choose_algorithm(kind, members, bytes);
  return holds->algorithm;
}

ScheduleAlgorithm choose_for_communicator(const std::vector<CollectiveRule>& rules) {
  for (const CollectiveRule& rule : rules)
    if (rule.collective == kCommunicator) return rule.algorithm;
  return ScheduleAlgorithm::kDoubling;
}

bool fill_round(const ScheduledCollective& shape, const MemberBytes& own, uint32_t me,
                uint32_t number, ScheduleRound* out) {
  out->clear();
  const Work w{shape, own, me, out};
  if (shape.members == 1 && shape.algorithm != ScheduleAlgorithm::kNeighbours) return false;
  switch (shape.algorithm) {
    case ScheduleAlgorithm::kDissemination:
      return dissemination(w, number);
    case ScheduleAlgorithm::kBinomial:
      return fill_binomial(w, number);
    case ScheduleAlgorithm::kScatterDoubling:
      return bcast_by_scatter(w, number, false);
    case ScheduleAlgorithm::kScatterRing:
      return bcast_by_scatter(w, number, true);
    case ScheduleAlgorithm::kHalvingGather:
      return reduce_halving(w, number);
    case ScheduleAlgorithm::kDoubling:
      return fill_doubling(w, number);
    case ScheduleAlgorithm::kHalvingDoubling:
      return allreduce_halving(w, number);
    case ScheduleAlgorithm::kHalving:
      return reduce_scatter_halving(w, number);
    case ScheduleAlgorithm::kBruck:
      return shape.kind == CollectiveKind::kAlltoall ? alltoall_bruck(w, number)
                                                     : allgather_bruck(w, number, shape.bytes);
    case ScheduleAlgorithm::kRing:
      return ring(w, number, shape.bytes);
    case ScheduleAlgorithm::kPairwise:
      return pairwise(w, number, shape.kind != CollectiveKind::kAlltoall);
    case ScheduleAlgorithm::kScattered:
      return scattered(w, number);
    case ScheduleAlgorithm::kLinear:
      if (shape.kind == CollectiveKind::kAllreduce) return to_first_and_back(w, number);
      return as_given(w, number);
    case ScheduleAlgorithm::kNeighbours:
      return as_given(w, number);
  }
  return false;
}

}  // namespace fgmpi::predict
