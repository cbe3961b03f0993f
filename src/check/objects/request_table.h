// A rank's requests by handle: a table of pointers with linear probing, at most half full, because
// each call with requests looks up all of them several times. An entry stays at its address until
// it is dropped. Thread rule: as rank.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace fgmpi::check {

template <class T>
class RequestTable {
 public:
  struct alignas(64) TableEntry {
    int first = 0;  ///< handle
    T second;
  };
  using Node = std::unique_ptr<TableEntry>;

  /// The entry of a handle; null: there is none.
  TableEntry* find(int handle) const {
    if (slots_.empty()) return nullptr;
    for (size_t i = home(handle); slots_[i]; i = next(i))
      if (slots_[i]->first == handle) return slots_[i].get();
    return nullptr;
  }
  bool contains(int handle) const { return find(handle) != nullptr; }
  /// Adds an entry. REQUIRES: there is none with this handle.
  TableEntry* insert(Node node) {
    if (2 * ++size_ > slots_.size()) grow();
    TableEntry* entry = node.get();
    put(std::move(node));
    return entry;
  }
  /// Removes an entry and returns it.
  Node extract(const TableEntry* entry) {
    size_t i = home(entry->first);
    while (slots_[i].get() != entry) i = next(i);
    Node out = std::move(slots_[i]);
    --size_;
    // Entries behind the gap that it would hide from find() move into it.
    for (size_t k = next(i); slots_[k]; k = next(k)) {
      const size_t wanted = home(slots_[k]->first);
      if (((k - wanted) & (slots_.size() - 1)) < ((k - i) & (slots_.size() - 1))) continue;
      slots_[i] = std::move(slots_[k]);
      i = k;
    }
    return out;
  }
  size_t size() const { return size_; }
  /// f(handle, value) for each, in no order.
  template <class F>
  void for_each(F&& f) const {
    for (const Node& node : slots_)
      if (node) f(node->first, node->second);
  }

 private:
  size_t home(int handle) const {
    return static_cast<uint32_t>(handle) * uint64_t{0x9e3779b97f4a7c15u} >> shift_;
  }
  size_t next(size_t i) const { return (i + 1) & (slots_.size() - 1); }
  void put(Node node) {
    size_t i = home(node->first);
    while (slots_[i]) i = next(i);
    slots_[i] = std::move(node);
  }
  void grow() {
    constexpr int kFirstBits = 4;
    shift_ = slots_.empty() ? 64 - kFirstBits : shift_ - 1;
    auto old = std::exchange(slots_, std::vector<Node>(size_t{1} << (64 - shift_)));
    for (Node& node : old)
      if (node) put(std::move(node));
  }

  std::vector<Node> slots_;
  size_t size_ = 0;
  int shift_ = 64;  ///< shift of a hash, whose upper bits are the slot
};

}  // namespace fgmpi::check
