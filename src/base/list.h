// List<T, &T::hook>: an intrusive doubly linked list. Membership costs the object two pointers and
// never allocates. Thread rule: one thread. Invariant: an object is in at most one list per hook.
#pragma once

#include <cstddef>

#include "base/assert.h"

namespace fgmpi {

struct ListHook {
  ListHook* next = nullptr;
  ListHook* prev = nullptr;
  bool linked() const { return next != nullptr; }
};

template <class T, ListHook T::*hook>
class List {
 public:
  List() { head_.next = head_.prev = &head_; }
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  bool empty() const { return head_.next == &head_; }
  T* front() { return empty() ? nullptr : owner(head_.next); }
  /// The element after x, or nullptr at the end.
  T* next(T* x) {
    ListHook* n = (x->*hook).next;
    return n == &head_ ? nullptr : owner(n);
  }
  void push_back(T* x) { link(&(x->*hook), head_.prev); }
  void push_front(T* x) { link(&(x->*hook), &head_); }
  static void remove(T* x) {
    ListHook* h = &(x->*hook);
    FGMPI_ASSERT(h->linked());
    h->prev->next = h->next;
    h->next->prev = h->prev;
    h->next = h->prev = nullptr;
  }
  T* pop_front() {
    T* x = front();
    if (x) remove(x);
    return x;
  }

 private:
  static void link(ListHook* h, ListHook* after) {
    FGMPI_ASSERT(!h->linked());
    h->prev = after;
    h->next = after->next;
    after->next->prev = h;
    after->next = h;
  }
  static T* owner(ListHook* h) {
    alignas(T) static char probe[sizeof(T)];
    T* p = reinterpret_cast<T*>(probe);
    size_t offset = reinterpret_cast<char*>(&(p->*hook)) - probe;
    return reinterpret_cast<T*>(reinterpret_cast<char*>(h) - offset);
  }
  ListHook head_;
};

}  // namespace fgmpi
