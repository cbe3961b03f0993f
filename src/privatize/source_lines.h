// The line of a piece of code, for crash reports: from the debug information of the program and the
// loaded libraries.
//
// By GCC's libbacktrace, which takes its memory from the kernel and calls nothing that needs the
// heap. Thread rule: one thread, in a signal handler, too. Cost: the first call reads which
// compilation units there are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::privatize {

/// Writes "FILE:LINE" of the code at the address, which is one of what the dynamic linker has
/// loaded: of image 0, or of its copy of a plugin. False: nothing is known of it.
bool find_source_line(uintptr_t address, char* text, size_t size);

}  // namespace fgmpi::privatize
