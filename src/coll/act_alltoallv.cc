// All-to-all of the v and w forms between processes, in bounded memory.
//
//   stream of a pair of processes    the parts of its members, by receiver, then sender:
//                                    | 0>5 1>5 2>5 | 0>6 1>6 | 2>6 | 0>7 ...
//                                      chunk: whole parts of at most so many bytes, or one longer
//
// Nobody knows all sizes, but both ends of a pair know those of its stream and cut it alike. The
// first chunk of every pair goes by the selected algorithm, small enough that all of them together
// are bounded; what is left of a pair, chunk by chunk. A part of plain memory that is a chunk of
// its own is neither packed nor unpacked.
#include <algorithm>

#include "base/strings.h"
#include "coll/act.h"
#include "coll/selector.h"

namespace fgmpi::coll {
namespace {

class Stream {
 public:
  enum Direction { kOut, kIn };
  Stream(const Act& act, const Placement& placement, uint32_t place, Direction direction)
      : members_(act.members), direction_(direction) {
    placement.for_each(place, [&](int32_t rank) { ranks_.push_back(rank); });
  }

  bool done() const { return end_ == ranks_.size() * members_.size(); }

  /// Makes the parts from here on, as many as `limit` bytes hold, the current chunk; with `alone`
  /// at least one. Returns its bytes.
  size_t next(size_t limit, bool alone) {
    begin_ = end_;
    bytes_ = 0;
    for (; !done(); ++end_) {
      size_t more = static_cast<size_t>(part(end_).bytes());
      if (bytes_ + more > limit && !(alone && bytes_ == 0)) break;
      bytes_ += more;
    }
    return bytes_;
  }
  size_t bytes() const { return bytes_; }

  /// Where the chunk is in the user's memory, if it is one part without gaps; else nullptr.
  char* direct() const {
    char* address = nullptr;
    for (size_t k = begin_; k < end_; ++k) {
      Segment s = part(k);
      if (s.bytes() == 0) continue;
      if (address) return nullptr;
      address = run_of_bytes(s);
      if (!address) return nullptr;
    }
    return address;
  }
  Status pack_chunk(char* at) const {
    for (size_t k = begin_; k < end_; ++k) {
      Segment s = part(k);
      FGMPI_TRY(pack(s, at));
      at += s.bytes();
    }
    return {};
  }
  Status unpack_chunk(const char* at) const {
    for (size_t k = begin_; k < end_; ++k) {
      Segment s = part(k);
      FGMPI_TRY(unpack(at, s.bytes(), s));
      at += s.bytes();
    }
    return {};
  }

 private:
  Segment part(size_t k) const {
    if (direction_ == kOut)
      return members_[k % members_.size()]->send.segment(ranks_[k / members_.size()]);
    return members_[k / ranks_.size()]->recv.segment(ranks_[k % ranks_.size()]);
  }

  const std::vector<Args*>& members_;
  Direction direction_;
  std::vector<int32_t> ranks_;
  size_t begin_ = 0, end_ = 0, bytes_ = 0;
};

/// The first error is the verdict; the exchange goes on, lest the others wait.
void note(Status* first, Status status) {
  if (first->ok()) *first = std::move(status);
}

class Exchange {
 public:
  Exchange(const Act& act, const Team& team, const Placement& placement) : team_(team) {
    for (uint32_t p = 0; p < team.count(); ++p) {
      out_.emplace_back(act, placement, p, Stream::kOut);
      in_.emplace_back(act, placement, p, Stream::kIn);
    }
  }

  Status run() {
    FGMPI_TRY(first_chunks());
    uint32_t n = team_.count(), me = team_.me();
    for (uint32_t step = 1; step < n; ++step) {
      uint32_t to = (me + step) % n, from = (me + n - step) % n;
      // A send waits at most for a receive that its receiver posts before its own send.
      while (!out_[to].done() || !in_[from].done()) {
        pt2pt::Request* request = nullptr;
        if (!in_[from].done()) FGMPI_TRY(start_receive(from, &request));
        if (!out_[to].done()) note(&status_, send(to));
        if (request) note(&status_, finish_receive(from, request));
      }
    }
    return std::move(status_);
  }

 private:
  Status first_chunks() {
    size_t each = alltoall_round_bytes() / team_.count();
    Blocks out, in;
    out.offset.assign(1, 0);
    in.offset.assign(1, 0);
    for (uint32_t p = 0; p < team_.count(); ++p) {
      bool other = p != team_.me();
      out.offset.push_back(out.offset.back() + (other ? out_[p].next(each, false) : 0));
      in.offset.push_back(in.offset.back() + (other ? in_[p].next(each, false) : 0));
    }
    auto outgoing = raw_memory(out.total()), incoming = raw_memory(in.total());
    for (uint32_t p = 0; p < team_.count(); ++p)
      if (p != team_.me()) note(&status_, out_[p].pack_chunk(outgoing.get() + out.offset[p]));
    AlltoallFn exchange;
    FGMPI_TRY(pick_alltoall({team_.count(), SIZE_MAX, true, true, false}, &exchange));
    FGMPI_TRY(exchange(team_, outgoing.get(), incoming.get(), {&out, &in, {}, 0}));
    for (uint32_t p = 0; p < team_.count(); ++p)
      if (p != team_.me()) note(&status_, in_[p].unpack_chunk(incoming.get() + in.offset[p]));
    return {};
  }

  Status start_receive(uint32_t from, pt2pt::Request** request) {
    size_t bytes = in_[from].next(alltoall_round_bytes(), true);
    char* to = in_[from].direct();
    if (!to) {
      incoming_ = raw_memory(bytes);
      to = incoming_.get();
    }
    return team_.irecv(from, to, bytes, request);
  }
  Status finish_receive(uint32_t from, pt2pt::Request* request) {
    Status status = team_.finish(request);
    if (incoming_ && status.ok()) status = in_[from].unpack_chunk(incoming_.get());
    incoming_.reset();
    return status;
  }
  Status send(uint32_t to) {
    Stream& stream = out_[to];
    size_t bytes = stream.next(alltoall_round_bytes(), true);
    if (const char* data = stream.direct()) return team_.send(to, data, bytes);
    auto packed = raw_memory(bytes);
    note(&status_, stream.pack_chunk(packed.get()));
    return team_.send(to, packed.get(), bytes);
  }

  const Team& team_;
  std::vector<Stream> out_, in_;  ///< by place
  std::unique_ptr<char[]> incoming_;
  Status status_;
};

}  // namespace

size_t alltoall_round_bytes() {
  static const size_t bytes =
      static_cast<size_t>(env_size("FGMPI_COLL_ROUND", 32 << 20, 1, int64_t{1} << 40));
  return bytes;
}

Status alltoallv_between_processes(const Act& act, const Team& team, const Placement& placement) {
  return Exchange(act, team, placement).run();
}

}  // namespace fgmpi::coll
