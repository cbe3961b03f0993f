// File descriptors of the library's own, out of the way of programs that expect low numbers.
//
// Thread rule: any. Nothing here switches or allocates.
#pragma once

namespace fgmpi {

/// The lowest number of a descriptor that was moved.
inline constexpr int kFirstOwnDescriptor = 512;

/// Moves a descriptor to kFirstOwnDescriptor or above (close-on-exec) and returns its new number.
/// Returns `fd` itself where no such number is free, and -1 for -1. Leaves errno unchanged.
int move_descriptor_up(int fd);

}  // namespace fgmpi
