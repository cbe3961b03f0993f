#include "file/transfer.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>

#include "base/settings.h"
#include "base/strings.h"
#include "file/engine.h"
#include "proclet-sched/sched.h"

namespace fgmpi::file {
namespace {

/// A system call moves less than 2 GiB; whole pages of that.
constexpr int64_t kMostBytes = 0x7ffff000;
constexpr int kMostVectors = 1024;  // IOV_MAX of Linux
/// Pieces shorter than this on average are copied through a buffer: a vector of the kernel's costs about as much.
constexpr int64_t kShortPiece = 2048;
constexpr int64_t kStage = 1 << 20;
/// A gap that a read takes with it rather than make another system call.
constexpr int64_t kNarrowGap = 4096;
/// Pieces that are read by calls of their own whatever the gaps are.
constexpr int64_t kLongPiece = 1 << 16;

class Performer {
 public:
  explicit Performer(Transfer* t) : t_(*t) {}

  void run() {
    size_t i = 0;
    while (i < t_.pieces.size() && !t_.error && !ended_) {
      const size_t past = stretch(i);
      const int64_t bytes = bytes_of(i, past);
      const int64_t span =
          t_.pieces[past - 1].offset + t_.pieces[past - 1].bytes - t_.pieces[i].offset;
      if (span != bytes || (past - i > 1 && bytes < kShortPiece * static_cast<int64_t>(past - i)))
        staged(i, past, span);
      else
        vectors(i, past);
      i = past;
    }
  }

