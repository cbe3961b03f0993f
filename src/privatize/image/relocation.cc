// The choice, for each word that a relocation writes, whether it moves with the image or is fixed.

#include "privatize/image/relocation.h"

#include <mpi.h>

#include "base/relocation_kind.h"

namespace fgmpi::privatize {
namespace {

uint32_t number_of(const std::vector<ModuleRange>& modules, const ModuleRange& m) {
  return static_cast<uint32_t>(&m - modules.data());
}

}  // namespace

const ModuleRange* find_module(const std::vector<ModuleRange>& modules, uintptr_t address) {
  for (const ModuleRange& m : modules)
    if (m.contains(address)) return &m;
  return nullptr;
}

void RelocationPlan::add_address(const std::vector<ModuleRange>& modules, uintptr_t offset,
                                 uintptr_t value) {
  if (const ModuleRange* m = find_module(modules, value))
    moving.push_back({offset, value - m->base + m->base_in_image_1, number_of(modules, *m)});
  else
    fixed.push_back({offset, value});
}

namespace {

/// Returns the function that a jump slot leads to. A slot that is not bound yet leads into its own
/// module, to the code that asks the dynamic linker to bind it. Such a slot must be bound here,
/// because the dynamic linker would bind the slot of image 0 only.
uintptr_t function_of_slot(const ModuleRange& self, const Relocation& r, Resolve* resolve) {
  const uintptr_t definition = self.base + r.symbol_offset;
  if (!self.contains(r.word) || (r.defined && r.word == definition)) return r.word;
  const uintptr_t function = resolve(r.name, r.version);
  return function || !r.defined ? function : definition;
}

}  // namespace

Status plan_relocation(const std::vector<ModuleRange>& modules, const ModuleRange& self,
                       const Relocation& r, Resolve* resolve, RelocationPlan* plan) {
  const uintptr_t offset = r.entry.r_offset;
  const auto addend = static_cast<uintptr_t>(r.entry.r_addend);
  switch (relocation_kind(r.entry)) {
    case RelocationKind::kNone:
    case RelocationKind::kCopy:
      break;
    case RelocationKind::kRelative:
      // The word is relative to this module even where the addend leads past its end, or into the
      // next module.
      plan->moving.push_back({offset, self.base_in_image_1 + addend, number_of(modules, self)});
      break;
    case RelocationKind::kAddress:
      // The symbol decides whether the word moves: with its addend it may lie outside of the
      // symbol's module.
      if (const ModuleRange* m = find_module(modules, r.word - addend))
        plan->moving.push_back(
            {offset, r.word - m->base + m->base_in_image_1, number_of(modules, *m)});
      else
        plan->fixed.push_back({offset, r.word});
      break;
    case RelocationKind::kGlobal:
    case RelocationKind::kIndirect:
      plan->add_address(modules, offset, r.word);
      break;
    case RelocationKind::kJumpSlot:
      plan->add_address(modules, offset, function_of_slot(self, r, resolve));
      break;
    case RelocationKind::
        kThreadDescriptor:  // two words; the second may be a pointer of the dynamic linker
      plan->fixed.push_back({offset, r.word});
      plan->fixed.push_back({offset + sizeof(uintptr_t), r.second_word});
      break;
    case RelocationKind::kThreadModule:
    case RelocationKind::kThreadOffset:
    case RelocationKind::kThreadPointerOffset:
      plan->fixed.push_back({offset, r.word});
      break;
    case RelocationKind::kUnknown:
      return error(MPI_ERR_OTHER, "a relocation of type %lu (symbol '%s') is not known",
                   static_cast<unsigned long>(ELF64_R_TYPE(r.entry.r_info)), r.name);
  }
  return Status();
}

}  // namespace fgmpi::privatize
