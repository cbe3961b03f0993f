// The tier "direct" of operations (transfer.cc), in line for the bindings: elements of a predefined
// type in a row, at the target reached last, whose memory is in this address space. Everything else
// is for rma::put() and its like, which check arguments and report errors.
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <array>
#include <cstring>

#include "base/processor.h"
#include "datatype/basic_type.h"
#include "rma/win.h"

namespace fgmpi::rma {

/// The address of `bytes` bytes at displacement `disp` of a target, or nullptr where only the
/// general functions (rma::put() and the like) can decide.
inline char* find_direct(const MemberEpochs* a, int32_t rank, MPI_Aint disp, uint64_t bytes) {
  if (__builtin_expect(!a || a->hot_rank != rank || !a->hot.here, 0)) return nullptr;
  int64_t offset;
  if (__builtin_expect(__builtin_mul_overflow(disp, a->hot.unit, &offset), 0)) return nullptr;
  const auto size = static_cast<uint64_t>(a->hot.size);
  if (__builtin_expect(bytes > size || static_cast<uint64_t>(offset) > size - bytes, 0))
    return nullptr;
  return a->hot.here + offset;
}

/// Counts an operation at the target reached last.
inline void count_direct(const MemberEpochs* a) {
  ++g_counters.operations[static_cast<int>(a->hot.way)];
}
/// Counts an operation that stores: a flush must make the store visible.
inline void count_direct_store(MemberEpochs* a) {
  count_direct(a);
  a->stores |= a->hot.way == AccessWay::kMapped;
}
/// Counts an atomic read-modify-write. On processors where it is a fence, it serves as a flush.
inline void count_direct_update(MemberEpochs* a) {
  if constexpr (processor::kAtomicChangeIsFence) {
    count_direct(a);
    a->stores = false;
  } else {
    count_direct_store(a);
  }
}

inline void move_bytes(void* to, const void* from, uint64_t bytes) {
  if (__builtin_expect(bytes == 8, 1))
    std::memcpy(to, from, 8);
  else if (bytes > 0)  // without any bytes, pointers may be null
    std::memmove(to, from, bytes);
}

/// Bytes of the predefined integers to which the processor can add atomically, by the low byte of
/// their handles; 0 for all others.
inline constexpr std::array<uint8_t, 256> kIntegerBytes = [] {
  using datatype::PairOf;
  std::array<uint8_t, 256> bytes{};
#define FGMPI_BASIC_TYPE(name, kind, ctype)                         \
  if (datatype::BasicKind::kind == datatype::BasicKind::kInteger && \
      (sizeof(ctype) == 4 || sizeof(ctype) == 8))                   \
    bytes[name & 0xff] = sizeof(ctype);
#include "datatype/basic_types.def"
#undef FGMPI_BASIC_TYPE
  return bytes;
}();

/// Fetches and adds, exchanges or reads one integer. Returns false where only the general functions
/// can do it. REQUIRES: a predefined type.
inline bool fetch_direct(MemberEpochs* a, const void* origin, void* result, MPI_Datatype type,
                         int32_t rank, MPI_Aint disp, MPI_Op op) {
  const uint8_t bytes = kIntegerBytes[static_cast<uint32_t>(type) & 0xff];
  if (!bytes || (op != MPI_SUM && op != MPI_REPLACE && op != MPI_NO_OP) || !result ||
      (!origin && op != MPI_NO_OP))
    return false;
  char* at = find_direct(a, rank, disp, bytes);
  if (!at || reinterpret_cast<uintptr_t>(at) % bytes || a->hot.part->locked) return false;
  op == MPI_NO_OP ? count_direct(a) : count_direct_update(a);
  auto apply = [&](auto word) {
    using W = decltype(word);
    W* to = reinterpret_cast<W*>(at);
    if (op != MPI_NO_OP) std::memcpy(&word, origin, sizeof word);
    const W old = op == MPI_SUM       ? __atomic_fetch_add(to, word, __ATOMIC_ACQ_REL)
                  : op == MPI_REPLACE ? __atomic_exchange_n(to, word, __ATOMIC_ACQ_REL)
                                      : __atomic_load_n(to, __ATOMIC_ACQUIRE);
    std::memcpy(result, &old, sizeof old);
  };
  bytes == 8 ? apply(uint64_t{}) : apply(uint32_t{});
  return true;
}

}  // namespace fgmpi::rma
