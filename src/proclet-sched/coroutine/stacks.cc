// The region of stacks and their guards.

#include "proclet-sched/coroutine/stacks.h"

#include <link.h>
#include <mpi.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/assert.h"
#include "base/memory_use.h"
#include "base/modules.h"
#include "proclet-sched/coroutine/limits.h"

namespace fgmpi::sched {
namespace {

// The constants are newer than this system's headers.
constexpr int kMadvGuardInstall = 102;  // MADV_GUARD_INSTALL
constexpr int kMadvGuardRemove = 103;   // MADV_GUARD_REMOVE
constexpr uint64_t kCanary = 0x5ac0ffee5ac0ffeeull;

/// True when the program, or a library of it, runs code that it writes onto the stack. Pointers to
/// nested functions need that: internal procedures passed as arguments in Fortran, nested functions
/// of GNU C. The linker records it in PT_GNU_STACK.
bool wants_executable_stacks() {
  const auto asks = [](const ElfW(Phdr) & segment) {
    return segment.p_type == PT_GNU_STACK && (segment.p_flags & PF_X);
  };
  return find_loaded_module(
      [&](const dl_phdr_info& module) { return std::ranges::any_of(segments_of(module), asks); });
}

int protection_of_stacks() {
  return PROT_READ | PROT_WRITE | (wants_executable_stacks() ? PROT_EXEC : 0);
}

}  // namespace

Status StackRegion::reserve(uint32_t count, size_t stack_size, const char* what) {
  release();
  guard_bytes_ = guard_bytes();
  stack_size_ = page_up(stack_size);
  slot_size_ = stack_size_ + guard_bytes_;
  uint64_t bytes = static_cast<uint64_t>(count) * slot_size_;
  void* base = MAP_FAILED;
  const int protection = protection_of_stacks();
  if (address_space_left() / slot_size_ >= count)
    base = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK,
                -1, 0);
  if (base == MAP_FAILED)
    return error(
        MPI_ERR_NO_MEM,
        "cannot reserve the stacks of %u %s (%zu KiB each): about %llu would fit; raise the "
        "limit on address space (ulimit -v) or lower FGMPI_STACK_SIZE",
        count, what, slot_size_ / 1024,
        static_cast<unsigned long long>(
            std::min<uint64_t>(address_space_left() / slot_size_, count - 1)));
  base_ = static_cast<char*>(base);
  count_ = canary_from_ = count;
  madvise(base_, bytes, MADV_NOHUGEPAGE);
  choose_guard(count);
  return Status();
}

void StackRegion::use_places(uint32_t count, size_t stack_size, const StackPlaces& places) {
  stack_size_ = stack_size;
  slot_size_ = places.stride;
  record_bytes_ = places.record;
  guard_bytes_ = places.end - stack_size_;
  base_ = places.slots;
  owned_ = false;
  in_file_ = places.in_file;
  count_ = canary_from_ = count;
}

void StackRegion::take(uint32_t count, size_t stack_size, const StackPlaces& places) {
  release();
  use_places(count, page_up(stack_size), places);
  // Each change of protection splits the mapping: stacks that are executed are rare.
  const int protection = protection_of_stacks();
  for (uint32_t i = 0; (protection & PROT_EXEC) && i < count; ++i)
    mprotect(low(i), stack_size_, protection);
  choose_guard(count);
}

void StackRegion::visit(size_t stack_size, const StackPlaces& place, bool fresh) {
  use_places(1, stack_size, place);
  guard_ = StackGuard::kMprotect;
  keeps_guards_ = true;
  if (!fresh) return;
  if (const int protection = protection_of_stacks(); protection & PROT_EXEC)
    mprotect(low(0), stack_size_, protection);
  mprotect(base_, guard_bytes_, PROT_NONE);
}

