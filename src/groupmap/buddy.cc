// The only use of BuDDy: sets as binary decision diagrams.

#include "groupmap/buddy.h"

#include <bdd.h>

#include <algorithm>

#include "groupmap/bits.h"

namespace fgmpi::groupmap {
namespace {

// The C interface is used: the C++ one makes an object of each node, some of them global.
#undef bdd_init
#undef bdd_ithvar
constexpr BDD kFalse = 0, kTrue = 1;

bool failed;  // set by BuDDy's error hook, which takes no argument

void record_error(int) { failed = true; }

/// BuDDy is initialised while an object of this class exists.
class BuddySession {
 public:
  explicit BuddySession(int bits, size_t expected_nodes) : bits_(bits) {
    if (bdd_isrunning()) return;
    failed = false;
    int nodes = static_cast<int>(std::clamp<size_t>(expected_nodes, 1000, kMaxBddNodes / 2));
    if (bdd_init(nodes, nodes / 8 + 100) < 0) return;
    running_ = true;
    bdd_error_hook(record_error);
    bdd_gbc_hook(nullptr);
    bdd_resize_hook(nullptr);
    bdd_setmaxnodenum(kMaxBddNodes);
    bdd_setmaxincrease(kMaxBddNodes / 4);
    // Without variables, bdd_done() would free those of an earlier session again.
    bdd_setvarnum(std::max(bits, 1));
  }
  BuddySession(const BuddySession&) = delete;
  ~BuddySession() {
    if (running_) bdd_done();
  }
  bool ok() const { return running_ && !failed; }

  /// Returns the set of `ranks`, which agree in all bits but the `left` lowest. The caller receives
  /// a reference to it.
  BDD from_ranks(std::span<const int32_t> ranks, int left) {
    if (ranks.empty() || failed) return kFalse;
    if (ranks.size() == size_t{1} << left) return kTrue;
    int32_t bit = int32_t{1} << (left - 1);
    auto middle = std::partition_point(ranks.begin(), ranks.end(),
                                       [&](int32_t rank) { return !(rank & bit); });
    size_t zeros = static_cast<size_t>(middle - ranks.begin());
    BDD low = from_ranks(ranks.first(zeros), left - 1);
    BDD high = from_ranks(ranks.subspan(zeros), left - 1);
    return join(left, low, high);
  }

  /// Returns the set of these cubes, which agree in all bits but the `left` lowest. The caller
  /// receives a reference to it. REQUIRES: the cubes are in the order of a walk.
  BDD from_cubes(std::span<const Cube> cubes, int left) {
    if (cubes.empty() || failed) return kFalse;
    if (left == 0) return kTrue;
    uint32_t bit = uint32_t{1} << (left - 1);
    if (cubes[0].free & bit) return from_cubes(cubes, left - 1);
    auto middle = std::partition_point(cubes.begin(), cubes.end(),
                                       [&](const Cube& c) { return !(c.fixed & bit); });
    size_t zeros = static_cast<size_t>(middle - cubes.begin());
    BDD low = from_cubes(cubes.first(zeros), left - 1);
    BDD high = from_cubes(cubes.subspan(zeros), left - 1);
    return join(left, low, high);
  }

  bool paths(BDD node, int left, Cube prefix, size_t most, std::vector<Cube>* out) {
    if (node == kFalse) return true;
    if (left == 0 || node == kTrue) {
      if (out->size() == most) return false;
      prefix.free |= static_cast<uint32_t>(low_mask(left));
      out->push_back(prefix);
      return true;
    }
    uint32_t bit = uint32_t{1} << (left - 1);
    if (bdd_var(node) != bits_ - left) {
      prefix.free |= bit;
      return paths(node, left - 1, prefix, most, out);
    }
    if (!paths(bdd_low(node), left - 1, prefix, most, out)) return false;
    prefix.fixed |= bit;
    return paths(bdd_high(node), left - 1, prefix, most, out);
  }

 private:
  /// Returns the function "if (highest of the `left` bits) high else low", with a reference for the
  /// caller, and drops the caller's references to `low` and `high`.
  BDD join(int left, BDD low, BDD high) {
    BDD node = low == high ? low : bdd_ite(bdd_ithvar(bits_ - left), high, low);
    bdd_addref(node);
    bdd_delref(low);
    bdd_delref(high);
    return node;
  }

  int bits_;
  bool running_ = false;
};

}  // namespace

bool bdd_paths(std::span<const int32_t> ranks, int bits, size_t most, std::vector<Cube>* out) {
  BuddySession session(bits, ranks.size() * 2);
  if (!session.ok()) return false;
  BDD root = session.from_ranks(ranks, bits);
  return session.ok() && session.paths(root, bits, {0, 0}, most, out);
}

bool bdd_combine(std::span<const Cube> a, std::span<const Cube> b, int bits, SetOperation operation,
                 size_t most, std::vector<Cube>* out) {
  BuddySession session(bits, (a.size() + b.size()) * 16);
  if (!session.ok()) return false;
  BDD left = session.from_cubes(a, bits), right = session.from_cubes(b, bits);
  if (!session.ok()) return false;
  int code = operation == SetOperation::kUnion          ? bddop_or
             : operation == SetOperation::kIntersection ? bddop_and
                                                        : bddop_diff;
  BDD root = bdd_addref(bdd_apply(left, right, code));
  return session.ok() && session.paths(root, bits, {0, 0}, most, out);
}

}  // namespace fgmpi::groupmap
