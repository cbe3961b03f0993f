// Objects of shared libraries that the linker copied into the program (copy relocations).
//
// Code that is compiled for a position-independent executable but without -fPIC reaches a library's
// variable at a fixed distance: the linker gives the program a copy, and the library is bound to
// it. Image 0 holds the copy that libraries use; each image has a clone, a copy of its bytes:
//
//   constants           (typeinfo, virtual tables: read-only after relocation) equal everywhere
//   iostream objects    a clone has format flags and state of its own, and the same stream buffer
//   facet ids           assigned before ranks start
//   the C library's     (stdout, environ, optarg, ...) as they are when ranks start
//   MPI's of Fortran    the libraries' pointers to them are swapped (fortran.cc)
//   private libraries'  each image of the library is bound to the clone in its image of the program
//
// Any other variable would be one object for its library and another one for a rank: programs with
// such a copy get no images. Thread rule: one thread, before ranks run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "privatize/image/elf_module.h"

namespace fgmpi::privatize {

struct CopiedObject {
  std::string name;      ///< as the linker writes it
  uintptr_t offset = 0;  ///< where the copy is, relative to the program
  size_t size = 0;
  std::string library;     ///< file name of the library that defines it
  uintptr_t original = 0;  ///< address of the library's own object; 0: not found
};

/// The copies that the linker has put into the program. `program` is the executable.
std::vector<CopiedObject> copied_objects(const ElfModule& program);

/// True for the kinds of objects listed above: each image may have a clone of them although all
/// ranks share the library.
bool may_be_cloned(const ElfModule& program, const CopiedObject& object);

}  // namespace fgmpi::privatize
