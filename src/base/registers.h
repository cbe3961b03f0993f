// Registers: which kinds of vector registers the loops over long data are compiled for. The widest
// that the processor has is taken; the narrower ones can be asked for, so that tests see every
// variant. All give the same bits.
//
// Thread rule: one thread; nothing here switches.
#pragma once

#include <cstdint>
#include <span>

namespace fgmpi {

enum class Registers : uint8_t { kBaseline, kAvx2, kAvx512 };

/// The widest of this processor.
Registers widest_registers();
/// All that this processor can run, from the narrowest to the widest.
std::span<const Registers> usable_registers();

}  // namespace fgmpi
