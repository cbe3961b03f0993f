// Libraries: of which loaded shared libraries each rank gets its own image, and why.
//
// A library becomes private where sharing it would mix up the ranks of a process:
//
//   - it depends on MPI, directly or through others, and has variables;
//   - a private library uses a variable of it by name, or the program holds a copy of one;
//   - the program or a private library calls it, and it has variables; except compression, linear
//     algebra and other services without state;
//   - it refers by name to a function or variable of a private library, or of the program;
//   - it is the compiler's runtime of Fortran or OpenMP, and the program or a private library needs
//     it;
//   - it is the Python interpreter, and the program has it as a library (fgmpi-python);
//   - FGMPI_PRIVATIZE_LIBS names it.
//
// A process has one copy of what belongs to MPI itself (this library, the host's bindings, what
// these load), of the C and C++ runtimes, unwinders, sanitizers, sampling profilers, our own tools,
// and allocators. The rules are applied until they add no library. Thread rule: one thread, before
// the program's constructors; relocations of the loaded libraries have been applied.
#pragma once

#include <link.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "privatize/image/elf_module.h"

namespace fgmpi::privatize {

struct PrivateLibrary {
  const link_map* map;
  std::string reason;  ///< shown to users: "uses MPI and has variables"
};

/// FGMPI_PRIVATIZE_LIBS, parsed: words separated by commas.
struct LibraryWishes {
  bool automatic = true;           ///< no word is "none"
  std::vector<std::string> added;  ///< file names to add; one without a version means all versions
  std::vector<std::string> removed;  ///< file names of the words "-name"
};
/// An error names the word and what is allowed.
Status parse_library_wishes(std::string_view text, LibraryWishes* wishes);

/// Chooses the private libraries, in the order of the dynamic linker's list. `program_has_images`:
/// images are made whatever libraries are private. An error names a library that cannot be private
/// or is not loaded.
Status choose_private_libraries(const ElfModule& program, const LibraryWishes& wishes,
                                bool program_has_images, std::vector<PrivateLibrary>* chosen);

/// File names, separated by commas, of libraries that use MPI and have variables, but are neither
/// among `chosen` nor removed by a word of `wishes`.
std::string shared_libraries_with_state(const LibraryWishes& wishes,
                                        const std::vector<PrivateLibrary>& chosen);

/// True where the program, not MPI, has brought the library in, directly or through others.
/// REQUIRES: choose_private_libraries() was called.
bool serves_program(const link_map* map);

/// True for the module that another one needs by this name (DT_NEEDED): of its file, or its own.
bool is_needed_as(const link_map* module, std::string_view name);

/// True if the text, for example a library's file name, starts with one of these.
template <size_t N>
bool starts_with_any(std::string_view text, const std::string_view (&starts)[N]) {
  return std::any_of(starts, starts + N, [&](std::string_view s) { return text.starts_with(s); });
}

/// True for a library of any implementation of MPI, ours included.
bool is_mpi_library(std::string_view file_name);

/// True for libraries of which a process has one copy: the C and C++ runtimes, MPI, what MPI is
/// made of, unwinders, sanitizers, profilers.
bool is_one_per_process(std::string_view file_name);

}  // namespace fgmpi::privatize
