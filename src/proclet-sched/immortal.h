// Immortal<T>: a global that is constructed but never destroyed. The scheduler and what ranks print
// are used until the last destructor of the process has run, whatever the order of destructors.
#pragma once

#include <new>

namespace fgmpi {

template <class T>
union Immortal {
  T value;
  Immortal() { new (&value) T(); }
  ~Immortal() {}
};

}  // namespace fgmpi
