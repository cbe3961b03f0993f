// ProcessMemory: the memory of another process, or of this one where it may be gone a moment later,
// which the kernel copies (process_vm_readv, process_vm_writev) without help of that process.
//
// The process permits it by base/attach.h, where the kernel restricts it. Where a function fails,
// errno says why: EPERM (not permitted), ENOSYS, ESRCH (no such process), EFAULT (no such memory).
// Thread rule: any thread. System calls; nothing here allocates or switches.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace fgmpi {

/// A length that fits one system call, by which the kernel moves at most 2 GiB less a page.
inline constexpr size_t kMostMovedAtOnce = size_t{1} << 30;

/// Pieces of memory of this process and of another one, in pairs of equal lengths.
struct MemoryPieces {
  iovec* local;
  iovec* remote;
  size_t count;  ///< at most IOV_MAX
};

class ProcessMemory {
 public:
  enum class Move : uint8_t { kRead, kWrite };

  explicit ProcessMemory(pid_t process) : process_(process) {}

  /// Reads `bytes` bytes at `address` by one system call. Returns false unless all were read.
  bool read(uint64_t address, void* out, size_t bytes) const {
    iovec here{out, bytes}, there{reinterpret_cast<void*>(address), bytes};
    return read_pieces({&here, &there, 1}) == static_cast<ssize_t>(bytes);
  }

  /// Reads the pieces by one system call. Returns the number of bytes read, or -1.
  ssize_t read_pieces(const MemoryPieces& pieces) const { return move_once(Move::kRead, pieces); }

  /// Reads bytes of any length, by as many system calls as that takes. Returns the number of bytes
  /// read before the first failure, `bytes` where there was none.
  size_t read_long(uint64_t address, void* out, size_t bytes) const {
    auto* const to = static_cast<char*>(out);
    size_t done = 0;
    while (done < bytes) {
      const size_t now = std::min(bytes - done, kMostMovedAtOnce);
      iovec here{to + done, now}, there{reinterpret_cast<void*>(address + done), now};
      MemoryPieces piece{&here, &there, 1};
      if (!move(Move::kRead, &piece)) return done + (now - here.iov_len);
      done += now;
    }
    return done;
  }

  /// Moves all bytes of the pieces, by as many system calls as that takes: the kernel may stop
  /// anywhere. Returns false at the first failure: *pieces then begins with what was not moved.
  /// REQUIRES: no piece is empty.
  bool move(Move what, MemoryPieces* pieces) const {
    while (pieces->count > 0) {
      const ssize_t moved = move_once(what, *pieces);
      if (moved < 0 && errno == EINTR) continue;
      if (moved <= 0) return false;
      remove_front(static_cast<size_t>(moved), pieces);
    }
    return true;
  }

 private:
  ssize_t move_once(Move what, const MemoryPieces& p) const {
    return what == Move::kRead
               ? process_vm_readv(process_, p.local, p.count, p.remote, p.count, 0)
               : process_vm_writev(process_, p.local, p.count, p.remote, p.count, 0);
  }
  static void remove_front(size_t bytes, MemoryPieces* pieces) {
    while (bytes > 0) {
      const size_t part = std::min(bytes, pieces->local->iov_len);
      for (iovec* v : {pieces->local, pieces->remote}) {
        v->iov_base = static_cast<char*>(v->iov_base) + part;
        v->iov_len -= part;
      }
      bytes -= part;
      if (pieces->local->iov_len > 0) return;
      ++pieces->local;
      ++pieces->remote;
      --pieces->count;
    }
  }

  pid_t process_;
};

}  // namespace fgmpi
