// List<T>: an intrusive doubly linked list, for a T with members `T* next` and `T* prev`.
//
//   head -> first <-> second <-> last -> null        first->prev is the last
//
// The list itself is one pointer.
//
// Membership costs the object two pointers and never allocates; an empty list is 8 bytes of
// zeros. (A list of Boost.Intrusive has 16 bytes, and its nodes point back into it, so that it
// cannot be moved.)
//
// Thread rule: one thread. Invariant: an object is in at most one list at a time.
#pragma once

#include <cstddef>

namespace fgmpi {

template <class T>
class List {
 public:
  bool empty() const { return head_ == nullptr; }
  T* front() const { return head_; }
  T* back() const { return head_ ? head_->prev : nullptr; }
  /// The number of objects. Walks the list: for reports and tests.
  size_t size() const {
    size_t n = 0;
    for (const T* x = head_; x; x = x->next) ++n;
    return n;
  }

  void push_back(T* x) {
    x->next = nullptr;
    if (head_) {
      x->prev = head_->prev;
      head_->prev->next = x;
      head_->prev = x;
    } else {
      x->prev = head_ = x;
    }
  }
  /// Like push_back(), for an empty list. REQUIRES: empty().
  void push_only(T* x) {
    x->next = nullptr;
    x->prev = head_ = x;
  }
  /// Removes the first object. REQUIRES: !empty().
  void pop_front() {
    T* x = head_;
    head_ = x->next;
    if (head_) head_->prev = x->prev;
  }
  /// Removes x. REQUIRES: x is in this list.
  void remove(T* x) {
    if (x->next)
      x->next->prev = x->prev;
    else if (x != head_)
      head_->prev = x->prev;
    if (x == head_)
      head_ = x->next;
    else
      x->prev->next = x->next;
  }

 private:
  T* head_ = nullptr;
};

}  // namespace fgmpi
