// The wavelet tree over a permutation's runs: its shape, both directions, wire form.

#include "groupmap/wavelet.h"

#include <algorithm>
#include <cmath>

namespace fgmpi::groupmap {
namespace {

/// Garsia and Wachs' algorithm: combines neighbours until one tree is left; the depths of its
/// leaves are those of the optimal tree in which the leaves keep their order.
class GarsiaWachs {
 public:
  explicit GarsiaWachs(std::span<const uint32_t> weights) : leaves_(weights.size()) {
    children_.reserve(leaves_);
    for (uint32_t leaf = 0; leaf < leaves_; ++leaf) {
      list_.push_back({weights[leaf], leaf});
      while (list_.size() >= 3 && list_[list_.size() - 3].weight <= list_.back().weight)
        combine_at(list_.size() - 2);
    }
    while (list_.size() > 1) combine_at(list_.size() - 1);
  }

  std::vector<uint32_t> depths() const {
    std::vector<uint32_t> depth(leaves_ + children_.size(), 0);
    // Every tree has a larger id than its children.
    for (size_t k = children_.size(); k-- > 0;)
      for (uint32_t child : {children_[k].first, children_[k].second})
        depth[child] = depth[leaves_ + k] + 1;
    depth.resize(leaves_);
    return depth;
  }

 private:
  struct WeightedTree {
    uint64_t weight;
    uint32_t id;
  };

  /// Combines list_[k-1] and list_[k], moves the new tree left to behind the first one that is not
  /// lighter, and returns its index.
  size_t combine(size_t k) {
    WeightedTree tree = {list_[k - 1].weight + list_[k].weight,
                         static_cast<uint32_t>(leaves_ + children_.size())};
    children_.push_back({list_[k - 1].id, list_[k].id});
    list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(k));
    size_t at = k - 1;
    for (; at > 0 && list_[at - 1].weight < tree.weight; --at) list_[at] = list_[at - 1];
    list_[at] = tree;
    return at;
  }

  /// Combines at k, and then all pairs that the moved tree has made ready to be combined, the
  /// innermost first.
  void combine_at(size_t k) {
    std::vector<size_t> waiting;  // distances from the end
    for (size_t at = combine(k);;) {
      if (at >= 2 && list_[at].weight >= list_[at - 2].weight) {
        waiting.push_back(list_.size() - at);
        at = combine(at - 1);
      } else if (waiting.empty()) {
        return;
      } else {
        at = list_.size() - waiting.back();
        waiting.pop_back();
      }
    }
  }

  size_t leaves_;
  std::vector<WeightedTree> list_;
  std::vector<std::pair<uint32_t, uint32_t>> children_;
};

}  // namespace

std::vector<uint32_t> alphabetic_depths(std::span<const uint32_t> weights) {
  return GarsiaWachs(weights).depths();
}

uint64_t WaveletTree::shape(std::span<const uint32_t> firsts) {
  leaves_.resize(firsts.size());
  for (size_t run = 0; run < firsts.size(); ++run) leaves_[run] = {firsts[run], ~0u};
  std::vector<uint32_t> lengths(firsts.size());
  for (uint32_t run = 0; run < runs(); ++run) lengths[run] = length_of(run);
  std::vector<uint32_t> depths = alphabetic_depths(lengths);
  nodes_.clear();
  nodes_.reserve(firsts.size());
  uint64_t bits = 0;
  uint32_t next = 0;
  // The loop goes over the leaves from the left, with the chain of nodes that lack a child. A
  // node's length is the sum over its leaves, which `ones` adds up meanwhile.
  std::vector<uint32_t> chain;  // node << 1 | child that is being made
  while (next < runs()) {
    uint32_t link = chain.empty() ? ~0u : chain.back();
    if (chain.size() < depths[next]) {
      uint32_t node = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back({0, 0, {0, 0}, link});
      if (link != ~0u) nodes_[link >> 1].child[link & 1] = node;
      chain.push_back(node << 1);
      continue;
    }
    leaves_[next].parent = link;
    if (link != ~0u) nodes_[link >> 1].child[link & 1] = kLeaf | next;
    for (uint32_t up : chain) nodes_[up >> 1].ones += lengths[next];
    ++next;
    while (!chain.empty() && (chain.back() & 1)) chain.pop_back();
    if (!chain.empty()) chain.back() |= 1;
  }
  for (WaveletNode& node : nodes_) {
    node.begin = static_cast<uint32_t>(bits);
    bits += node.ones;
  }
  return bits;
}

