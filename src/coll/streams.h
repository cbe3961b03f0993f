// Streams: data between pairs of processes where only the two ends of a pair know its amount
// (all-to-all with counts, neighbourhoods), and long parts of any all-to-all, in bounded memory.
//
//   stream of a pair of processes    parts in an order that both ends know:
//                                    | 0>5 1>5 2>5 | 0>6 1>6 | 2>6 | 0>7 ...
//                                      chunk: whole parts up to a limit of bytes, or a long part
//
// Both ends know the sizes of the parts and cut the stream alike. The first chunks of all pairs
// are exchanged together; their sizes have a common bound. The rest of a pair follows chunk by
// chunk. The message of a first chunk ends with the number of bytes that follow in others, so that
// ends which do not agree find that out. A part of plain memory that is a chunk of its own is
// neither packed nor unpacked. Chunks are short enough to be still in the cache when they are sent
// and unpacked.
//
// Thread rule: one thread; run() may switch.
#pragma once

#include <algorithm>
#include <vector>

#include "coll/algorithms.h"
#include "coll/step.h"

namespace fgmpi::coll {

/// FGMPI_COLL_ROUND: the most bytes that a step packs at once; the same at every process.
size_t round_bytes();
/// The most bytes of a chunk: few enough to be still in the cache when they are sent and unpacked.
inline size_t chunk_bytes() { return std::min(round_bytes(), size_t{2} << 20); }

/// A part of this length is a chunk of its own: one more message costs less than packing it.
inline constexpr size_t kOwnChunk = 256 * 1024;

/// One direction of a pair. Parts has: size_t size() const; Segment operator[](size_t) const.
template <class Parts>
class Stream {
 public:
  explicit Stream(Parts parts) : parts_(std::move(parts)) {}

  bool done() const { return end_ == parts_.size(); }
  /// True for a stream without parts, which has no message.
  bool empty() const { return parts_.size() == 0; }
  /// Bytes after the current chunk.
  uint64_t rest() const {
    uint64_t bytes = 0;
    for (size_t k = end_; k < parts_.size(); ++k) bytes += static_cast<uint64_t>(parts_[k].bytes());
    return bytes;
  }

  /// Makes the next parts, as many as `limit` bytes hold, the current chunk; with `alone` at least
  /// one. Returns the chunk's bytes.
  size_t next(size_t limit, bool alone) {
    begin_ = end_;
    size_t bytes = 0;
    for (; !done(); ++end_) {
      size_t more = static_cast<size_t>(parts_[end_].bytes());
      bool ends = more >= kOwnChunk || bytes + more > limit;
      if (ends && !(alone && bytes == 0)) break;
      bytes += more;
      if (more >= kOwnChunk) {
        ++end_;
        break;
      }
    }
    return bytes;
  }

  /// The address of the chunk in the user's memory, if it is one part without gaps; else nullptr.
  char* direct() const {
    char* address = nullptr;
    for (size_t k = begin_; k < end_; ++k) {
      Segment s = parts_[k];
      if (s.bytes() == 0) continue;
      if (address) return nullptr;
      address = run_of_bytes(s);
      if (!address) return nullptr;
    }
    return address;
  }
  Status pack_chunk(char* at) const {
    for (size_t k = begin_; k < end_; ++k) {
      Segment s = parts_[k];
      FGMPI_TRY(pack(s, at));
      at += s.bytes();
    }
    return {};
  }
  Status unpack_chunk(const char* at) const {
    for (size_t k = begin_; k < end_; ++k) {
      Segment s = parts_[k];
      FGMPI_TRY(unpack(at, s.bytes(), s));
      at += s.bytes();
    }
    return {};
  }

 private:
  Parts parts_;
  size_t begin_ = 0, end_ = 0;
};

/// The streams of all pairs that this process is in.
template <class Parts>
class StreamExchange {
 public:
  /// One stream a process; this process's own is empty.
  StreamExchange(const Team& team, std::vector<Stream<Parts>> out, std::vector<Stream<Parts>> in)
      : team_(team), out_(std::move(out)), in_(std::move(in)) {}

  /// Runs the exchange. together(out, outgoing, in, incoming) exchanges the first chunks, laid out
  /// as ProcessBlocks, with all processes at once.
  template <class F>
  Status run(F&& together) {
    FGMPI_TRY(first_chunks(together));
    uint32_t n = team_.count(), me = team_.me();
    for (uint32_t step = 1; step < n; ++step) {
      uint32_t to = (me + step) % n, from = (me + n - step) % n;
      // A send waits no longer than until its receiver posts a receive, which it does before its
      // own send.
      while (!out_[to].done() || !in_[from].done()) {
        pt2pt::Request* request = nullptr;
        if (!in_[from].done()) FGMPI_TRY(start_receive(from, &request));
        Status sent = out_[to].done() ? Status() : send(to);
        if (request) FGMPI_TRY(finish_receive(from, request));
        FGMPI_TRY(std::move(sent));
      }
    }
    return {};
  }

 private:
  /// Bytes of the message of a stream's first chunk.
  static size_t first_message(Stream<Parts>* stream, size_t limit) {
    return stream->empty() ? 0 : stream->next(limit, false) + sizeof(uint64_t);
  }

  template <class F>
  Status first_chunks(F&& together) {
    size_t each = chunk_bytes() / team_.count();
    ProcessBlocks out, in;
    out.offset.assign(1, 0);
    in.offset.assign(1, 0);
    for (uint32_t p = 0; p < team_.count(); ++p) {
      bool other = p != team_.me();
      out.offset.push_back(out.offset.back() + (other ? first_message(&out_[p], each) : 0));
      in.offset.push_back(in.offset.back() + (other ? first_message(&in_[p], each) : 0));
    }
    Memory outgoing = raw_memory(out.total()), incoming = raw_memory(in.total());
    for (uint32_t p = 0; p < team_.count(); ++p) {
      if (p == team_.me() || out_[p].empty()) continue;
      FGMPI_TRY(out_[p].pack_chunk(outgoing.get() + out.offset[p]));
      uint64_t rest = out_[p].rest();
      std::memcpy(outgoing.get() + out.offset[p + 1] - sizeof rest, &rest, sizeof rest);
    }
    FGMPI_TRY(together(out, outgoing.get(), in, incoming.get()));
    for (uint32_t p = 0; p < team_.count(); ++p) {
      if (p == team_.me() || in_[p].empty()) continue;
      FGMPI_TRY(in_[p].unpack_chunk(incoming.get() + in.offset[p]));
      uint64_t rest;
      std::memcpy(&rest, incoming.get() + in.offset[p + 1] - sizeof rest, sizeof rest);
      if (rest != in_[p].rest())
        return truncated(static_cast<int64_t>(rest), static_cast<int64_t>(in_[p].rest()));
    }
    return {};
  }

  Status start_receive(uint32_t from, pt2pt::Request** request) {
    size_t bytes = in_[from].next(chunk_bytes(), true);
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
    Stream<Parts>& stream = out_[to];
    size_t bytes = stream.next(chunk_bytes(), true);
    if (const char* data = stream.direct()) return team_.send(to, data, bytes);
    Memory packed = raw_memory(bytes);
    FGMPI_TRY(stream.pack_chunk(packed.get()));
    return team_.send(to, packed.get(), bytes);
  }

  const Team& team_;
  std::vector<Stream<Parts>> out_, in_;
  Memory incoming_;
};

}  // namespace fgmpi::coll
