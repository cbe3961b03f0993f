// mmap and its relatives, in front of the C library's: private anonymous memory that a rank asks
// for anywhere comes from its slot. mprotect, madvise and msync need nothing: the pages are the
// kernel's.
//
// Where slots are in a file (slots.h), private anonymous memory has to be made of shared pages:
// madvise gives them back in another way, mremap copies, and a mapping at an address in the slot
// makes the pages there anew. Protections are each process's: a rank that asks for some is marked.
// A rank that has gone to another process than its home goes home in front of a call that makes
// what only one process can have, since its objects of MPI there use its memory, too.
//
// A regular file that a rank maps at any address is mapped in its slot, too, so that it can be
// there again when the rank goes on in another process.
//
// A mapping that finds no room in the slot, such as a reservation of a terabyte, is the process's.
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/page.h"
#include "heap/other_mappings.h"
#include "heap/running.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace fgmpi::heap {
namespace {

void* kernel_map(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) {
  return reinterpret_cast<void*>(
      syscall(SYS_mmap, at, bytes, protection, flags, fd, static_cast<long>(offset)));
}

/// The heap in whose part for mappings this range lies, or nullptr.
RankHeap* heap_of_mapping(const void* at, size_t bytes) {
  const Slots& slots = g_process.slots;
  if (!slots.has(at) || slots.offset_of(at) >= slots.heap_bytes()) return nullptr;
  RankHeap* heap = RankHeap::at(slots.of_rank(slots.rank_of(at)));
  return heap->exists() && heap->mappings().has(slots.offset_of(at), bytes) ? heap : nullptr;
}

constexpr int kReadWrite = PROT_READ | PROT_WRITE;

/// The heap of the slot in a file in which this protection differs from that of other pages, or
/// nullptr.
RankHeap* heap_to_protect(const void* at, int protection) {
  const Slots& slots = g_process.slots;
  if (protection == kReadWrite || !slots.is_in_file(at) || !slots.has(at) ||
      slots.offset_of(at) >= slots.heap_bytes())
    return nullptr;
  RankHeap* heap = RankHeap::at(slots.of_rank(slots.rank_of(at)));
  return heap->exists() ? heap : nullptr;
}

/// Called when a rank asks for a protection in its slot.
void note_protection(const void* at, int protection) {
  if (RankHeap* heap = heap_to_protect(at, protection)) heap->set_protected();
}

/// A rank's program is about to have memory that only this process would have. False, with errno:
/// it cannot. May switch: the caller holds no lock, and knows no address of this process's.
bool may_differ() {
  const auto bring_home = g_process.ranks.bring_home;
  if (!bring_home || bring_home()) return true;
  errno = ENOMEM;
  return false;
}

/// nullptr: it cannot be had from the slot. MAP_FAILED: the rank's limit is reached.
void* map_in_slot(uint32_t index, size_t bytes, int protection, int flags) {
  char* at;
  bool refused;
  {
    const HeapUser user(index);
    RankHeap* heap = user.heap();
    const bool charged = (protection & PROT_WRITE) != 0;
    const size_t offset = heap->mappings().take(heap, bytes, charged);
    refused = !offset && charged && !heap->has_room_for(bytes);
    at = offset ? heap->address_of(offset) : nullptr;
  }
  if (refused) {
    refuse(index, bytes);
    return MAP_FAILED;
  }
  if (!at) return nullptr;
  if (protection != (PROT_READ | PROT_WRITE)) mprotect(at, bytes, protection);
  note_protection(at, protection);
  if (flags & MAP_POPULATE) madvise(at, bytes, MADV_WILLNEED);
  return at;
}

/// Makes pages as they are while they belong to no mapping.
bool reset(RankHeap* heap, void* at, size_t bytes) {
  const HeapUser user(g_process.slots.rank_of(at));
  if (!heap->mappings().give_up(heap, heap->offset_of(at), bytes)) {
    errno = ENOMEM;
    return false;
  }
  reset_mappings(heap, heap->offset_of(at), bytes);
  return true;
}

/// Maps a regular file in the rank's slot, where no other rank of the job has anything. nullptr: it
/// has to lie elsewhere.
void* map_file_in_slot(uint32_t index, size_t bytes, int protection, int flags, int fd,
                       off_t offset) {
  constexpr int kPlain = MAP_SHARED | MAP_PRIVATE | MAP_NORESERVE | MAP_POPULATE;
  struct stat file;
  if ((flags & ~kPlain) || fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) return nullptr;
  RankHeap* heap;
  size_t place;
  {
    const HeapUser user(index);
    heap = user.heap();
    place = heap->is_in_file() ? 0 : heap->mappings().take(heap, bytes, false);
  }
  if (!place) return nullptr;
  char* const at = heap->address_of(place);
  if (kernel_map(at, bytes, protection, flags | MAP_FIXED, fd, offset) != MAP_FAILED) return at;
  reset(heap, at, bytes);
  return nullptr;
}

/// A mapping has been made, which has replaced what was there.
void record_mapping(void* at, size_t bytes, int flags, const void* place) {
  constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS;
  const bool as_slot = (flags & kAnonymous) == kAnonymous && heap_of_mapping(at, bytes);
  uint32_t index;
  if (as_slot || !finds_rank(&index, place))
    cut_other_mappings(at, bytes);
  else
    add_other_mapping(index, at, bytes);
}

/// The heap of a slot that is in a file, where the mapping is private anonymous memory at an
/// address in its part for mappings; nullptr: it is something else.
RankHeap* heap_to_map_over(void* at, size_t bytes, int flags) {
  const bool plain = at && (flags & MAP_FIXED) && (flags & MAP_ANONYMOUS) && !(flags & MAP_SHARED);
  RankHeap* heap = plain && bytes ? heap_of_mapping(at, bytes) : nullptr;
  return heap && heap->is_in_file() ? heap : nullptr;
}

/// Makes such memory; false: it is something else.
bool map_over(void* at, size_t bytes, int protection, int flags) {
  RankHeap* heap = heap_to_map_over(at, bytes, flags);
  if (!heap) return false;
  reset_mappings(heap, heap->offset_of(at), page_up(bytes, machine_page_bytes()));
  if (protection != kReadWrite) mprotect(at, bytes, protection);
  note_protection(at, protection);
  return true;
}

void* map(void* at, size_t bytes, int protection, int flags, int fd, off_t offset,
          const void* place) {
  constexpr int kPlain = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK | MAP_POPULATE;
  const size_t whole = page_up(bytes, machine_page_bytes());  // 0 also where that overflows
  const bool plain = !at && whole && (flags & MAP_ANONYMOUS) && !(flags & ~kPlain);
  uint32_t index;
  const bool of_rank = whole && finds_rank(&index, place);
  const bool as_slot = protection == kReadWrite && (plain || heap_to_map_over(at, bytes, flags));
  if (of_rank && !as_slot && !may_differ()) return MAP_FAILED;
  if (plain && of_rank) {
    if (void* got = map_in_slot(index, whole, protection, flags)) return got;
    if (!may_differ()) return MAP_FAILED;
  }
  if (!at && !(flags & MAP_ANONYMOUS) && of_rank)
    if (void* got = map_file_in_slot(index, whole, protection, flags, fd, offset)) {
      add_other_mapping(index, got, bytes);
      return got;
    }
  if (map_over(at, bytes, protection, flags)) {
    cut_other_mappings(at, bytes);
    return at;
  }
  void* const got = kernel_map(at, bytes, protection, flags, fd, offset);
  if (got != MAP_FAILED) record_mapping(got, bytes, flags, place);
  return got;
}

int unmap(void* at, size_t bytes) {
  const size_t page = machine_page_bytes(), whole = page_up(bytes, page);
  const bool good = whole != 0 && reinterpret_cast<uintptr_t>(at) % page == 0;
  if (good) cut_other_mappings(at, bytes);
  RankHeap* heap = good ? heap_of_mapping(at, whole) : nullptr;
  if (!heap) return static_cast<int>(syscall(SYS_munmap, at, bytes));
  return reset(heap, at, whole) ? 0 : -1;
}

void* kernel_remap(void* at, size_t before, size_t bytes, int flags, void* to) {
  return reinterpret_cast<void*>(syscall(SYS_mremap, at, before, bytes, flags, to));
}

/// As move_to(), from a slot that is in a file: the pages stay where they are in the file.
void* copy_to(RankHeap* heap, void* at, size_t before, size_t bytes, void* to) {
  if (!map_over(to, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED) &&
      kernel_map(to, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                 0) == MAP_FAILED)
    return MAP_FAILED;
  std::memcpy(to, at, std::min(before, bytes));
  return reset(heap, at, before) ? to : MAP_FAILED;
}

/// Lists pages that the rank's mapping in a slot has been moved to. `of_slot`: they are as those of
/// slots are.
void record_moved(uint32_t index, void* moved, size_t bytes, bool of_slot) {
  if (of_slot && heap_of_mapping(moved, bytes))
    cut_other_mappings(moved, bytes);
  else
    add_other_mapping(index, moved, bytes);
}

/// Moves the pages of a mapping in a slot to another address, and gives up their place.
void* move_to(RankHeap* heap, void* at, size_t before, size_t bytes, void* to) {
  if (heap->is_in_file()) {
    cut_other_mappings(to, bytes);
    return copy_to(heap, at, before, bytes, to);
  }
  const int64_t owner = owner_of_other_mapping(at, before);
  if (owner == kSeveralMappings) {
    errno = EFAULT;  // the kernel's answer, too
    return MAP_FAILED;
  }
  void* moved = kernel_remap(at, before, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to);
  // Pages of several protections are copied, but not those of files.
  if (moved == MAP_FAILED && errno == EFAULT && bytes > before && owner < 0) {
    std::memcpy(to, at, before);
    moved = to;
  }
  if (moved == MAP_FAILED) return moved;
  cut_other_mappings(at, before);  // while nobody else can take the place
  const auto index = static_cast<uint32_t>(owner < 0 ? g_process.slots.rank_of(at) : owner);
  reset(heap, at, before);
  record_moved(index, moved, bytes, owner < 0);
  return moved;
}

/// A mapping of a rank that is not as its slot's are.
void* remap_other(uint32_t index, void* at, size_t before, size_t bytes, int flags, void* to) {
  void* const moved = kernel_remap(at, before, bytes, flags, to);
  if (moved == MAP_FAILED) return moved;
  cut_other_mappings(at, before);
  add_other_mapping(index, moved, bytes);
  return moved;
}

void* remap(void* at, size_t before, size_t bytes, int flags, void* to, const void* place) {
  const size_t page = machine_page_bytes(), now = page_up(before, page),
               then = page_up(bytes, page);
  RankHeap* heap = before && bytes ? heap_of_mapping(at, now) : nullptr;
  if (heap && (flags & MREMAP_FIXED) && is_for_rank(place) && !heap_of_mapping(to, then) &&
      !may_differ())
    return MAP_FAILED;
  const int64_t owner = owner_of_other_mapping(at, heap ? now : 1);
  if (owner >= 0 && !heap)
    return remap_other(static_cast<uint32_t>(owner), at, before, bytes, flags, to);
  if (!heap) return kernel_remap(at, before, bytes, flags, to);
  if (flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED)) {  // what was mapped there stays mapped
    void* const moved = kernel_remap(at, before, bytes, flags, to);
    if (moved != MAP_FAILED)
      record_moved(static_cast<uint32_t>(g_process.slots.rank_of(at)), moved, bytes,
                   owner == kNoMapping);
    return moved;
  }
  if (flags & MREMAP_FIXED) return move_to(heap, at, now, then, to);
  if (then <= now) {
    if (then < now) cut_other_mappings(static_cast<char*>(at) + then, now - then);
    if (then < now && !reset(heap, static_cast<char*>(at) + then, now - then)) return MAP_FAILED;
    return at;
  }
  if (owner == kNoMapping) {
    const HeapUser user(g_process.slots.rank_of(at));
    if (heap->mappings().grow(heap, heap->offset_of(at) + now, then - now)) return at;
  }
  if (!(flags & MREMAP_MAYMOVE)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  // The pages of a file are no memory that counts.
  void* other = map(nullptr, then, owner < 0 ? PROT_READ | PROT_WRITE : PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, place);
  if (other == MAP_FAILED) return other;
  void* const moved = move_to(heap, at, now, then, other);
  if (moved == MAP_FAILED) {
    const int why = errno;
    unmap(other, then);
    errno = why;
  }
  return moved;
}

}  // namespace
}  // namespace fgmpi::heap

