// File descriptors of the library's own, out of the way of programs that expect low numbers.
//
// Thread rule: any. Nothing here switches or allocates.
#pragma once

namespace fgmpi {

/// Where they are from.
inline constexpr int kFirstOwnDescriptor = 512;

/// Moves a descriptor there (close-on-exec) and returns its new number; returns it as it is where
/// no such number may be had, and -1 for -1. Keeps errno.
int move_descriptor_up(int fd);

}  // namespace fgmpi
