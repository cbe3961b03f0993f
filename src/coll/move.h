// Moving data between members: segments to segments, segments to and from packed messages.
// Thread rule: one thread; nothing here switches.
#pragma once

#include <cstring>

#include "base/copy.h"
#include "coll/args.h"
#include "coll/memory.h"
#include "comm/truncated.h"

namespace fgmpi::coll {

/// True if the segment's data is one run of bytes at its address.
inline bool flat(const Segment& s) { return s.type->basic(); }

Status pack_derived(const Segment& from, char* out);
Status unpack_derived(const char* in, int64_t bytes, const Segment& to);
Status copy_derived(const Segment& from, const Segment& to);
using comm::truncated;

/// Packs a segment; out has room for from.bytes().
inline Status pack(const Segment& from, char* out) {
  if (__builtin_expect(!flat(from), 0)) return pack_derived(from, out);
  if (from.count) std::memcpy(out, from.address, static_cast<size_t>(from.bytes()));
  return {};
}
/// Unpacks `bytes` bytes. Errors: MPI_ERR_TRUNCATE when the segment has another number of bytes.
inline Status unpack(const char* in, int64_t bytes, const Segment& to) {
  if (__builtin_expect(bytes != to.bytes(), 0)) return truncated(bytes, to.bytes());
  if (__builtin_expect(!flat(to), 0)) return unpack_derived(in, bytes, to);
  if (bytes) std::memcpy(to.address, in, static_cast<size_t>(bytes));
  return {};
}
/// Copies one member's segment into another's. Errors: MPI_ERR_TRUNCATE when that has another
/// number of bytes. Nothing is copied where both have the same address.
inline Status copy(const Segment& from, const Segment& to) {
  if (__builtin_expect(!flat(from) || !flat(to), 0)) return copy_derived(from, to);
  int64_t bytes = from.bytes();
  if (__builtin_expect(bytes != to.bytes(), 0)) return truncated(bytes, to.bytes());
  if (bytes && from.address != to.address)
    std::memcpy(to.address, from.address, static_cast<size_t>(bytes));
  return {};
}

/// The address of a segment's bytes if they are one run in memory, else nullptr.
char* run_of_bytes(const Segment& s);

/// True if `bytes` bytes are too many for the caches, so that none of them would still be there
/// when they are read.
bool exceeds_caches(size_t bytes);
/// Copies by memcpy, or past the caches when `streamed`.
inline void copy_bytes(const char* from, char* to, size_t bytes, bool streamed) {
  if (__builtin_expect(streamed, 0))
    copy_past_caches(to, from, bytes);
  else
    std::memcpy(to, from, bytes);
}

/// Copies one source to many destinations, in pieces, so that the source is read from memory once;
/// past the caches when `streamed`. to[i] may be `from` itself, which is skipped.
void copy_to_many(const char* from, size_t bytes, char* const* to, size_t count, bool streamed);
/// As above, past the caches where all copies together exceed them.
inline void copy_to_many(const char* from, size_t bytes, char* const* to, size_t count) {
  copy_to_many(from, bytes, to, count, exceeds_caches(bytes * count));
}

}  // namespace fgmpi::coll
