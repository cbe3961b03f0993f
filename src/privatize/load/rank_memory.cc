// Which memory is a rank's own: what its slot holds, beside the kernel's list of mappings, which
// has their protection.
#include "base/rank_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/mapped_allocator.h"
#include "base/page.h"
#include "privatize/image/images.h"
#include "privatize/image/swap.h"
#include "privatize/internal.h"
#include "privatize/load/plugins.h"
#include "privatize/load/rank_heaps.h"
#include "proclet-sched/coroutine/packing.h"

namespace fgmpi::privatize {
namespace {

/// A line of /proc/self/maps.
struct KernelMapping {
  uintptr_t low = 0, high = 0;
  int protection = PROT_NONE;
  bool of_file = false;
};

/// Reads the mappings of this process in ascending order.
class KernelMappings {
 public:
  KernelMappings() : fd_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)), text_(size_t{64} << 10) {}
  ~KernelMappings() {
    if (fd_ >= 0) close(fd_);
  }
  KernelMappings(const KernelMappings&) = delete;
  KernelMappings& operator=(const KernelMappings&) = delete;

  /// False: there are no more.
  bool next(KernelMapping* out) {
    const char* line = next_line();
    unsigned long low, high, inode;
    char rights[5];
    if (!line || sscanf(line, "%lx-%lx %4s %*x %*s %lu", &low, &high, rights, &inode) != 4)
      return false;
    *out = {low, high, PROT_NONE, inode != 0};
    if (rights[0] == 'r') out->protection |= PROT_READ;
    if (rights[1] == 'w') out->protection |= PROT_WRITE;
    if (rights[2] == 'x') out->protection |= PROT_EXEC;
    return true;
  }

 private:
  const char* next_line() {
    for (;;) {
      char* end = static_cast<char*>(std::memchr(&text_[from_], '\n', to_ - from_));
      if (end) {
        *end = '\0';
        const char* line = &text_[from_];
        from_ = static_cast<size_t>(end - text_.data()) + 1;
        return line;
      }
      std::memmove(text_.data(), &text_[from_], to_ - from_);
      to_ -= from_;
      from_ = 0;
      const ssize_t got = fd_ < 0 ? 0 : read(fd_, &text_[to_], text_.size() - to_ - 1);
      if (got <= 0) return nullptr;
      to_ += static_cast<size_t>(got);
    }
  }

  int fd_;
  std::vector<char, MappedAllocator<char>> text_;
  size_t from_ = 0, to_ = 0;  ///< what was read and not yet used
};

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

void find_own_parts(uint32_t index, const sched::Proclet* rank, OwnParts* parts) {
  const heap::SlotPlaces& places = slot_places();
  const char* slot = places.slots + size_t{index} * places.stride;
  parts->clear();
  const char* stacks_end = slot + places.stacks_end;
  add_part(low_of_stack(rank, slot, stacks_end), stacks_end, RankMemoryPart::kStack, parts);
  if (g_images.in_slots() && rank->image)
    add_part(slot + places.images, slot + places.images + g_images.image_bytes(),
             RankMemoryPart::kImage, parts);
  visit_heap_memory(
      index,
      [](const heap::MemoryRange& range, bool is_mapping, void* data) {
        add_part(range.low, range.high,
                 is_mapping ? RankMemoryPart::kMapping : RankMemoryPart::kHeap,
                 static_cast<OwnParts*>(data));
      },
      parts);
}

/// nullptr, or why the memory of a rank is not all in its slot.
const char* reason_for_memory_elsewhere(uint32_t first, uint32_t count) {
  if (!ranks_have_heaps()) return "ranks have no memory of their own (FGMPI_HEAP=rank)";
  if (!g_images.in_slots())
    return "the variables of the program are not in memory of its ranks, as it is not "
           "position-independent, does not use MPI, or shares them (FGMPI_PRIVATIZE=off)";
  if (count > g_images.count() || first > g_images.count() - count)
    return "ranks that were spawned into a running process have no memory of their own";
  bool loaded = false;
  for (uint32_t i = first; i < first + count; ++i)
    plugins::visit_images(i, [&](const ElfModule&, uintptr_t) { loaded = true; });
  return loaded ? "a rank has loaded a library while it ran (dlopen)" : nullptr;
}

}  // namespace
}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

const char* fgmpi_memory_of_ranks(uint32_t first, uint32_t count, fgmpi::VisitRankMemory* visit,
                                  void* data) {
  if (const char* reason = reason_for_memory_elsewhere(first, count)) return reason;
  store_loaded_areas();
  KernelMappings mappings;
  KernelMapping mapping;
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
        if (at < end)
          visit(index,
                {reinterpret_cast<char*>(at), reinterpret_cast<char*>(end), mapping.protection,
                 part.part, mapping.of_file},
                data);
        at = std::max(at, end);
      }
  }
  return nullptr;
}
