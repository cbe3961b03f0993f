// A shared pointer as std::shared_ptr, but for one thread at a time: counts change without locked
// instructions. Objects without users are reused for the next of their type.
// Thread rule: as CheckedCall (call.h), also where an object is dropped.
#pragma once

#include <cstdint>
#include <utility>

#include "check/memory/memory.h"

namespace fgmpi::check {

/// T has `uint32_t users = 0`, `T* next_free` and let_go(), which drops what T holds
/// of other objects.
template <class T>
class RefPtr {
 public:
  RefPtr() = default;
  RefPtr(const RefPtr& other) : at_(other.at_) {
    if (at_) ++at_->users;
  }
  RefPtr(RefPtr&& other) noexcept : at_(std::exchange(other.at_, nullptr)) {}
  RefPtr& operator=(RefPtr other) noexcept {
    std::swap(at_, other.at_);
    return *this;
  }
  ~RefPtr() {
    if (at_ && --at_->users == 0) drop(at_);
  }

  /// Adds a user to an object.
  static RefPtr of(T* at) {
    RefPtr another;
    another.at_ = at;
    ++at->users;
    return another;
  }

  explicit operator bool() const { return at_ != nullptr; }
  T& operator*() const { return *at_; }
  T* operator->() const { return at_; }
  T* get() const { return at_; }
  void reset() { *this = RefPtr(); }
  /// Has the object other users?
  bool shared() const { return at_ && at_->users > 1; }

  /// The first user of an object that is new, or reused after let_go().
  static RefPtr make() {
    RefPtr made;
    made.at_ = g_spare;
    if (made.at_)
      g_spare = made.at_->next_free;
    else
      made.at_ = make_lasting<T>();
    made.at_->users = 1;
    return made;
  }

 private:
  static void drop(T* freed) {
    freed->let_go();
    freed->next_free = g_spare;
    g_spare = freed;
  }
  static inline T* g_spare = nullptr;
  T* at_ = nullptr;
};

}  // namespace fgmpi::check
