// What every binding starts with: the handle lookup and the checks of arguments that many calls
// share.
//
//   FGMPI_EXPORT(MPI_Send);
//   int PMPI_Send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
//                 MPI_Comm comm) {
//     constexpr const char* kCall = "MPI_Send";
//     FGMPI_ENTER(kCall, c, comm);  // c: comm::Comm*; returns an error when comm is bad
//     ...
//     return c->result...;
//   }
//
// Bindings check, convert and call; they hold no logic of their own.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <new>
#include <type_traits>

#include "comm/comm.h"
#include "datatype/datatype.h"
#include "datatype/type_handles.h"
#include "mpi/entry.h"
#include "mpi/errors/errors.h"
#include "mpi/own.h"
#include "proclet-sched/coroutine/call_count.h"
#include "proclet-sched/sched.h"
#include "pt2pt/pt2pt.h"
#include "rma/check.h"

namespace fgmpi::mpi {

/// Ends a binding: MPI_SUCCESS, or the error handler's answer.
inline int done(const char* call, comm::Comm* comm, const Status& status) {
  return __builtin_expect(status.ok(), 1) ? MPI_SUCCESS : fail(call, comm, status);
}

inline int done(const char* call, std::nullptr_t, const Status& status) {
  return done(call, static_cast<comm::Comm*>(nullptr), status);
}
/// Ends a binding that has called a function of the user's: the function's error code goes to the
/// error handler.
inline int done(const char* call, comm::Comm* comm, int code) {
  return __builtin_expect(code == MPI_SUCCESS, 1) ? MPI_SUCCESS : fail_code(call, comm, code);
}

/// An MPI_Aint, MPI_Count or MPI_Offset as the 64-bit number that it is: they are two types of this
/// length from MPICH 4.2 on.
template <class T>
int64_t* int64_at(T* number) {
  static_assert(std::is_integral_v<T> && sizeof(T) == sizeof(int64_t));
  return reinterpret_cast<int64_t*>(number);
}

// ---- Checks. Each reports the value that was given and what is allowed. -------------------------
Status check_count(int64_t count, const char* argument = "count");
/// Checks a number that is no count of elements: MPI_ERR_ARG when it is negative.
Status check_number(int64_t number, const char* argument);
/// Checks the color of a split: 0 or more, or MPI_UNDEFINED.
Status check_color(int color);
Status check_tag(int tag, bool any_allowed);
/// Allowed are 0..size-1, MPI_PROC_NULL, and MPI_ANY_SOURCE where `any_allowed`.
Status check_rank(const comm::Comm* comm, int rank, const char* argument, bool any_allowed);
Status check_root(const comm::Comm* comm, int root);
/// Checks a rank that must be a member of the communicator. Errors: MPI_ERR_RANK.
Status check_member(const comm::Comm* comm, int rank, const char* argument);
/// The type, or MPI_BYTE for 0 elements of a null type, which MPICH allows.
inline MPI_Datatype type_for(int64_t count, MPI_Datatype type) {
  return __builtin_expect(type == MPI_DATATYPE_NULL, 0) && count == 0 ? MPI_BYTE : type;
}
/// Predefined types with their size in the handle, by the low byte of the handle. An unused entry
/// holds a number with another low byte, so that no handle equals it.
using BasicTypes = std::array<MPI_Datatype, 256>;
[[gnu::visibility("hidden")]] extern BasicTypes g_basic_types;
/// As g_basic_types, for the buffers of receives.
[[gnu::visibility("hidden")]] extern BasicTypes g_received_types;
/// Empties g_basic_types and g_received_types, so that every buffer goes through make_buffer().
/// Called when the process connects, or when a first window is observed.
void close_shortest_ways();
/// Empties g_basic_types. A prediction delivers messages to the queues of endpoints, so that
/// receives need no other way.
void close_shortest_ways_but_receives();
inline bool in_basic_types(MPI_Datatype type) {
  return g_basic_types[static_cast<uint32_t>(type) & 0xff] == type;
}

/// The bytes of a plain buffer: a basic type, with a valid count and address. Returns false for
/// every other buffer, also for a negative count and one whose bytes need more than 63 bits.
inline bool plain_bytes(const void* address, int64_t count, MPI_Datatype type, uint64_t* bytes,
                        const BasicTypes& types = g_basic_types) {
  if (__builtin_expect(types[static_cast<uint32_t>(type) & 0xff] != type, 0)) return false;
  int64_t n;
  if (__builtin_expect(__builtin_mul_overflow(count, datatype::basic_size(type), &n) || n < 0, 0))
    return false;
  *bytes = static_cast<uint64_t>(n);
  return __builtin_expect(address != nullptr, 1) || n == 0;
}

/// A buffer of a committed derived type that needs no other check of its address, count and type.
struct DerivedData {
  datatype::DerivedType* type;  ///< nullptr: the buffer is another one
  uint64_t bytes;
  bool is_row() const { return type->contiguous && type->begins_at_0; }
  /// The address of the first byte. REQUIRES: type->contiguous.
  void* first_byte(void* address) const {
    if (__builtin_expect(type->begins_at_0, 1)) return address;
    return static_cast<char*>(address) + type->tree.low();
  }
  bool is_short() const {
    return bytes <= static_cast<uint64_t>(datatype::kMostShortBytes) &&
           type->short_rows.shape != datatype::ShortRows::kNone;
  }
};
/// Accepts the buffers that programs usually have: those with a count of at most 32 bits, and with
/// an extent, a size and a lower bound whose product with it has no more than 63.
[[gnu::always_inline]] inline DerivedData derived_data(const void* address, int64_t count,
                                                       MPI_Datatype type) {
  const datatype::FoundType found = datatype::find_derived(type);
  if (__builtin_expect(!found.committed || !found.type->is_small || !in_basic_types(MPI_BYTE) ||
                           static_cast<uint64_t>(count) > INT32_MAX || !address,
                       0))
    return {nullptr, 0};
  return {found.type, static_cast<uint64_t>(count * found.type->size())};
}
/// The error for a null pointer where data is read or a result is stored: MPI_ERR_ARG.
Status null_pointer(const char* argument);
inline Status check_pointer(const void* pointer, const char* argument) {
  return __builtin_expect(pointer != nullptr, 1) ? Status() : null_pointer(argument);
}

/// Checks `parts` times `count` elements: MPI_ERR_COUNT when their bytes, or the memory that they
/// extend over, need more than 63 bits. REQUIRES: count >= 0, parts >= 0.
Status check_volume(int64_t count, int64_t parts, const datatype::Type& type, const char* argument);

/// Makes a Buffer of address, count and type; MPI_BOTTOM is allowed, and null with zero bytes.
Status make_buffer(const void* address, int64_t count, MPI_Datatype datatype, pt2pt::Buffer* out);
/// As above, for a call that reads or writes the buffer: FGMPI_RMA_CHECK compares it with accesses
/// under way in windows.
Status make_buffer(const void* address, int64_t count, MPI_Datatype datatype, pt2pt::Buffer* out,
                   bool writes, const char* call);

/// Fills an MPI_Status (ignored when MPI_STATUS_IGNORE) without touching MPI_ERROR.
void set_status(MPI_Status* status, const pt2pt::Outcome& outcome);
/// Fills the MPI_Status of a null or inactive request (MPI-4.0 section 3.7.3 "empty").
void set_empty_status(MPI_Status* status);

/// Largest tag (MPI_TAG_UB).
inline constexpr int kTagUb = 0x7fffffff;

/// The process's clock for MPI_Wtime.
double wtime();

}  // namespace fgmpi::mpi

