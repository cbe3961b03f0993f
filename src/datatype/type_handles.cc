// The slots of datatype handles.

#include "datatype/type_handles.h"

#include <memory>

#include "datatype/value_index.h"

namespace fgmpi::datatype {
namespace detail {
TypeHandleTable g_handles;
}

namespace {

using detail::g_handles;
using detail::kCommitted;
using detail::kFree;
using detail::Slot;
using detail::TypeHandleTable;

constexpr int kNextShift = 2;
static_assert(alignof(DerivedType) >= 4);

/// Handles of both kinds, MPICH's direct and indirect ones, have an index of 26 bits.
constexpr uint32_t kOfEachKind = host::kHandleIndexMask + 1,
                   kMostDirect = kOfEachKind - kPairTypes - kValueIndexHandles;
constexpr uint32_t kNone = UINT32_MAX;
constexpr uint32_t kIndirect =
    host::handle_base(host::HandleKind::kIndirect, host::HandleObject::kDatatype);

MPI_Datatype handle_of(uint32_t slot) {
  return static_cast<MPI_Datatype>(slot < kMostDirect ? kFirstHandle + slot
                                                      : kIndirect + (slot - kMostDirect));
}

/// The slot of a handle, or kNone where the handle has none.
uint32_t slot_of(MPI_Datatype handle) {
  const auto number = static_cast<uint32_t>(handle);
  uint32_t slot = kNone;
  if (number - kFirstHandle < kMostDirect)
    slot = number - kFirstHandle;
  else if ((number & host::kHandleTypeMask) == kIndirect)
    slot = number - kIndirect + kMostDirect;
  return slot < g_handles.used ? slot : kNone;
}

}  // namespace

/// Finds pairs, and types whose handles are indirect.
FoundType detail::find_other(MPI_Datatype handle) {
  if (pair_index(handle) < kPairTypes) return {pair_type(handle), true};
  if (is_value_index(handle)) return {value_index_type(handle), true};
  const uint32_t at = slot_of(handle);
  if (at == kNone || g_handles.slot(at) & kFree) return {};
  const Slot slot = g_handles.slot(at);
  return {reinterpret_cast<DerivedType*>(slot & ~kCommitted), (slot & kCommitted) != 0};
}

Status make_handle(const Type& type, bool committed, MPI_Datatype* handle) {
  TypeHandleTable& t = g_handles;
  uint32_t at = t.free;
  if (at != kNone) {
    t.free = static_cast<uint32_t>(t.slot(at) >> kNextShift);
  } else {
    if (t.used == kMostDirect + kOfEachKind)
      return error(MPI_ERR_INTERN,
                   "a process has %u datatypes, which is the greatest number; "
                   "allowed are new ones after MPI_Type_free",
                   t.used);
    at = t.used;
    if (at % detail::kChunk == 0) t.chunks.push_back(std::make_unique<Slot[]>(detail::kChunk));
    ++t.used;
  }
  hold(type.derived());
  t.slot(at) = reinterpret_cast<Slot>(type.derived()) | (committed ? kCommitted : 0);
  ++t.in_use;
  *handle = handle_of(at);
  return {};
}

void commit_handle(MPI_Datatype handle) {
  if (const uint32_t at = slot_of(handle); at != kNone) g_handles.slot(at) |= kCommitted;
}

void free_handle(MPI_Datatype handle) {
  TypeHandleTable& t = g_handles;
  const uint32_t at = slot_of(handle);
  DerivedType* type = find_derived(handle).type;
  t.slot(at) = uint64_t{t.free} << kNextShift | kFree;
  t.free = at;
  --t.in_use;
  release(type);
}

size_t count_handles() { return g_handles.in_use; }

}  // namespace fgmpi::datatype