using namespace fgmpi::heap;

EXPORT void* mmap(void* at, size_t bytes, int protection, int flags, int fd,
                  off_t offset) noexcept {
  return map(at, bytes, protection, flags, fd, offset, __builtin_return_address(0));
}
EXPORT void* mmap64(void* at, size_t bytes, int protection, int flags, int fd,
                    off_t offset) noexcept {
  return map(at, bytes, protection, flags, fd, offset, __builtin_return_address(0));
}
EXPORT int mprotect(void* at, size_t bytes, int protection) noexcept {
  if (RankHeap* heap = heap_to_protect(at, protection)) {
    if (is_for_rank(__builtin_return_address(0)) && !may_differ()) return -1;
    heap->set_protected();
  }
  return static_cast<int>(syscall(SYS_mprotect, at, bytes, protection));
}
EXPORT int madvise(void* at, size_t bytes, int advice) noexcept {
  const Slots& slots = g_process.slots;
  if (slots.is_in_file(at) && (advice == MADV_DONTNEED || advice == MADV_FREE))
    advice = MADV_REMOVE;
  return static_cast<int>(syscall(SYS_madvise, at, bytes, advice));
}
EXPORT int munmap(void* at, size_t bytes) noexcept { return unmap(at, bytes); }

EXPORT void* mremap(void* at, size_t before, size_t bytes, int flags, ...) noexcept {
  void* to = nullptr;
  if (flags & MREMAP_FIXED) {
    va_list more;
    va_start(more, flags);
    to = va_arg(more, void*);
    va_end(more);
  }
  return remap(at, before, bytes, flags, to, __builtin_return_address(0));
}
