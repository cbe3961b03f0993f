// Libraries: which of the loaded shared libraries each rank gets its own image of, and why.
//
// A library becomes private where sharing it would mix up the ranks of a process:
//
//   it depends on MPI, directly or through others, and has variables a private library uses a
//   variable of it by name, or the program holds a copy of one the program or a private library
//   calls it, and it has variables; not compression, linear algebra and other services without
//   state it refers by name to a function or variable of a private library, or of the program it is
//   the compiler's runtime of Fortran or OpenMP, and the program or a private library needs it it
//   is the Python interpreter, and the program has it as a library (fgmpi-python)
//   FGMPI_PRIVATIZE_LIBS names it
//
// One per process stay what belongs to MPI itself (this library, the host's bindings, what they
// load), the C and C++ runtimes, unwinders, sanitizers, sampling profilers, our own tools, and
// allocators. The rules are applied until nothing is added. Thread rule: one thread, before the
// program's constructors; relocations of the loaded libraries have been applied.
#pragma once

#include <link.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "privatize/elf_module.h"

namespace fgmpi::privatize {

struct PrivateLibrary {
  const link_map* map;
  std::string reason;  ///< in words, for people: "uses MPI and has variables"
};

/// FGMPI_PRIVATIZE_LIBS: words separated by commas.
struct LibraryWishes {
  bool automatic = true;             ///< no word is "none"
  std::vector<std::string> added;    ///< file names; without the version, all versions
  std::vector<std::string> removed;  ///< of words "-name"
};
/// An error names the word and what is allowed.
Status parse_library_wishes(std::string_view text, LibraryWishes* wishes);

/// In the order of the dynamic linker's list. `program_has_images`: they are made in any case,
/// whatever libraries are private. An error names a library that cannot be private or is not
/// loaded.
Status choose_private_libraries(const ElfModule& program, const LibraryWishes& wishes,
                                bool program_has_images, std::vector<PrivateLibrary>* chosen);

/// File names, separated by commas, of libraries that use MPI, have variables and are not among
/// `chosen`, nor taken away by a wish.
std::string shared_libraries_with_state(const LibraryWishes& wishes,
                                        const std::vector<PrivateLibrary>& chosen);

/// Has the program brought it in, directly or through others, and not MPI? Known once libraries
/// have been chosen.
bool serves_program(const link_map* map);

/// A library of MPI's own, of any implementation or of ours.
bool is_mpi_library(std::string_view file_name);

/// Of these libraries a process has one: the C and C++ runtimes, MPI, what MPI is made of,
/// unwinders, sanitizers, profilers.
bool is_one_per_process(std::string_view file_name);

}  // namespace fgmpi::privatize
