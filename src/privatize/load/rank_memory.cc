// Which memory is a rank's own: what its slot holds, beside the kernel's list of mappings, which
// has their protection.
#include "base/rank_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "base/kernel_mappings.h"
#include "base/mapped_allocator.h"
#include "base/page.h"
#include "privatize/image/images.h"
#include "privatize/image/swap.h"
#include "privatize/internal.h"
#include "privatize/load/file_mappings.h"
#include "privatize/load/guests.h"
#include "privatize/load/plugins.h"
#include "privatize/load/rank_heaps.h"
#include "proclet-sched/coroutine/packing.h"

namespace fgmpi::privatize {
namespace {

/// A part of a rank's memory, whose protection is not known yet.
struct OwnPart {
  uintptr_t low, high;
  RankMemoryPart part;
};
using OwnParts = std::vector<OwnPart, MappedAllocator<OwnPart>>;

void add_part(const char* low, const char* high, RankMemoryPart part, OwnParts* parts) {
  const size_t page = machine_page_bytes();
  parts->push_back({page_down(reinterpret_cast<uintptr_t>(low), page),
                    page_up(reinterpret_cast<uintptr_t>(high), page), part});
}

/// Where the bytes of the stack in the slot begin that the rank needs to go on.
const char* low_of_stack(const sched::Proclet* rank, const char* slot, const char* end) {
  sched::unpack_stack(rank);
  if (rank->stack_low < slot || rank->stack_low > end) return slot;  // it has left its stack
  // Code below may use what follows the stack pointer without moving it.
  constexpr size_t kRedZone = 128;
  const auto* context = static_cast<const char*>(rank->context);
  const bool waits = rank != sched::running() && context > rank->stack_low + kRedZone &&
                     context < rank->stack_low + rank->stack_size;
  return waits ? context - kRedZone : rank->stack_low;
}

/// The rank's images of what it has loaded while it ran, in ascending order; of a spawned rank also
/// that of its program.
OwnParts find_loaded_images(uint32_t index) {
  OwnParts images;
  plugins::visit_images(index, [&](const ElfModule& module, uintptr_t base) {
    const auto* at = reinterpret_cast<const char*>(base);
    add_part(at, at + module.span(), RankMemoryPart::kImage, &images);
  });
  std::ranges::sort(images, {}, &OwnPart::low);
  return images;
}

/// Adds pages that are among the mappings of a rank, some of which are images.
void add_mapping(const heap::MemoryRange& range, const OwnParts& images, OwnParts* parts) {
  auto at = reinterpret_cast<uintptr_t>(range.low);
  const auto end = reinterpret_cast<uintptr_t>(range.high);
  for (const OwnPart& image : images) {
    if (image.low < at || image.high > end) continue;
    if (image.low > at) parts->push_back({at, image.low, RankMemoryPart::kMapping});
    parts->push_back(image);
    at = image.high;
  }
  if (end > at) parts->push_back({at, end, RankMemoryPart::kMapping});
}

void find_own_parts(uint32_t index, const sched::Proclet* rank, OwnParts* parts) {
  const heap::SlotPlaces& places = slot_places();
  const char* slot = slot_of_rank(index);
  parts->clear();
  const char* stacks_end = slot + places.stacks_end;
  add_part(low_of_stack(rank, slot, stacks_end), stacks_end, RankMemoryPart::kStack, parts);
  if (g_images.in_slots() && rank->image && !is_guest(rank))
    add_part(slot + places.images, slot + places.images + g_images.image_bytes(),
             RankMemoryPart::kImage, parts);
  const OwnParts images = find_loaded_images(index);
  struct HeapParts {
    const OwnParts& images;
    OwnParts* parts;
  } heap{images, parts};
  visit_heap_memory(
      index,
      [](const heap::MemoryRange& range, bool is_mapping, void* data) {
        auto* all = static_cast<HeapParts*>(data);
        if (is_mapping)
          add_mapping(range, all->images, all->parts);
        else
          add_part(range.low, range.high, RankMemoryPart::kHeap, all->parts);
      },
      &heap);
}

/// nullptr, or why the memory of a rank is not all in its slot.
const char* reason_for_memory_elsewhere(uint32_t index) {
  const sched::Proclet* rank = sched::rank_proclet(index);
  if (rank->state == sched::ProcletState::kFinished) return nullptr;
  if (!is_guest(rank) && !g_images.in_slots())
    return "the variables of the program are not in memory of its ranks, as it is not "
           "position-independent, does not use MPI, or shares them (FGMPI_PRIVATIZE=off)";
  if (rank_of_slot(rank->stack_low) != index && is_guest(rank))
    return "there were no addresses for memory of their own of ranks that were spawned";
  if (const char* reason = describe_other_mapping(index)) return reason;
  static char words[512];
  const char* reason = nullptr;
  plugins::visit_images(index, [&](const ElfModule& module, uintptr_t base) {
    if (rank_of_slot(reinterpret_cast<const void*>(base)) == index) return;
    snprintf(words, sizeof words, "rank %u has loaded %s, for which its memory has no room",
             first_world_rank() + index, module.path().c_str());
    reason = words;
  });
  return reason;
}

/// As above, for any of these ranks.
const char* reason_for_memory_elsewhere(uint32_t first, uint32_t count) {
  if (!ranks_have_heaps()) return "ranks have no memory of their own (FGMPI_HEAP=rank)";
  if (count > sched::rank_count() || first > sched::rank_count() - count)
    return "there are no such ranks";
  for (uint32_t i = first; i < first + count; ++i)
    if (const char* reason = reason_for_memory_elsewhere(i)) return reason;
  return nullptr;
}

}  // namespace

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

const char* fgmpi_memory_of_ranks(uint32_t first, uint32_t count, fgmpi::VisitRankMemory* visit,
                                  void* data) {
  if (const char* reason = reason_for_memory_elsewhere(first, count)) return reason;
  store_loaded_areas();
  fgmpi::KernelMappings mappings;
  fgmpi::KernelMapping mapping;
  OwnParts parts;
  bool any = mappings.next(&mapping);
  for (uint32_t index = first; index < first + count; ++index) {
    const fgmpi::sched::Proclet* rank = fgmpi::sched::rank_proclet(index);
    if (!rank || rank->state == fgmpi::sched::ProcletState::kFinished) continue;
    find_own_parts(index, rank, &parts);
    for (const OwnPart& part : parts)
      for (uintptr_t at = part.low; at < part.high && any;) {
        if (mapping.high <= at) {
          any = mappings.next(&mapping);
          continue;
        }
        at = std::max(at, mapping.low);
        const uintptr_t end = std::min(part.high, mapping.high);
        // A shared file's pages are the file's. Slots that are in a file are shared, too.
        if (at < end && (!mapping.shared || slot_places().file >= 0))
          visit(index,
                {reinterpret_cast<char*>(at), reinterpret_cast<char*>(end), mapping.protection,
                 part.part, mapping.of_file},
                data);
        at = std::max(at, end);
      }
  }
  return nullptr;
}
