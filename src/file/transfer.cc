// From a list of pieces to system calls, and from their results to a status.

#include "file/transfer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/count_words.h"
#include "base/strings.h"

namespace fgmpi::file {
namespace {

/// A system call moves less than 2 GiB; whole pages of that.
constexpr int64_t kMostKernelBytes = 0x7ffff000;
constexpr int kMostVectors = 1024;  // IOV_MAX of Linux
/// The most system calls that an engine receives at once.
constexpr size_t kMostCalls = 32;
/// Pieces shorter than this on average are copied through a buffer: a vector of the kernel's costs
/// about as much.
constexpr int64_t kShortPiece = 2048;
constexpr int64_t kStage = 1 << 20;
/// The widest gap that a read reads rather than make another system call; and that of a write,
/// which makes two calls and copies twice.
constexpr int64_t kNarrowGap = 4096, kNarrowGapOfWrites = 1024;
/// Pieces of so many bytes are read by calls of their own, whatever the gaps are.
constexpr int64_t kLongPiece = 1 << 16;

class Performer {
 public:
  Performer(Transfer* t, MakeCalls make) : t_(*t), make_(make) {}

  bool has_more_calls(size_t than) const {
    size_t calls = 0, i = 0;
    for (; i < t_.pieces.size() && calls <= than; ++calls) i = stretch(i);
    return calls > than;
  }

  void run() {
    size_t i = 0;
    while (i < t_.pieces.size() && !ended_) {
      const size_t past = stretch(i);
      const int64_t bytes = bytes_of(i, past);
      const int64_t span =
          t_.pieces[past - 1].offset + t_.pieces[past - 1].bytes - t_.pieces[i].offset;
      if (span != bytes || (past - i > 1 && bytes < kShortPiece * static_cast<int64_t>(past - i))) {
        make_all();
        if (!ended_) staged(i, past, span);
      } else {
        add(i, past, bytes);
        if (calls_.size() == kMostCalls || t_.stream) make_all();
      }
      i = past;
    }
    make_all();
  }

