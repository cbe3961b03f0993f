// Arguments of MPI calls as words of 64 bits. Thread rule: values.
#pragma once

#include <cstdint>
#include <type_traits>

namespace fgmpi::watch {

template <class T>
int64_t word(T value) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<int64_t>(value);
  else
    return static_cast<int64_t>(value);
}

/// The inverse of word().
template <class T>
T argument(int64_t word) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<T>(word);
  else
    return static_cast<T>(word);
}

}  // namespace fgmpi::watch