WaveletTree::WaveletTree(std::span<const uint32_t> pi) : size_(static_cast<uint32_t>(pi.size())) {
  std::vector<uint32_t> firsts, run_of(size_);
  for (uint32_t i = 0; i < size_; ++i) {
    if (i == 0 || pi[i] < pi[i - 1]) firsts.push_back(i);
    run_of[pi[i]] = static_cast<uint32_t>(firsts.size() - 1);
  }
  uint64_t bits = shape(firsts);
  std::vector<uint64_t> words(words_for(bits));
  std::vector<uint32_t> cursor(nodes_.size());
  for (size_t k = 0; k < nodes_.size(); ++k) cursor[k] = nodes_[k].begin;
  // Each value sets or clears one bit in each node above its run. The loop visits the values in
  // rising order, so that it fills the bits of every node in order.
  for (uint32_t value = 0; value < size_; ++value) {
    for (uint32_t link = leaves_[run_of[value]].parent; link != ~0u;
         link = nodes_[link >> 1].parent) {
      uint32_t at = cursor[link >> 1]++;
      if (link & 1) set_bit(words.data(), at);
    }
  }
  bits_ = RankBits(std::move(words), bits, true);
  count_ones();
}

void WaveletTree::count_ones() {
  for (WaveletNode& node : nodes_) node.ones = bits_.rank1(node.begin);
}

uint32_t WaveletTree::forward(uint32_t i) const {
  auto after =
      std::upper_bound(leaves_.begin(), leaves_.end(), i,
                       [](uint32_t at, const WaveletLeaf& leaf) { return at < leaf.first; });
  const WaveletLeaf& leaf = *(after - 1);
  uint32_t k = i - leaf.first;
  for (uint32_t link = leaf.parent; link != ~0u;) {
    const WaveletNode& node = nodes_[link >> 1];
    uint64_t at =
        link & 1 ? bits_.select1(node.ones + k) : bits_.select0(node.begin - node.ones + k);
    k = static_cast<uint32_t>(at) - node.begin;
    link = node.parent;
  }
  return k;
}

uint32_t WaveletTree::inverse(uint32_t value) const {
  if (nodes_.empty()) return value;
  uint32_t k = value, at = 0;
  do {
    const WaveletNode& node = nodes_[at];
    uint32_t ones = bits_.rank1(node.begin + k) - node.ones;
    bool right = bits_[node.begin + k];
    k = right ? ones : k - ones;
    at = node.child[right];
  } while (!(at & kLeaf));
  return leaves_[at & ~kLeaf].first + k;
}

size_t WaveletTree::heap_bytes() const {
  return bits_.heap_bytes() + nodes_.capacity() * sizeof(WaveletNode) +
         leaves_.capacity() * sizeof(WaveletLeaf);
}

double WaveletTree::expected_bytes(double n, double entropy, double runs) {
  // A value takes at most one bit more than the entropy, and much less for few or equal runs.
  return RankBits::expected_bytes(n * (entropy + 0.05), true) +
         runs * (sizeof(WaveletNode) + sizeof(WaveletLeaf));
}

void WaveletTree::write(ByteWriter& out) const {
  out.varint(runs());
  for (uint32_t run = 0; run < runs(); ++run) out.varint(length_of(run));
  out.words(bits_.words());
}

WaveletTree WaveletTree::read(ByteReader& in, uint32_t count) {
  WaveletTree tree;
  tree.size_ = count;
  uint32_t runs = static_cast<uint32_t>(in.varint(std::min<uint64_t>(in.left(), count)));
  std::vector<uint32_t> firsts;
  uint64_t first = 0;
  for (uint32_t run = 0; run < runs && !in.failed(); ++run) {
    firsts.push_back(static_cast<uint32_t>(first));
    uint64_t length = in.varint(count - first);
    if (length == 0) in.fail();
    first += length;
  }
  if (first != count) in.fail();
  if (in.failed()) return {};
  uint64_t bits = tree.shape(firsts);
  std::vector<uint64_t> words;
  if (bits > UINT32_MAX || !in.words(words_for(bits), &words)) in.fail();
  if (bits % 64 && !in.failed() && words.back() & ~low_mask(static_cast<int>(bits % 64))) in.fail();
  if (in.failed()) return {};
  tree.bits_ = RankBits(std::move(words), bits, true);
  // Each node must send as many values to its right child as the leaves there have.
  std::vector<uint32_t> right(tree.nodes_.size(), 0);
  for (uint32_t run = 0; run < runs; ++run)
    for (uint32_t link = tree.leaves_[run].parent; link != ~0u;
         link = tree.nodes_[link >> 1].parent)
      if (link & 1) right[link >> 1] += tree.length_of(run);
  for (size_t k = 0; k < tree.nodes_.size(); ++k) {
    uint32_t end = tree.nodes_[k].begin + tree.nodes_[k].ones;
    if (tree.bits_.rank1(end) - tree.bits_.rank1(tree.nodes_[k].begin) != right[k]) in.fail();
  }
  if (in.failed()) return {};
  tree.count_ones();
  return tree;
}

}  // namespace fgmpi::groupmap
