// Where the slots of a process are, and their mapping.
#include "heap/slots.h"

#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "base/page.h"

#include <mpi.h>

namespace fgmpi::heap {

namespace {
/// Each guard is a mapping of its own, of which a process has 65,530.
constexpr uint32_t kMostGuards = 4096;
}  // namespace

Status Slots::place(uint32_t process, uint32_t processes, uint32_t ranks) {
  const size_t each = kAll / std::bit_ceil(size_t{processes});
  const size_t one = std::bit_floor(each / std::bit_ceil(size_t{ranks}));
  if (one >> kLeastShift == 0)
    return error(MPI_ERR_NO_MEM,
                 "FGMPI_HEAP=rank: %u ranks in each of %u processes would have less than 1 MiB of "
                 "addresses each; allowed are fewer ranks",
                 ranks, processes);
  shift = std::min(static_cast<unsigned>(std::countr_zero(one)), kMostShift);
  first = kFirst + process * each;
  bytes = size_t{ranks} << shift;
  return {};
}

Status Slots::map(uint32_t ranks) const {
  void* at = reinterpret_cast<void*>(first);
  const void* got = mmap(at, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != at)
    return error(
        MPI_ERR_NO_MEM,
        "FGMPI_HEAP=rank: no addresses from %p on, %zu GiB: %s; allowed are fewer ranks in "
        "a process, or a larger limit (ulimit -v)",
        at, bytes >> 30, std::strerror(errno));
  if (ranks > kMostGuards) return {};
  for (uint32_t i = 0; i < ranks; ++i)
    mprotect(of_rank(i) + (size_t{1} << shift) - page_bytes(), page_bytes(), PROT_NONE);
  return {};
}

}  // namespace fgmpi::heap
