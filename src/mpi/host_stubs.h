// What the generated stubs of functions that the host answers call (src/host/generate/generate.py).
// Only these stubs include it.
#pragma once

#include <mpi.h>

#include <string_view>
#include <type_traits>

#include "datatype/basic_type.h"
#include "datatype/bottom.h"
#include "datatype/datatype.h"
#include "datatype/op.h"
#include "host/host.h"
#include "mpi/datatype/pack_external.h"
#include "mpi/entry.h"
#include "mpi/errors/errors.h"
#include "mpi/tools/tool.h"

#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmissing-attributes"  // see mpi/own.h
#endif

#define FGMPI_STUB __attribute__((visibility("default")))
#define FGMPI_WEAK(target) __attribute__((weak, visibility("default"), alias(#target)))

namespace fgmpi::mpi::stub {

using datatype::BottomBuffer;
using host::Api;

/// The host sees its own MPI_COMM_SELF for any communicator of ours, and a null communicator
/// unchanged.
inline MPI_Comm comm(MPI_Comm ours) { return ours == MPI_COMM_NULL ? ours : MPI_COMM_SELF; }

/// Calls a function of the host on the host stack. A failure calls the error handler; functions of
/// the tools interface return their codes without it (MPI-4.0 section 15.3.10).
template <class R, class... P, class... A>
R forward(const Api& api, R (*Api::*member)(P...), const char* call, A... arguments) {
  auto* function = api.*member;
  if constexpr (std::is_void_v<R>) {
    if (function)
      sched::call_on_host([&] { function(arguments...); });
    else
      unsupported(call, MPI_COMM_NULL);
  } else {
    if (!function) return unsupported(call, MPI_COMM_NULL);
    int code = MPI_SUCCESS;
    sched::call_on_host([&] { code = function(arguments...); });
    const bool tools = std::string_view(call).starts_with("MPI_T_");
    return code == MPI_SUCCESS || tools ? code : host_error(call, code);
  }
}

inline bool op_freed(MPI_Op* op) {
  if (!op || !datatype::defer_free(*op)) return false;
  *op = MPI_OP_NULL;
  return true;
}

/// Returns false when the type is not a basic one or there is no variable to store to: the host
/// then gives the answer or the error.
template <class I>
bool basic_size(MPI_Datatype type, I* size) {
  if (!size || !datatype::is_basic(type) || !datatype::basic_type(type)) return false;
  *size = static_cast<I>(datatype::basic_size(type));
  return true;
}
template <class I>
bool basic_extent(MPI_Datatype type, I* lb, I* extent) {
  if (!lb || !basic_size(type, extent)) return false;
  *lb = 0;
  return true;
}

/// Refuses a datatype that a large-count call has made: only the large-count queries describe it
/// (MPI-4.0 section 5.1.13). The host refuses it with MPI_ERR_OTHER. MPI_SUCCESS: the host gives
/// the answer or the error.
inline int refuse_large_counts(const char* call, MPI_Datatype type) {
  MPI_Count integers, addresses, counts = 0, types;
  int combiner;
  if (datatype::is_basic(type) ||
      host::call([&](const Api& h) {
        return h.Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner);
      }) != MPI_SUCCESS ||
      counts == 0)
    return MPI_SUCCESS;
  return fail(
      call, nullptr,
      error(MPI_ERR_TYPE, "datatype 0x%08x was made by a large-count call; allowed is that in %s_c",
            static_cast<unsigned>(type), call));
}

/// Checks two buffers (MPI-4.0 section 6.9.7): neither may be MPI_IN_PLACE.
inline Status check_local_buffers(const void* in, const void* inout, const datatype::Type& type) {
  if (in == MPI_IN_PLACE || inout == MPI_IN_PLACE)
    return error(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE; allowed is a buffer",
                 in == MPI_IN_PLACE ? "inbuf" : "inoutbuf");
  if (in == inout)
    return error(MPI_ERR_BUFFER,
                 "inbuf and inoutbuf are the same memory; allowed are different buffers");
  if (type.basic() && (!in || !inout))
    return error(MPI_ERR_BUFFER, "%s is a null pointer; allowed is null with count 0 only",
                 in ? "inoutbuf" : "inbuf");
  return {};
}

inline int reduce_local(const char* call, const void* in, void* inout, MPI_Count count,
                        MPI_Datatype datatype, MPI_Op op) {
  datatype::Type type;
  Status status = count < 0 ? error(MPI_ERR_COUNT, "count %lld: allowed is 0 or more",
                                    static_cast<long long>(count))
                            : datatype::Type::of(datatype, &type);
  if (status.ok() && count > 0) status = check_local_buffers(in, inout, type);
  if (status.ok()) status = datatype::reduce_local(in, inout, count, type, op);
  return status.ok() ? MPI_SUCCESS : fail(call, nullptr, status);
}

/// MPI_Pack and MPI_Pack_c: the host packs, and datatype::complete_packing() adds what it leaves
/// out.
template <class Function, class Count>
int pack(Function Api::*member, const char* call, const void* in, Count count, MPI_Datatype type,
         void* out, Count size, Count* position, MPI_Comm in_comm) {
  BottomBuffer data(&in, &type);
  const Count before = position ? *position : 0;
  const int code =
      forward(host::api(), member, call, in, count, type, out, size, position, comm(in_comm));
  if (code == MPI_SUCCESS && !datatype::is_basic(type))
    host::call([&](const Api& h) {
      *position =
          before + static_cast<Count>(datatype::complete_packing(
                       h, in, count, type, static_cast<char*>(out) + before, *position - before));
      return MPI_SUCCESS;
    });
  return code;
}

/// Checks an argument of MPI_Pack_external and its like to which a result is written.
inline Status check_result(const void* result, const char* name) {
  if (result) return {};
  return error(MPI_ERR_ARG, "%s is a null pointer; allowed is the address of a variable", name);
}
template <class Size>
int pack_external_size(const char* call, const char* datarep, MPI_Count count, MPI_Datatype type,
                       Size* size) {
  int64_t bytes = 0;
  Status status = check_result(size, "size");
  if (status.ok()) status = mpi::pack_external_size(datarep, count, type, &bytes);
  if (!status.ok()) return fail(call, nullptr, status);
  *size = static_cast<Size>(bytes);
  return MPI_SUCCESS;
}
template <class Size>
int pack_external(const char* call, const char* datarep, const void* in, MPI_Count count,
                  MPI_Datatype type, void* out, Size size, Size* position) {
  Status status = check_result(position, "position");
  int64_t at = position ? *position : 0;
  if (status.ok()) status = mpi::pack_external(datarep, in, count, type, out, size, &at);
  if (!status.ok()) return fail(call, nullptr, status);
  *position = static_cast<Size>(at);
  return MPI_SUCCESS;
}
template <class Size>
int unpack_external(const char* call, const char* datarep, const void* in, Size size,
                    Size* position, void* out, MPI_Count count, MPI_Datatype type) {
  Status status = check_result(position, "position");
  int64_t at = position ? *position : 0;
  if (status.ok()) status = mpi::unpack_external(datarep, in, size, &at, out, count, type);
  if (!status.ok()) return fail(call, nullptr, status);
  *position = static_cast<Size>(at);
  return MPI_SUCCESS;
}

}  // namespace fgmpi::mpi::stub

namespace stub = fgmpi::mpi::stub;
namespace tool = fgmpi::mpi::tool;