/// Looks up `handle` as comm::Comm* `var`, or returns the error. Follows FGMPI_TAKE_TURN.
#define FGMPI_ENTER(call, var, handle)                    \
  ::fgmpi::comm::Comm* var = ::fgmpi::comm::find(handle); \
  if (__builtin_expect(var == nullptr, 0)) return ::fgmpi::mpi::bad_comm(call, handle)

/// FGMPI_ENTER for a call with a fast path. No communicator is found while the caller is outside of
/// the library: the call then waits for its turn and starts again.
#define FGMPI_ENTER_FAST(call, var, handle, again)        \
  ::fgmpi::sched::maybe_force_switch();                   \
  ::fgmpi::comm::Comm* var = ::fgmpi::comm::find(handle); \
  if (__builtin_expect(var == nullptr, 0)) {              \
    FGMPI_TAKE_TURN(call, again);                         \
    return ::fgmpi::mpi::bad_comm(call, handle);          \
  }                                                       \
  ::fgmpi::sched::record_call(call)

/// Calls the error handler and returns its code when `expr` (a Status) is not ok.
#define FGMPI_RETURN_IF(call, comm, expr)                  \
  do {                                                     \
    ::fgmpi::Status fgmpi_status = (expr);                 \
    if (__builtin_expect(!fgmpi_status.ok(), 0))           \
      return ::fgmpi::mpi::fail(call, comm, fgmpi_status); \
  } while (0)

/// Stands behind a binding's body that is a function-try-block: memory that cannot be allocated
/// becomes the call's error.
#define FGMPI_CATCH_NO_MEMORY(call, handle)       \
  catch (const std::bad_alloc&) {                 \
    return ::fgmpi::mpi::no_memory(call, handle); \
  }
