// Batches of process_vm_readv and process_vm_writev.

#include "rma/attached.h"

#include <mpi.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/count_words.h"

namespace fgmpi::rma {

bool Attached::add(void* local, uint64_t remote, int64_t bytes) {
  // The kernel moves at most 2 GiB less a page at once.
  constexpr int64_t kAtOnce = int64_t{1} << 30;
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
  iovec *local = local_, *remote = remote_;
  int left = std::exchange(count_, 0);
  while (left > 0 && failure_.ok()) {
    const auto n = static_cast<unsigned long>(left);
    const ssize_t moved = direction_ == Direction::kRead
                              ? process_vm_readv(pid_, local, n, remote, n, 0)
                              : process_vm_writev(pid_, local, n, remote, n, 0);
    if (moved <= 0) {
      if (moved < 0 && errno == EINTR) continue;
      const bool forbidden = moved < 0 && (errno == EPERM || errno == ENOSYS);
      failure_ = error(forbidden ? MPI_ERR_UNSUPPORTED_OPERATION : MPI_ERR_RMA_RANGE,
                       "the kernel does not %s %s at 0x%llx of process id %d: %m",
                       direction_ == Direction::kRead ? "read" : "write",
                       count_words(remote->iov_len, "byte").c_str(),
                       reinterpret_cast<unsigned long long>(remote->iov_base), pid_);
      break;
    }
    // The kernel may stop within a vector.
    for (auto rest = static_cast<size_t>(moved); rest > 0;) {
      const size_t taken = std::min(rest, local->iov_len);
      for (iovec* v : {local, remote}) {
        v->iov_base = static_cast<char*>(v->iov_base) + taken;
        v->iov_len -= taken;
      }
      rest -= taken;
      if (local->iov_len > 0) break;
      ++local;
      ++remote;
      --left;
    }
  }
  return failure_.ok();
}

Status Attached::finish() {
  if (count_ > 0 && failure_.ok()) move();
  return std::move(failure_);
}

}  // namespace fgmpi::rma
