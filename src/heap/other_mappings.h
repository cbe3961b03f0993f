// Mappings that ranks have made outside of the parts of their slots that are theirs as they are: of
// files, shared, at an address that the program has chosen, or too large for the slot. They are
// unmapped when their rank ends. Files are mapped in the slot where it has room, so that the rank
// can take them to another process (privatize/load/file_mappings.h); it keeps a rank that has
// another one.
//
// Thread rule: any thread; a lock inside. Nothing switches. Calls cost one load while there are
// none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/heap_link.h"

namespace fgmpi::heap {

/// The rank has mapped whole pages there, in place of what was there before.
void add_other_mapping(uint32_t index, const void* at, size_t bytes);
/// Something else is at these addresses now, or nothing.
void cut_other_mappings(const void* at, size_t bytes);
inline constexpr int64_t kNoMapping = -1, kSeveralMappings = -2;
/// The rank of which one mapping covers this range. kNoMapping: the range has nothing of any;
/// kSeveralMappings: it has more, or other memory besides.
int64_t owner_of_other_mapping(const void* at, size_t bytes);
/// The first of the rank's that begins at the address or behind it. False: it has none there.
bool find_other_mapping(uint32_t index, const void* from, MemoryRange* range);
/// Unmaps all of a rank that has ended.
void end_other_mappings(uint32_t index);

}  // namespace fgmpi::heap
