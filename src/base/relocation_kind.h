// Kinds of relocations, under the same names for each processor.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/processor.h"

namespace fgmpi {

/// What the dynamic linker writes for a relocation. base/processor_*.h has the numbers of these
/// kinds, in this order.
enum class RelocationKind : uint8_t {
  kRelative,             ///< an address in the module itself
  kAddress,              ///< a symbol's address, plus an addend
  kGlobal,               ///< a symbol's address, in the global offset table
  kJumpSlot,             ///< a function's address, perhaps bound at the first call only
  kCopy,                 ///< the contents of a library's object
  kThreadModule,         ///< the number of a module with thread-local variables
  kThreadOffset,         ///< where a thread-local variable lies in its module's block
  kThreadPointerOffset,  ///< where a thread-local variable lies, from the thread pointer
  kThreadDescriptor,     ///< two words that find a thread-local variable
  kIndirect,             ///< the address that a function of the module returns
  kNone,                 ///< nothing
  kUnknown,
};

static_assert(std::size(processor::kRelocationTypes) ==
              static_cast<size_t>(RelocationKind::kUnknown));

/// The processor's number of a kind. REQUIRES: the kind is not kUnknown.
constexpr uint32_t relocation_type(RelocationKind kind) {
  return processor::kRelocationTypes[static_cast<size_t>(kind)];
}

constexpr RelocationKind relocation_kind(const ElfW(Rela) & relocation) {
  const auto type = static_cast<uint32_t>(ELF64_R_TYPE(relocation.r_info));
  size_t kind = 0;
  while (kind < std::size(processor::kRelocationTypes) && processor::kRelocationTypes[kind] != type)
    ++kind;
  return static_cast<RelocationKind>(kind);
}

}  // namespace fgmpi
