// What the bindings of datatype calls do (MPI-4.0 chapter 5): from handles to objects and back.
//
// `call`: the name of the call; that of a large-count call ends in _c. Thread rule: one thread,
// inside the library. Nothing here switches but for the functions of programs that attr_type.cc
// calls.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "datatype/constructors.h"
#include "datatype/datatype.h"
#include "datatype/type_handles.h"
#include "datatype/user_op.h"
#include "datatype/value_index.h"
#include "host/internal.h"
#include "mpi/datatype/pack_external.h"

namespace fgmpi::mpi {

using datatype::NumberArray;

// ---- Constructors (section 5.1.2 to 5.1.4) ------------------------------------------------------
/// True for the name of a large-count call.
inline bool is_large(const char* call) { return std::string_view(call).ends_with("_c"); }
/// The handle of a type that programs cannot free, which is the same for all ranks and calls, and
/// committed.
Status give_permanent(const datatype::Type& type, MPI_Datatype* handle);
/// Makes a type from another one by a constructor of datatype/constructors.h, and its handle.
template <auto constructor, class... Arguments>
Status derive_type(const char* call, MPI_Datatype old, MPI_Datatype* made,
                   const Arguments&... arguments) {
  datatype::Type from, type;
  FGMPI_TRY(datatype::Type::of_any(old, &from));
  FGMPI_TRY(constructor(is_large(call), arguments..., from, &type));
  return datatype::make_handle(type, false, made);
}
/// Finds or makes a type of a precision by its constructor.
template <auto constructor, class... Arguments>
Status make_permanent_type(MPI_Datatype* made, Arguments... arguments) {
  datatype::Type type;
  FGMPI_TRY(constructor(arguments..., &type));
  return give_permanent(type, made);
}
Status type_struct(const char* call, int64_t count, NumberArray lengths, NumberArray displs,
                   const MPI_Datatype* types, MPI_Datatype* made);
Status type_commit(MPI_Datatype* type);
/// Drops the name of a type that is freed.
void forget_type_name(MPI_Datatype type);

// ---- Questions (section 5.1.5 to 5.1.9 and 5.1.13) ----------------------------------------------
/// Stores a number, or MPI_UNDEFINED where the variable is too small.
template <class N>
void store_number(int64_t value, N* out) {
  *out = static_cast<N>(value);
  if (*out != value) *out = MPI_UNDEFINED;
}
template <class N>
Status type_size(MPI_Datatype handle, N* size) {
  datatype::Type type;
  FGMPI_TRY(datatype::Type::of_any(handle, &type));
  store_number(type.size(), size);
  return {};
}
template <class N>
Status type_extent(MPI_Datatype handle, N* lb, N* extent) {
  datatype::Type type;
  FGMPI_TRY(datatype::Type::of_any(handle, &type));
  store_number(type.lb(), lb);
  store_number(type.extent(), extent);
  return {};
}
template <class N>
Status type_true_extent(MPI_Datatype handle, N* lb, N* extent) {
  datatype::Type type;
  FGMPI_TRY(datatype::Type::of_any(handle, &type));
  store_number(type.true_lb(), lb);
  store_number(type.true_extent(), extent);
  return {};
}
/// The calls that MPI-3.0 removed.
Status type_plain_extent(MPI_Datatype handle, MPI_Aint* extent);
Status type_lower_bound(MPI_Datatype handle, MPI_Aint* lb);
Status type_upper_bound(MPI_Datatype handle, MPI_Aint* ub);

/// How many numbers and types MPI_Type_get_contents returns.
struct TypeEnvelope {
  int64_t integers = 0, addresses = 0, counts = 0, types = 0;
  int combiner = MPI_COMBINER_NAMED;
};
Status find_envelope(MPI_Datatype handle, TypeEnvelope* out);
Status type_envelope(const char* call, MPI_Datatype handle, int* integers, int* addresses,
                     int* types, int* combiner);
Status type_envelope_c(MPI_Datatype handle, MPI_Count* integers, MPI_Count* addresses,
                       MPI_Count* counts, MPI_Count* types, int* combiner);
/// The arrays of a call, and how long they are.
struct ContentsArrays {
  TypeEnvelope most;
  int* integers;
  MPI_Aint* addresses;
  MPI_Count* counts;
  MPI_Datatype* types;
};
Status type_contents(const char* call, MPI_Datatype handle, const ContentsArrays& out);

// ---- Packing (section 5.2) and local reductions (section 6.9.7) ---------------------------------
/// Checks that a packed buffer of `size` bytes has room for `bytes` bytes from `position` on.
/// `buffer` and `argument`: the names of the buffer and of its size in the call.
Status check_packed(const void* packed, const char* buffer, int64_t size, const char* argument,
                    int64_t position, int64_t bytes);
Status pack_bytes(const void* in, int64_t count, MPI_Datatype handle, void* out, int64_t size,
                  int64_t* position);
Status unpack_bytes(const void* in, int64_t size, int64_t* position, void* out, int64_t count,
                    MPI_Datatype handle);
template <class N>
Status pack(const void* in, int64_t count, MPI_Datatype type, void* out, int64_t size,
            N* position) {
  int64_t at = *position;
  FGMPI_TRY(pack_bytes(in, count, type, out, size, &at));
  *position = static_cast<N>(at);
  return {};
}
template <class N>
Status unpack(const void* in, int64_t size, N* position, void* out, int64_t count,
              MPI_Datatype type) {
  int64_t at = *position;
  FGMPI_TRY(unpack_bytes(in, size, &at, out, count, type));
  *position = static_cast<N>(at);
  return {};
}
Status packed_size(int64_t count, MPI_Datatype handle, int64_t* bytes);
template <class N>
Status pack_size(int64_t count, MPI_Datatype type, N* size) {
  int64_t bytes;
  FGMPI_TRY(packed_size(count, type, &bytes));
  store_number(bytes, size);
  return {};
}
Status reduce_local(const void* in, void* inout, int64_t count, MPI_Datatype datatype, MPI_Op op);

// ---- Operations (section 6.9.5) -----------------------------------------------------------------
template <class Function>
Status op_create(const char* call, Function* function, int commute, MPI_Op* op) {
  return datatype::create_op(reinterpret_cast<datatype::AnyFunction>(function),
                             std::string_view(call).ends_with("_c"), commute != 0, op);
}
/// MPIX_Op_create_x of MPICH 5.0.
inline Status op_create_x(MPIX_User_function_x* function, MPIX_Destructor_function* destructor,
                          int commute, void* state, MPI_Op* op) {
  return datatype::create_op(function, destructor, state, commute != 0, op);
}
Status op_free(MPI_Op* op);
/// For the C++ binding, which has made the operation just before.
inline void op_set_cxx(MPI_Op op, datatype::AnyFunction caller) {
  datatype::set_cxx_op(op, caller);
}

}  // namespace fgmpi::mpi