void StackRegion::release() {
  if (base_ && owned_) munmap(base_, static_cast<uint64_t>(count_) * slot_size_);
  if (base_ && !owned_ && !keeps_guards_) remove_guards();
  base_ = nullptr;
  count_ = 0;
  record_bytes_ = 0;
  owned_ = true;
  in_file_ = keeps_guards_ = false;
}

/// Later stacks in these places may be larger.
void StackRegion::remove_guards() {
  for (uint32_t slot = 0; slot < canary_from_; ++slot) {
    if (guard_ == StackGuard::kMprotect)
      mprotect(base_ + slot * slot_size_, guard_bytes_, PROT_READ | PROT_WRITE);
    else
      madvise(low(slot) - guard_bytes(), guard_bytes(), kMadvGuardRemove);
  }
}

/// May each stack have a guard that is a mapping of its own?
static bool have_mappings_for_guards(uint32_t count) {
  // Each protected page splits the mapping. Three quarters of the limit are left to all other uses,
  // or more where images need more.
  const int64_t then_in_use = 2 * static_cast<int64_t>(count) + mappings_in_use();
  return then_in_use < max_map_count() / 4 &&
         then_in_use + promised_mappings() + kSpareMappings <= max_map_count();
}

void StackRegion::choose_guard(uint32_t count) {
  // Guard pages take page tables, where stacks are far apart a page of them each.
  if (!owned_ && have_mappings_for_guards(count)) {
    guard_ = StackGuard::kMprotect;
    return;
  }
  // An emulator of processes (qemu) accepts any advice, and does nothing.
  constexpr int kNoAdvice = -1;
  char* const first = low(0) - guard_bytes();
  const bool kernel_decides = madvise(first, guard_bytes(), kNoAdvice) != 0;
  if (count == 0 || (kernel_decides && madvise(first, guard_bytes(), kMadvGuardInstall) == 0)) {
    guard_ = StackGuard::kGuardPages;
    return;
  }
  const bool fits = owned_ && have_mappings_for_guards(count);
  guard_ = fits ? StackGuard::kMprotect : StackGuard::kCanary;
  if (!fits) canary_from_ = 0;
}

void StackRegion::install_guard(uint32_t slot) {
  char* const page = base_ + slot * slot_size_;
  char* const below = low(slot) - guard_bytes();
  if (guard_ == StackGuard::kGuardPages && madvise(below, guard_bytes(), kMadvGuardInstall) == 0)
    return;
  if (guard_ == StackGuard::kMprotect && mprotect(page, guard_bytes_, PROT_NONE) == 0) return;
  canary_from_ = std::min(canary_from_, slot);  // guards are installed in ascending order
  memcpy(low(slot), &kCanary, sizeof kCanary);
}

void StackRegion::discard(uint32_t slot) {
  drop_pages(low(slot), stack_size(), in_file_);
  if (slot >= canary_from_) memcpy(low(slot), &kCanary, sizeof kCanary);
}

bool StackRegion::intact(uint32_t slot) const {
  return slot < canary_from_ || memcmp(low(slot), &kCanary, sizeof kCanary) == 0;
}

uint64_t StackRegion::written() const {
  const auto first = reinterpret_cast<uintptr_t>(base_);
  if (owned_) return own_bytes(first, first + static_cast<uint64_t>(count_) * slot_size_);
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < count_; ++i) {
    const auto stack = reinterpret_cast<uintptr_t>(low(i));
    bytes += own_bytes(stack, stack + stack_size_);
  }
  return bytes;
}

int64_t StackRegion::slot_of(const void* address, bool* in_guard) const {
  auto* p = static_cast<const char*>(address);
  if (!base_ || p < base_ || p >= base_ + static_cast<uint64_t>(count_) * slot_size_) return -1;
  const uint64_t offset = static_cast<uint64_t>(p - base_), in_slot = offset % slot_size_;
  *in_guard = in_slot < guard_bytes_;
  return in_slot < guard_bytes_ + stack_size_ ? static_cast<int64_t>(offset / slot_size_) : -1;
}

}  // namespace fgmpi::sched
