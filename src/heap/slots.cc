// Where the slots of a process are, and their mapping.
#include "heap/slots.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/page.h"

#include <mpi.h>

namespace fgmpi::heap {

namespace {
/// The least that a stack has beside an eighth of the slot, for slots that are small.
constexpr size_t kLeastStackRoom = size_t{64} << 10;
/// Heaps begin at the start of a span (rank_heap.h).
constexpr size_t kHeapAlignment = size_t{16} << 10;
/// Slots are longer than a power of two by an eighth of that, times the golden ratio, whose
/// multiples are spread evenly: so are the entries of ranks in page tables of each level.
constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
constexpr unsigned kSpreadPart = 3;

size_t next_multiple(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }
}  // namespace

Status Slots::place(const Ranks& ranks) {
  const size_t one = kAll / std::bit_ceil(std::max<uint64_t>(ranks.total, 1));
  if (one >> kLeastShift == 0)
    return error(MPI_ERR_NO_MEM,
                 "FGMPI_HEAP=rank: %llu ranks would have less than 1 MiB of addresses each; "
                 "allowed are fewer ranks",
                 static_cast<unsigned long long>(ranks.total));
  shift = std::min(static_cast<unsigned>(std::countr_zero(one)), kMostShift);
  const size_t spread = kGoldenRatio >> (64 - shift) >> kSpreadPart;
  set_stride((size_t{1} << shift) + next_multiple(spread, std::max({kHeapAlignment, page_bytes(),
                                                                    ranks.image_alignment})));
  own_first = ranks.in_file ? ranks.first : 0;
  own_count = ranks.ranks;
  places.slots = reinterpret_cast<char*>(kFirst + (ranks.first - own_first) * stride());
  places.stacks_end =
      next_multiple(std::min(stride() / 8, kMostBeforeStacksEnd) + kLeastStackRoom, page_bytes());
  places.images = next_multiple(places.stacks_end, std::max<size_t>(ranks.image_alignment, 1));
  places.heap =
      next_multiple(places.images + ranks.image_bytes, std::max(kHeapAlignment, page_bytes()));
  if (places.heap > stride() / 8 * 3)
    return error(MPI_ERR_NO_MEM,
                 "FGMPI_HEAP=rank: the program and its libraries have %zu KiB for each rank, and "
                 "each of %llu ranks has %zu KiB of addresses, of which they may take a quarter; "
                 "allowed are fewer ranks",
                 ranks.image_bytes >> 10, static_cast<unsigned long long>(ranks.total),
                 stride() >> 10);
  first = reinterpret_cast<uintptr_t>(places.slots) + places.heap;
  all = (ranks.in_file ? ranks.total : ranks.ranks) * stride();
  in_files = ranks.in_file ? all : 0;
  bytes = all - places.heap;
  return {};
}

Status Slots::map() {
  if (in_files) return map_in_file();
  // A page behind the last slot ends its heap.
  const void* got = mmap(places.slots, all + page_bytes(), PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != places.slots || mprotect(places.slots, all, PROT_READ | PROT_WRITE) != 0)
    return error(
        MPI_ERR_NO_MEM,
        "FGMPI_HEAP=rank: no addresses from %p on, %zu GiB: %s; allowed are fewer ranks in "
        "a process, or a larger limit (ulimit -v)",
        static_cast<void*>(places.slots), all >> 30, std::strerror(errno));
  // A huge page for each of many ranks, of which most use a few KiB of it, would be wasted.
  constexpr size_t kFewRanks = 16;
  if (all > kFewRanks * stride()) madvise(places.slots, all, MADV_NOHUGEPAGE);
  return {};
}

Status Slots::map_in_file() {
  const size_t size = own_count * stride();
  places.file = memfd_create("fgmpi-slots", MFD_CLOEXEC);
  if (places.file >= 0 && ftruncate(places.file, static_cast<off_t>(size)) == 0 &&
      map_others(places.file, own_first, own_count))
    return {};
  return error(MPI_ERR_NO_MEM,
               "FGMPI_BALANCE=on: no file in memory for %u slots from %p on, %zu GiB: %s; allowed "
               "are fewer ranks in a process, or a larger limit (ulimit -v, -f)",
               own_count, static_cast<void*>(slot_of(own_first)), size >> 30, std::strerror(errno));
}

bool Slots::map_others(int file, uint64_t number, uint32_t count) const {
  char* const at = slot_of(number);
  const size_t size = count * stride();
  // The system call itself: mmap() is interposed.
  const auto got =
      static_cast<uintptr_t>(syscall(SYS_mmap, at, size, PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, file, 0L));
  if (got != reinterpret_cast<uintptr_t>(at)) return false;
  // The first page of a slot is not used: it ends the heap before.
  return mprotect(at, page_bytes(), PROT_NONE) == 0;
}

bool Slots::extend(uint32_t count) {
  const size_t wanted = count * stride();
  if (wanted <= all) return true;
  char* const end = places.slots + all;
  if (count > (kAddedEnd - reinterpret_cast<uintptr_t>(places.slots)) / stride()) return false;
  // The page behind the last slot moves. Behind slots in files there is none yet.
  if (all == in_files &&
      mmap(end, page_bytes(), PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != end)
    return false;
  void* const behind = end + page_bytes();
  const void* got = mmap(behind, wanted - all, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) return false;
  if (got != behind || mprotect(end, wanted - all, PROT_READ | PROT_WRITE) != 0) {
    munmap(const_cast<void*>(got), wanted - all);
    return false;
  }
  madvise(end, wanted - all, MADV_NOHUGEPAGE);
  all = wanted;
  bytes = all - places.heap;
  return true;
}

int64_t Slots::owner_of(const void* p) const {
  if (!holds(p)) return -1;
  return number_of(static_cast<size_t>(static_cast<const char*>(p) - places.slots));
}

}  // namespace fgmpi::heap
