// Immortal<T>: a global that exists from before the first constructor of the process until after
// its last destructor, whatever their order: what __libc_start_main decides, the scheduler and what
// ranks print are used then. Define it `constinit`: a constructor at start would make it anew over
// what is in use already.
#pragma once

namespace fgmpi {

template <class T>
union Immortal {
  T value;
  constexpr Immortal() : value() {}
  ~Immortal() {}
};

}  // namespace fgmpi
