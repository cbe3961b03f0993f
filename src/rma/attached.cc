// Batches of transfers, and the errors of those that the kernel refuses.

#include "rma/attached.h"

#include <mpi.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/count_words.h"
#include "base/process_memory.h"

namespace fgmpi::rma {

bool Attached::add(void* local, uint64_t remote, int64_t bytes) {
  constexpr auto kAtOnce = static_cast<int64_t>(kMostMovedAtOnce);
  auto* here = static_cast<char*>(local);
  while (bytes > 0) {
    const auto n = static_cast<size_t>(std::min(bytes, kAtOnce));
    local_[count_] = {here, n};
    remote_[count_] = {reinterpret_cast<void*>(remote), n};
    ++count_;
    here += n;
    remote += n;
    bytes -= static_cast<int64_t>(n);
    if ((count_ == kMost || n == static_cast<size_t>(kAtOnce)) && !move()) return false;
  }
  return true;
}

bool Attached::move() {
  MemoryPieces left{local_, remote_, static_cast<size_t>(std::exchange(count_, 0))};
  const bool reads = direction_ == Direction::kRead;
  const auto what = reads ? ProcessMemory::Move::kRead : ProcessMemory::Move::kWrite;
  if (failure_.ok() && !ProcessMemory(pid_).move(what, &left)) {
    const bool forbidden = errno == EPERM || errno == ENOSYS;
    failure_ = error(forbidden ? MPI_ERR_UNSUPPORTED_OPERATION : MPI_ERR_RMA_RANGE,
                     "the kernel does not %s %s at 0x%llx of process id %d: %m",
                     reads ? "read" : "write", count_words(left.remote->iov_len, "byte").c_str(),
                     reinterpret_cast<unsigned long long>(left.remote->iov_base), pid_);
  }
  return failure_.ok();
}

Status Attached::finish() {
  if (count_ > 0 && failure_.ok()) move();
  return std::move(failure_);
}

}  // namespace fgmpi::rma
