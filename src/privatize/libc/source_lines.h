// The source line of an instruction, for crash reports: from the debug information of the program
// and the loaded libraries.
//
// GCC's libbacktrace does the work: it gets its memory from the kernel and calls nothing that needs
// the heap. Thread rule: one thread, in a signal handler, too. Cost: the first call reads the list
// of compilation units.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::privatize {

/// Writes "FILE:LINE" of the code at the address, which lies in a copy that the dynamic linker has
/// loaded: image 0, or its copy of a plugin. Returns false where no line is found.
bool find_source_line(uintptr_t address, char* text, size_t size);
/// True where the code at such an address has debug information, by which all of it is in headers
/// of the system, such as those of C++'s library. Any thread; a lock inside.
bool is_of_system_header(uintptr_t address);

}  // namespace fgmpi::privatize
