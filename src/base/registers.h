// Registers: the kinds of vector registers for which the loops over long data are compiled. By
// default the widest of the processor are used. Narrower ones can be chosen, so that tests run
// every variant. All variants give the same bits.
//
// Thread rule: one thread; nothing here switches.
#pragma once

#include <cstdint>
#include <span>

namespace fgmpi {

enum class Registers : uint8_t { kBaseline, kAvx2, kAvx512 };

/// The widest registers of this processor.
Registers widest_registers();
/// All registers of this processor, from the narrowest to the widest.
std::span<const Registers> usable_registers();

}  // namespace fgmpi
