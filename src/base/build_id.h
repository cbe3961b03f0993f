// The identity of a program or library, as the linker has written it (a note of the kind
// NT_GNU_BUILD_ID).
//
// Thread rule: any thread.
#pragma once

#include <link.h>

#include <cstdint>
#include <span>
#include <string>

namespace fgmpi {

/// In hexadecimal digits; "" without one. REQUIRES: the module is loaded, its base added to the
/// addresses in the file.
std::string build_id_of(std::span<const ElfW(Phdr)> segments, uintptr_t base);

}  // namespace fgmpi
