// Handles of derived datatypes: numbers in MPICH's range, each of which belongs to the rank that
// made it.
//
//   slots   | object, committed | free: next | object, committed | ...     8 bytes a handle
//
// A handle is MPICH's kind and object (handle_bits.h) and the index of its slot; freed slots are
// used again. The predefined pairs, as MPI_DOUBLE_INT, have the first numbers of the range.
//
// Thread rule: one thread. Nothing here switches. Invariant: a slot in use holds one reference to
// its object.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "datatype/basic_type.h"
#include "datatype/datatype.h"
#include "host/handle_bits.h"

namespace fgmpi::datatype {

/// The first handle behind those of pairs.
inline constexpr uint32_t kFirstHandle =
    host::handle_base(host::HandleKind::kDirect, host::HandleObject::kDatatype) + kPairTypes;

struct FoundType {
  DerivedType* type = nullptr;
  bool committed = false;
};

namespace detail {

/// A slot is the address of an object, with kCommitted if it is committed; or kFree and the next
/// free slot.
using Slot = uint64_t;
inline constexpr Slot kCommitted = 1, kFree = 2;
inline constexpr uint32_t kChunk = 512, kChunkBits = 9;

struct TypeHandleTable {
  std::vector<std::unique_ptr<Slot[]>> chunks;
  uint32_t used = 0;  ///< slots that have ever been used
  uint32_t free = UINT32_MAX;
  size_t in_use = 0;
  Slot& slot(uint32_t i) { return chunks[i >> kChunkBits][i & (kChunk - 1)]; }
};
[[gnu::visibility("hidden")]] extern TypeHandleTable g_handles;

FoundType find_other(MPI_Datatype handle);

}  // namespace detail

/// The object behind a handle; no type where the handle is that of a basic type, or of none.
inline FoundType find_derived(MPI_Datatype handle) {
  // Indices below kPairTypes are those of pairs: they become too large.
  const uint32_t at = static_cast<uint32_t>(handle) - kFirstHandle;
  if (__builtin_expect(at >= detail::g_handles.used, 0)) return detail::find_other(handle);
  const detail::Slot slot = detail::g_handles.slot(at);
  if (__builtin_expect(slot & detail::kFree, 0)) return {};
  return {reinterpret_cast<DerivedType*>(slot & ~detail::kCommitted),
          (slot & detail::kCommitted) != 0};
}

/// Makes a handle, which holds a reference of its own. Errors: MPI_ERR_INTERN when no handle is
/// left. REQUIRES: type.derived().
Status make_handle(const Type& type, bool committed, MPI_Datatype* handle);
/// REQUIRES: find_derived() finds a type.
void commit_handle(MPI_Datatype handle);
/// Makes the handle free and drops its reference. REQUIRES: find_derived() finds a type that is not
/// permanent.
void free_handle(MPI_Datatype handle);

/// Handles in use, for tests and statistics.
size_t count_handles();

}  // namespace fgmpi::datatype
