// Immortal<T>: a global that exists from before the first constructor of the process until after
// its last destructor, in any order of them. The scheduler, the output of ranks and the work of
// __libc_start_main are used that early and late. Define it `constinit`: a constructor at start
// would make it anew over an object that is in use already.
#pragma once

namespace fgmpi {

template <class T>
union Immortal {
  T value;
  constexpr Immortal() : value() {}
  ~Immortal() {}
};

}  // namespace fgmpi
