// Which vector registers the processor has, and which of them the loops over long data may use.

#include "base/registers.h"

#include "base/processor.h"

namespace fgmpi {

Registers widest_registers() {
  static const Registers widest = processor::has_avx512() ? Registers::kAvx512
                                  : processor::has_avx2() ? Registers::kAvx2
                                                          : Registers::kBaseline;
  return widest;
}

std::span<const Registers> usable_registers() {
  static constexpr Registers all[] = {Registers::kBaseline, Registers::kAvx2, Registers::kAvx512};
  return {all, static_cast<size_t>(widest_registers()) + 1};
}

}  // namespace fgmpi