 private:
  int64_t bytes_of(size_t from, size_t past) const {
    int64_t sum = 0;
    for (size_t i = from; i < past; ++i) sum += t_.pieces[i].bytes;
    return sum;
  }
  /// The end of the pieces that one system call can move: without gaps, or in reads that sieve with
  /// narrow gaps.
  size_t stretch(size_t from) const {
    const int64_t most = t_.sieve ? t_.sieve : kMostKernelBytes;
    size_t i = from;
    int64_t end = t_.pieces[i].offset + t_.pieces[i].bytes;
    bool gaps = false, tight = true;
    for (++i; i < t_.pieces.size(); ++i) {
      const FilePiece& p = t_.pieces[i];
      const int64_t gap = p.offset - end;
      if (gap != 0 && !t_.stream) {
        if (t_.sieve == 0 || gap > (t_.write ? kNarrowGapOfWrites : kNarrowGap) ||
            p.bytes > kLongPiece)
          break;
        gaps = true;
      }
      // The buffer's size bounds gathered pieces; the limit of a system call bounds those in a row.
      const bool staged = gaps || !tight;
      const int64_t span = p.offset + p.bytes - t_.pieces[from].offset;
      if (span > (staged ? most : kMostKernelBytes)) break;
      if (i - from >= static_cast<size_t>(kMostVectors) && p.bytes >= kShortPiece) break;
      tight = tight && p.bytes >= kShortPiece;
      if (!tight && span > std::min(most, kStage)) break;
      end = p.offset + p.bytes;
    }
    return i;
  }
  /// A system call for pieces in a row, made later.
  void add(size_t from, size_t past, int64_t bytes) {
    for (size_t i = from; i < past; ++i)
      vectors_.push_back({t_.pieces[i].memory, static_cast<size_t>(t_.pieces[i].bytes)});
    calls_.push_back({t_.fd, t_.write, nullptr, static_cast<uint32_t>(past - from),
                      t_.stream ? -1 : t_.pieces[from].offset, bytes, 0});
  }
  /// Makes the calls that were added, until one fails or meets the end of the file.
  void make_all() {
    if (!ended_) t_.done += make(calls_);
    calls_.clear();
    vectors_.clear();
  }
  /// Returns the bytes that the calls moved, of vectors_ in order.
  int64_t make(std::vector<SystemCall>& calls) {
    iovec* list = vectors_.data();
    for (SystemCall& c : calls) {
      c.list = list;
      list += c.count;
    }
    int64_t done = 0;
    for (size_t next = 0; next < calls.size() && !ended_;) {
      const size_t past = next + make_(&calls[next], calls.size() - next);
      for (; next < past && !ended_; ++next) {
        if (!apply_result(&calls[next], &done)) break;  // the rest of it is to be made
      }
    }
    return done;
  }
  /// Returns false when the call must be made again, for its remaining bytes.
  bool apply_result(SystemCall* c, int64_t* done) {
    if (c->result == -EINTR) return false;
    if (c->result <= 0) {
      if (c->result < 0 || c->write) {
        t_.error = c->result < 0 ? static_cast<int>(-c->result) : ENOSPC;
        t_.failed_at = c->offset < 0 ? t_.done + *done : c->offset;
      }
      ended_ = true;
      return true;
    }
    *done += c->result;
    if (c->offset >= 0) c->offset += c->result;
    c->wanted -= c->result;
    auto* list = const_cast<iovec*>(c->list);
    for (auto left = static_cast<size_t>(c->result); left > 0;) {
      const size_t n = std::min(left, list->iov_len);
      list->iov_base = static_cast<char*>(list->iov_base) + n;
      list->iov_len -= n;
      left -= n;
      if (list->iov_len == 0) {
        ++list;
        --c->count;
      }
    }
    c->list = list;
    return c->wanted == 0;
  }
  /// Moves the buffer's bytes from or to the file. Returns how many were moved.
  int64_t one_call(bool write, int64_t offset, int64_t bytes) {
    vectors_ = {{buffer_.get(), static_cast<size_t>(bytes)}};
    std::vector<SystemCall> one{{t_.fd, write, nullptr, 1, t_.stream ? -1 : offset, bytes, 0}};
    const int64_t moved = make(one);
    vectors_.clear();
    return moved;
  }
  /// Moves pieces through a buffer of their span.
  void staged(size_t from, size_t past, int64_t span) {
    if (static_cast<size_t>(span) > room_) {
      room_ = static_cast<size_t>(std::max(span, std::min(kStage, 2 * span)));
      buffer_.reset(new char[room_]);
    }
    const int64_t base = t_.pieces[from].offset;
    if (t_.write && span != bytes_of(from, past)) {
      // Data sieving: the bytes between the pieces are read first; they are zero behind the end of
      // the file.
      std::memset(buffer_.get(), 0, static_cast<size_t>(span));
      one_call(false, base, span);
      if (t_.error) return;
      ended_ = false;
    }
    if (t_.write)
      for (size_t i = from; i < past; ++i)
        std::memcpy(buffer_.get() + (t_.pieces[i].offset - base), t_.pieces[i].memory,
                    static_cast<size_t>(t_.pieces[i].bytes));
    const int64_t moved = one_call(t_.write, base, span);
    for (size_t i = from; i < past; ++i) {
      const FilePiece& p = t_.pieces[i];
      const int64_t here = std::clamp<int64_t>(moved - (p.offset - base), 0, p.bytes);
      if (!t_.write && here > 0)
        std::memcpy(p.memory, buffer_.get() + (p.offset - base), static_cast<size_t>(here));
      t_.done += here;
    }
  }

  Transfer& t_;
  const MakeCalls make_;
  bool ended_ = false;  ///< an error, or the end of the file
  std::vector<SystemCall> calls_;
  std::vector<iovec> vectors_;  ///< the vectors of all calls, in their order
  std::unique_ptr<char[]> buffer_;
  size_t room_ = 0;
};

}  // namespace

int64_t Transfer::bytes() const {
  int64_t sum = 0;
  for (const FilePiece& p : pieces) sum += p.bytes;
  return sum;
}

void perform(Transfer* transfer, MakeCalls make) { Performer(transfer, make).run(); }

bool has_more_calls(const Transfer& transfer, size_t than) {
  return Performer(const_cast<Transfer*>(&transfer), nullptr).has_more_calls(than);
}

Status status_of(const Transfer& transfer, const std::string& path) {
  if (!transfer.error) return {};
  return io_error(
      transfer.error,
      format("%s %s at offset %lld, after %lld of %s", transfer.write ? "write" : "read",
             path.c_str(), static_cast<long long>(transfer.failed_at),
             static_cast<long long>(transfer.done),
             count_words(static_cast<uint64_t>(transfer.bytes()), "byte").c_str()));
}

}  // namespace fgmpi::file
