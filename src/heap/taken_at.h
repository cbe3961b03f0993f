// Where ranks have taken memory, by rank and place of the call, where there is a limit: the line
// that refuses more names the places that have taken most.
//
// Thread rule: any thread; counts of several threads at a time may be too small.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/heap_link.h"

namespace fgmpi::heap {

constexpr size_t kMostTakingPlaces = 3;

/// Counts from now on; false: there is no memory for that.
bool begin_taken_at();
void record_taken(uint32_t index, const void* place, uint64_t bytes);
/// Writes the places where the rank has taken most, and returns how many there are.
size_t most_taken_at(uint32_t index, Ranks::TakingPlace (&most)[kMostTakingPlaces]);

}  // namespace fgmpi::heap
