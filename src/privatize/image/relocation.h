// Relocation of images: which words of a private module are the same in every image, and which
// differ.
//
//   what the dynamic linker has put into image 0    what image k gets
//   an address in a private module                  the same place in image k's copy of that module
//   anything else                                   the same value
//
// A plan lists the words of one module once and serves all images, because neighbouring images are
// `stride` bytes apart: image k adds (k - 1) * stride to each word that moves. Thread rule: one
// thread. Nothing here reads a module's memory: callers pass in what it holds.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"

namespace fgmpi::privatize {

/// Where a private module lies in image 0 and in image 1.
struct ModuleRange {
  uintptr_t base;
  size_t span;  ///< bytes
  uintptr_t base_in_image_1;
  bool contains(uintptr_t address) const { return address - base < span; }
};

/// The private module that holds an address of image 0, or nullptr.
const ModuleRange* find_module(const std::vector<ModuleRange>& modules, uintptr_t address);

struct RelocatedWord {
  uintptr_t offset;     ///< from the base of the module that it lies in
  uintptr_t value;      ///< the word's value in image 1
  uint32_t module = 0;  ///< of a moving word: number of the module that it points into
};

struct RelocationPlan {
  std::vector<RelocatedWord> moving;  ///< words to which image k adds (k - 1) * stride
  std::vector<RelocatedWord> fixed;   ///< words that are equal in all images

  /// Adds a word that holds an address: a moving word if the address lies in one of the modules.
  void add_address(const std::vector<ModuleRange>& modules, uintptr_t offset, uintptr_t value);
};

/// One relocation of a module, with the words that the dynamic linker wrote for it into image 0.
struct Relocation {
  ElfW(Rela) entry;
  bool defined;             ///< its symbol is defined in the module itself
  uintptr_t symbol_offset;  ///< where a symbol that the module defines lies, from the module's base
  const char* name;         ///< the symbol's name; "" if there is none
  const char* version;      ///< the version that is wanted of the symbol; "" if any
  uintptr_t word;           ///< the word in image 0 that is relocated
  uintptr_t second_word;    ///< the word behind it, for types that relocate two words
};

/// Returns where the dynamic linker would bind a function that it has not bound yet; 0 if nowhere.
using Resolve = uintptr_t(const char* name, const char* version);

/// Adds the words that one relocation of `self` (an element of `modules`) writes. Relocations of
/// type COPY add none: the caller handles copied objects (Images::note_copied_objects). An error
/// names a type that is not supported.
Status plan_relocation(const std::vector<ModuleRange>& modules, const ModuleRange& self,
                       const Relocation& relocation, Resolve* resolve, RelocationPlan* plan);

}  // namespace fgmpi::privatize
