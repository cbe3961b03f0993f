// The child of a fork gets its own copy of its rank's slot.
#include "privatize/libc/forks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/kernel_mappings.h"
#include "base/mapped_allocator.h"
#include "base/raw_call.h"
#include "privatize/internal.h"
#include "privatize/load/rank_heaps.h"
#include "privatize/load/visitors.h"

namespace fgmpi::privatize {
namespace {

struct SlotCopy {
  const sched::Proclet* rank;
  SlotInFile slot;
  std::vector<KernelMapping, MappedAllocator<KernelMapping>> parts;  ///< shared ones
};

/// Calls see(first, end) for each run of pages of the range that have memory in the file.
template <class See>
void visit_pages(const SlotInFile& slot, uintptr_t low, uintptr_t high, See&& see) {
  const auto in_file = [&](uintptr_t at) {
    return static_cast<off_t>(slot.offset + (at - reinterpret_cast<uintptr_t>(slot.at)));
  };
  const off_t end = in_file(high);
  for (off_t at = in_file(low); at < end;) {
    const off_t first = lseek(slot.file, at, SEEK_DATA);
    if (first < 0 || first >= end) return;
    const off_t last = lseek(slot.file, first, SEEK_HOLE);
    at = last < 0 || last > end ? end : last;
    see(low + static_cast<uintptr_t>(first - in_file(low)),
        low + static_cast<uintptr_t>(at - in_file(low)));
  }
}

/// Puts private memory with the same bytes in the place of a part of the slot.
bool copy_part(const SlotInFile& slot, const KernelMapping& part) {
  const size_t size = part.high - part.low;
  void* const place = reinterpret_cast<void*>(part.low);
  const long got = raw_call(SYS_mmap, 0, static_cast<long>(size), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got < 0 && got > -4096) return false;
  if (!(part.protection & PROT_READ))
    raw_call(SYS_mprotect, static_cast<long>(part.low), static_cast<long>(size), PROT_READ);
  visit_pages(slot, part.low, part.high, [&](uintptr_t first, uintptr_t end) {
    std::memcpy(reinterpret_cast<char*>(got) + (first - part.low),
                reinterpret_cast<const void*>(first), end - first);
  });
  if (part.protection != (PROT_READ | PROT_WRITE))
    raw_call(SYS_mprotect, got, static_cast<long>(size), part.protection);
  return raw_call(SYS_mremap, got, static_cast<long>(size), static_cast<long>(size),
                  MREMAP_MAYMOVE | MREMAP_FIXED,
                  reinterpret_cast<long>(place)) == reinterpret_cast<long>(place);
}

/// The child's part, with nothing of the rank on the stack that runs.
void copy_in_child(const SlotCopy& copy) {
  for (const KernelMapping& part : copy.parts)
    if (!copy_part(copy.slot, part)) {
      constexpr char kLine[] = "fgmpi: no memory for the child of a fork of a rank\n";
      raw_call(SYS_write, STDERR_FILENO, reinterpret_cast<long>(kLine), sizeof kLine - 1);
      raw_call(SYS_exit_group, 1);
    }
}

pid_t fork_and_copy(pid_t (*fork)(), const SlotCopy& copy) {
  int done[2];
  if (raw_call(SYS_pipe2, reinterpret_cast<long>(done), O_CLOEXEC) < 0) return errno = EAGAIN, -1;
  lock_heap_for_fork(copy.rank);
  const pid_t child = fork();
  const int failed = errno;
  if (child == 0) copy_in_child(copy);
  raw_call(SYS_close, done[1]);
  char none;
  // Ends when the child has closed its end, or has ended.
  while (child > 0 && raw_call(SYS_read, done[0], reinterpret_cast<long>(&none), 1) == -EINTR) {
  }
  unlock_heap_after_fork(copy.rank);
  raw_call(SYS_close, done[0]);
  errno = failed;
  return child;
}

}  // namespace

bool must_copy_slot() {
  SlotInFile slot;
  return slot_places().file >= 0 && in_own_process() &&
         find_slot_in_file(sched::rank_of_thread(), &slot);
}

pid_t fork_with_slot(pid_t (*fork)()) {
  SlotCopy copy;
  copy.rank = sched::rank_of_thread();
  if (!find_slot_in_file(copy.rank, &copy.slot)) return fork();
  const auto low = reinterpret_cast<uintptr_t>(copy.slot.at);
  KernelMappings mappings;
  for (KernelMapping part; mappings.next(&part);) {
    part.low = std::max(part.low, low);
    part.high = std::min(part.high, low + copy.slot.bytes);
    if (part.shared && part.low < part.high) copy.parts.push_back(part);
  }
  if (!on_proclet()) return fork_and_copy(fork, copy);  // the stack is not in the slot
  pid_t child = -1;
  sched::call_on_host([&] {
    child = fork_and_copy(fork, copy);
    if (child == 0) set_forked_by_rank();
  });
  return child;
}

}  // namespace fgmpi::privatize
