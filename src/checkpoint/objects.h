// Virtual handles: the numbers by which a rank's program knows its MPI objects while checkpoints
// are possible. The objects behind them may be made anew, in another process, without the program's
// noticing.
//
//   | 11 | kind, 4 bits | index in the rank's table of this kind, 26 bits |
//
// MPI's own handles never have the two upper bits set: predefined ones (01), those of objects (10)
// and null handles (00) pass unchanged. So a handle that a tool or the library itself has made
// remains usable.
//
// Thread rule: a rank's. Invariants: a virtual handle is used again only after its object has
// neither the program nor a pending request as a user.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace fgmpi::checkpoint {

/// The kinds of objects that have virtual handles. The numbers are those of MPICH's handles, but
/// for kMessage, whose handles are those of requests there, and for kFile, whose handles are
/// pointers there and numbers of kind 12 in this library.
enum class Object : uint8_t {
  kNone = 0,
  kComm = 1,
  kGroup = 2,
  kDatatype = 3,
  kFile = 4,
  kErrhandler = 5,
  kOp = 6,
  kInfo = 7,
  kWin = 8,
  kKeyval = 9,
  kRequest = 11,
  kMessage = 12,
  kSession = 14,
  kCount = 15
};

inline constexpr uint32_t kVirtualMask = 0xfc000000u, kVirtualBase = 0xc0000000u;
inline constexpr uint32_t kIndexMask = 0x03ffffffu;

inline bool is_virtual(int handle) {
  return (static_cast<uint32_t>(handle) & kVirtualBase) == kVirtualBase;
}

/// The kind of a virtual handle.
inline Object kind_of(int handle) {
  return static_cast<Object>(static_cast<uint32_t>(handle) >> 26 & 15);
}

/// What the tables share for all kinds: the index of a free slot is found by a list.
template <class Entry, Object kind>
class ObjectTable {
 public:
  static constexpr uint32_t kBase = kVirtualBase | static_cast<uint32_t>(kind) << 26;

  /// Returns the virtual handle of a new entry.
  int add(Entry** made) {
    auto entry = std::make_unique<Entry>();
    *made = entry.get();
    return add(std::move(entry));
  }
  int add(std::unique_ptr<Entry> entry) {
    if (free_.empty()) {
      free_.push_back(static_cast<uint32_t>(entries_.size()));
      entries_.emplace_back();
    }
    const uint32_t index = free_.back();
    free_.pop_back();
    entries_[index] = std::move(entry);
    return static_cast<int>(kBase | index);
  }
  size_t size() const { return entries_.size() - free_.size(); }
  /// Returns nullptr where there is no such object.
  Entry* find(int handle) const {
    const auto bits = static_cast<uint32_t>(handle);
    if ((bits & kVirtualMask) != kBase || (bits & kIndexMask) >= entries_.size()) return nullptr;
    return entries_[bits & kIndexMask].get();
  }
  void remove(int handle) {
    const uint32_t index = static_cast<uint32_t>(handle) & kIndexMask;
    entries_[index].reset();
    free_.push_back(index);
    if (free_.size() > kMostIdle && free_.size() == entries_.size()) {
      entries_.clear();  // for_each() goes over all slots
      free_.clear();
    }
  }
  /// Calls action(handle, entry) for each entry, in the order of the handles.
  template <class Action>
  void for_each(Action&& action) const {
    for (uint32_t i = 0; i < entries_.size(); ++i)
      if (entries_[i]) action(static_cast<int>(kBase | i), entries_[i].get());
  }
  /// Returns the handle of the latest entry with this MPI handle, or that handle where there is
  /// none.
  int handle_of_real(int real) const {
    for (auto i = static_cast<uint32_t>(entries_.size()); i-- > 0;)
      if (entries_[i] && entries_[i]->real == real) return static_cast<int>(kBase | i);
    return real;
  }

 private:
  /// With more free slots than this and no entry, all slots go.
  static constexpr size_t kMostIdle = 256;

  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<uint32_t> free_;
};

}  // namespace fgmpi::checkpoint