 private:
  int64_t bytes_of(size_t from, size_t past) const {
    int64_t sum = 0;
    for (size_t i = from; i < past; ++i) sum += t_.pieces[i].bytes;
    return sum;
  }
  /// The end of the pieces that one system call can take: without gaps, or in reads that sieve with narrow ones.
  size_t stretch(size_t from) const {
    const int64_t most = t_.sieve && !t_.write ? std::max<int64_t>(t_.sieve, 1) : kMostBytes;
    size_t i = from;
    int64_t end = t_.pieces[i].offset + t_.pieces[i].bytes;
    bool gaps = false, tight = true;
    for (++i; i < t_.pieces.size(); ++i) {
      const Piece& p = t_.pieces[i];
      const int64_t gap = p.offset - end;
      if (gap != 0 && !t_.stream) {
        if (t_.write || t_.sieve == 0 || gap > kNarrowGap || p.bytes > kLongPiece) break;
        gaps = true;
      }
      // What a buffer takes in is bounded by it; what lies in a row by a system call.
      const bool staged = gaps || !tight;
      const int64_t span = p.offset + p.bytes - t_.pieces[from].offset;
      if (span > (staged ? most : kMostBytes)) break;
      if (i - from >= static_cast<size_t>(kMostVectors) && p.bytes >= kShortPiece) break;
      tight = tight && p.bytes >= kShortPiece;
      if (!tight && span > std::min(most, kStage)) break;
      end = p.offset + p.bytes;
    }
    return i;
  }
  /// Moves `bytes` at `offset`; returns how many, fewer at the end of the file or with an error.
  int64_t row(char* memory, int64_t offset, int64_t bytes) {
    int64_t done = 0;
    while (done < bytes) {
      const auto n = static_cast<size_t>(std::min(bytes - done, kMostBytes));
      const ssize_t moved = one_call(memory + done, offset + done, n);
      if (moved < 0) {
        if (errno == EINTR) continue;
        fail(errno, offset + done);
        return done;
      }
      if (moved == 0) {
        if (t_.write) fail(ENOSPC, offset + done);
        ended_ = true;
        return done;
      }
      done += moved;
    }
    return done;
  }
  ssize_t one_call(char* memory, int64_t offset, size_t bytes) const {
    if (t_.stream) return t_.write ? ::write(t_.fd, memory, bytes) : ::read(t_.fd, memory, bytes);
    return t_.write ? ::pwrite(t_.fd, memory, bytes, offset)
                    : ::pread(t_.fd, memory, bytes, offset);
  }
  void fail(int code, int64_t offset) {
    t_.error = code;
    t_.failed_at = offset;
  }
  /// Pieces in a row, by one call after the other.
  void vectors(size_t from, size_t past) {
    if (past - from == 1) {
      const Piece& p = t_.pieces[from];
      t_.done += row(p.memory, p.offset, p.bytes);
      return;
    }
    std::vector<iovec> list;
    for (size_t i = from; i < past; ++i)
      list.push_back({t_.pieces[i].memory, static_cast<size_t>(t_.pieces[i].bytes)});
    int64_t offset = t_.pieces[from].offset;
    for (size_t first = 0; first < list.size();) {
      const int count = static_cast<int>(std::min<size_t>(list.size() - first, kMostVectors));
      const ssize_t moved = vector_call(&list[first], count, offset);
      if (moved < 0 && errno == EINTR) continue;
      if (moved <= 0) {
        if (moved < 0 || t_.write) fail(moved < 0 ? errno : ENOSPC, offset);
        ended_ = true;
        return;
      }
      t_.done += moved;
      offset += moved;
      for (auto left = static_cast<size_t>(moved); left > 0;) {
        iovec& v = list[first];
        const size_t n = std::min(left, v.iov_len);
        v.iov_base = static_cast<char*>(v.iov_base) + n;
        v.iov_len -= n;
        left -= n;
        if (v.iov_len == 0) ++first;
      }
    }
  }
  ssize_t vector_call(const iovec* list, int count, int64_t offset) const {
    if (t_.stream) return t_.write ? ::writev(t_.fd, list, count) : ::readv(t_.fd, list, count);
    return t_.write ? ::pwritev(t_.fd, list, count, offset) : ::preadv(t_.fd, list, count, offset);
  }
  /// Pieces through a buffer of their span.
  void staged(size_t from, size_t past, int64_t span) {
    if (static_cast<size_t>(span) > room_) {
      room_ = static_cast<size_t>(std::max(span, std::min(kStage, 2 * span)));
      buffer_.reset(new char[room_]);
    }
    const int64_t base = t_.pieces[from].offset;
    if (t_.write)
      for (size_t i = from; i < past; ++i)
        std::memcpy(buffer_.get() + (t_.pieces[i].offset - base), t_.pieces[i].memory,
                    static_cast<size_t>(t_.pieces[i].bytes));
    const int64_t moved = row(buffer_.get(), base, span);
    for (size_t i = from; i < past; ++i) {
      const Piece& p = t_.pieces[i];
      const int64_t here = std::clamp<int64_t>(moved - (p.offset - base), 0, p.bytes);
      if (!t_.write && here > 0)
        std::memcpy(p.memory, buffer_.get() + (p.offset - base), static_cast<size_t>(here));
      t_.done += here;
    }
  }

  Transfer& t_;
  bool ended_ = false;
  std::unique_ptr<char[]> buffer_;
  size_t room_ = 0;
};

}  // namespace

int64_t Transfer::bytes() const {
  int64_t sum = 0;
  for (const Piece& p : pieces) sum += p.bytes;
  return sum;
}

void perform(Transfer* transfer) { Performer(transfer).run(); }

void move(Transfer* transfer, const char* call) {
  enum class Engine : uint8_t { kThreads, kDirect };
  static_assert(settings::has_choices(settings::kFileEngine, "threads|direct"));
  static const auto engine = settings::choice<Engine>(settings::kFileEngine);
  // The only rank of a process, in a blocking call, would wait for the thread alone.
  const bool alone = sched::rank_count() == 1 && !sched::on_host_stack() &&
                     sched::current()->kind == sched::Kind::kRank;
  if (engine == Engine::kThreads && !alone && !sched::on_host_stack() &&
      run_on_threads(transfer, call))
    return;
  perform(transfer);
}

Status status_of(const Transfer& transfer, const std::string& path) {
  if (!transfer.error) return {};
  return io_error(
      transfer.error,
      format("%s %s at offset %lld, after %lld of %lld bytes", transfer.write ? "write" : "read",
             path.c_str(), static_cast<long long>(transfer.failed_at),
             static_cast<long long>(transfer.done), static_cast<long long>(transfer.bytes())));
}

}  // namespace fgmpi::file
