// The tree along which acknowledgements are gathered: balanced, of a fixed degree, rooted at any
// member of a group.
//
// Members are counted from the root: v = (member - root) mod n. The parent of v is (v - 1) / k, its
// children are k v + 1 .. k v + k.
//
// Degree 0 stands for no tree: every member is a child of the root.
// Thread rule: none. Nothing here allocates.
#pragma once

#include <cstdint>

namespace fgmpi::multicast {

class AckTree {
 public:
  AckTree(uint32_t members, uint32_t degree, uint32_t root)
      : n_(members), k_(degree ? degree : members), root_(root) {}

  /// REQUIRES: member is not the root.
  uint32_t parent(uint32_t member) const { return member_of((from_root(member) - 1) / k_); }

  template <class F>
  void for_each_child(uint32_t member, F&& f) const {
    const uint64_t first = uint64_t{from_root(member)} * k_ + 1;
    for (uint64_t v = first; v < first + k_ && v < n_; ++v) f(member_of(static_cast<uint32_t>(v)));
  }
  /// Calls f(m) for the member and all members below it.
  template <class F>
  void for_each_below(uint32_t member, F&& f) const {
    // The descendants of v that are d levels down are consecutive: [first, last].
    uint64_t first = from_root(member), last = first;
    while (first < n_) {
      for (uint64_t v = first; v <= last && v < n_; ++v) f(member_of(static_cast<uint32_t>(v)));
      first = first * k_ + 1;
      last = last * k_ + k_;
    }
  }
  bool is_child(uint32_t parent_member, uint32_t child) const {
    return child != root_ && child < n_ && parent(child) == parent_member;
  }

 private:
  uint32_t from_root(uint32_t member) const { return (member + n_ - root_) % n_; }
  uint32_t member_of(uint32_t v) const { return (v + root_) % n_; }
  uint32_t n_, k_, root_;
};

}  // namespace fgmpi::multicast
