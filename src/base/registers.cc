// Which vector registers the processor has, and which of them the loops over long data may use.

#include "base/registers.h"

namespace fgmpi {

Registers widest_registers() {
#ifdef __x86_64__
  static const Registers widest =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") ? Registers::kAvx512
      : __builtin_cpu_supports("avx2")                                        ? Registers::kAvx2
                                       : Registers::kBaseline;
  return widest;
#else
  return Registers::kBaseline;
#endif
}

std::span<const Registers> usable_registers() {
  static constexpr Registers all[] = {Registers::kBaseline, Registers::kAvx2, Registers::kAvx512};
  return {all, static_cast<size_t>(widest_registers()) + 1};
}

}  // namespace fgmpi
