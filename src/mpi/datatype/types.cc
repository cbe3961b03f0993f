// Datatype calls: constructors, questions, packing.

#include "mpi/datatype/types.h"

#include <vector>

#include "datatype/copy.h"
#include "datatype/op.h"
#include "mpi/binding.h"
#include "mpi/calls.h"

namespace fgmpi::mpi {

using datatype::Type;

// ---- Constructors -------------------------------------------------------------------------------

Status type_struct(const char* call, int64_t count, NumberArray lengths, NumberArray displs,
                   const MPI_Datatype* types, MPI_Datatype* made) {
  std::vector<Type> from(static_cast<size_t>(count));
  for (size_t i = 0; i < from.size(); ++i) FGMPI_TRY(Type::of_any(types[i], &from[i]));
  Type type;
  FGMPI_TRY(datatype::make_struct(is_large(call), count, lengths, displs, from, &type));
  return datatype::make_handle(type, false, made);
}

Status give_permanent(const Type& type, MPI_Datatype* made) {
  datatype::DerivedType* derived = type.derived();
  if (derived->permanent_handle == MPI_DATATYPE_NULL)
    FGMPI_TRY(datatype::make_handle(type, true, &derived->permanent_handle));
  *made = derived->permanent_handle;
  return {};
}

Status type_commit(MPI_Datatype* handle) {
  FGMPI_TRY(check_pointer(handle, "datatype"));
  Type type;
  FGMPI_TRY(Type::of_any(*handle, &type));
  datatype::commit_handle(*handle);
  return {};
}

// ---- Questions ----------------------------------------------------------------------------------

Status type_plain_extent(MPI_Datatype handle, MPI_Aint* extent) {
  MPI_Aint lb;
  return type_extent(handle, &lb, extent);
}

Status type_lower_bound(MPI_Datatype handle, MPI_Aint* lb) {
  MPI_Aint extent;
  return type_extent(handle, lb, &extent);
}

Status type_upper_bound(MPI_Datatype handle, MPI_Aint* ub) {
  Type type;
  FGMPI_TRY(Type::of_any(handle, &type));
  *ub = type.lb() + type.extent();
  return {};
}

Status find_envelope(MPI_Datatype handle, TypeEnvelope* out) {
  Type type;
  FGMPI_TRY(Type::of_any(handle, &type));
  *out = {};
  if (!type.derived()) return {};
  const datatype::TypeContents& c = type.derived()->contents;
  out->integers = static_cast<int64_t>(c.integers.size());
  out->addresses = static_cast<int64_t>(c.addresses.size());
  out->counts = static_cast<int64_t>(c.counts.size());
  out->types = static_cast<int64_t>(c.types.size());
  out->combiner = c.combiner;
  return {};
}

namespace {

/// Only large-count calls describe a type that a large-count call has made (MPI-4.0 section
/// 5.1.13).
Status refuse_large(const char* call, MPI_Datatype handle, const TypeEnvelope& envelope) {
  if (envelope.counts == 0) return {};
  return error(MPI_ERR_TYPE,
               "datatype 0x%08x was made by a large-count call; allowed is that in %s_c",
               static_cast<unsigned>(handle), call);
}

Status check_room(const char* argument, int64_t most, int64_t needed) {
  if (most >= needed) return {};
  return error(MPI_ERR_ARG, "%s is %lld; allowed is %lld or more, as MPI_Type_get_envelope says",
               argument, static_cast<long long>(most), static_cast<long long>(needed));
}

template <class N>
void store_list(const datatype::NumberList& from, N* to) {
  from.for_each([&](int64_t n) { *to++ = static_cast<N>(n); });
}

/// Makes handles of the types that a type is made of; the program frees those of derived types.
Status store_types(const std::vector<Type>& types, MPI_Datatype* to) {
  for (const Type& type : types) {
    *to = type.predefined();
    if (*to == MPI_DATATYPE_NULL)
      FGMPI_TRY(type.derived()->permanent() ? give_permanent(type, to)
                                            : datatype::make_handle(type, true, to));
    ++to;
  }
  return {};
}

}  // namespace

Status type_envelope(const char* call, MPI_Datatype handle, int* integers, int* addresses,
                     int* types, int* combiner) {
  TypeEnvelope envelope;
  FGMPI_TRY(find_envelope(handle, &envelope));
  FGMPI_TRY(refuse_large(call, handle, envelope));
  store_number(envelope.integers, integers);
  store_number(envelope.addresses, addresses);
  store_number(envelope.types, types);
  *combiner = envelope.combiner;
  return {};
}

Status type_envelope_c(MPI_Datatype handle, MPI_Count* integers, MPI_Count* addresses,
                       MPI_Count* counts, MPI_Count* types, int* combiner) {
  TypeEnvelope envelope;
  FGMPI_TRY(find_envelope(handle, &envelope));
  *integers = envelope.integers;
  *addresses = envelope.addresses;
  *counts = envelope.counts;
  *types = envelope.types;
  *combiner = envelope.combiner;
  return {};
}

Status type_contents(const char* call, MPI_Datatype handle, const ContentsArrays& out) {
  TypeEnvelope envelope;
  FGMPI_TRY(find_envelope(handle, &envelope));
  if (envelope.combiner == MPI_COMBINER_NAMED)
    return error(MPI_ERR_TYPE,
                 "datatype 0x%08x is predefined and has no contents; allowed are derived datatypes",
                 static_cast<unsigned>(handle));
  if (!is_large(call)) FGMPI_TRY(refuse_large(call, handle, envelope));
  FGMPI_TRY(check_room("max_integers", out.most.integers, envelope.integers));
  FGMPI_TRY(check_room("max_addresses", out.most.addresses, envelope.addresses));
  FGMPI_TRY(check_room("max_large_counts", out.most.counts, envelope.counts));
  FGMPI_TRY(check_room("max_datatypes", out.most.types, envelope.types));
  Type type;
  FGMPI_TRY(Type::of_any(handle, &type));
  const datatype::TypeContents& c = type.derived()->contents;
  store_list(c.integers, out.integers);
  store_list(c.addresses, out.addresses);
  store_list(c.counts, out.counts);
  return store_types(c.types, out.types);
}

// ---- Packing ------------------------------------------------------------------------------------

Status check_packed(const void* packed, const char* buffer, int64_t size, const char* argument,
                    int64_t position, int64_t bytes) {
  if (size < 0)
    return error(MPI_ERR_ARG, "%s is %lld; allowed is 0 or more", argument,
                 static_cast<long long>(size));
  if (position < 0 || position > size || bytes > size - position)
    return error(MPI_ERR_ARG,
                 "%lld bytes from position %lld on do not fit into %s, which has %lld; allowed are "
                 "elements that do",
                 static_cast<long long>(bytes), static_cast<long long>(position), buffer,
                 static_cast<long long>(size));
  if (!packed && bytes > 0)
    return error(MPI_ERR_BUFFER, "%s is a null pointer; allowed is a buffer", buffer);
  return {};
}

Status pack_bytes(const void* in, int64_t count, MPI_Datatype handle, void* out, int64_t size,
                  int64_t* position) {
  pt2pt::Buffer buffer;
  FGMPI_TRY(make_buffer(in, count, handle, &buffer));
  FGMPI_TRY(check_packed(out, "outbuf", size, "outsize", *position, buffer.bytes()));
  datatype::pack(in, count, buffer.type, static_cast<char*>(out) + *position);
  *position += buffer.bytes();
  return {};
}

Status unpack_bytes(const void* in, int64_t size, int64_t* position, void* out, int64_t count,
                    MPI_Datatype handle) {
  pt2pt::Buffer buffer;
  FGMPI_TRY(make_buffer(out, count, handle, &buffer));
  FGMPI_TRY(check_packed(in, "inbuf", size, "insize", *position, buffer.bytes()));
  datatype::unpack(static_cast<const char*>(in) + *position, buffer.bytes(), out, count,
                   buffer.type);
  *position += buffer.bytes();
  return {};
}

Status packed_size(int64_t count, MPI_Datatype handle, int64_t* bytes) {
  Type type;
  FGMPI_TRY(Type::of_any(handle, &type));
  FGMPI_TRY(check_volume(count, 1, type, "incount"));
  *bytes = count * type.size();
  return {};
}

// ---- Local reductions ---------------------------------------------------------------------------

namespace {

/// Checks two buffers (MPI-4.0 section 6.9.7): neither may be MPI_IN_PLACE.
Status check_local_buffers(const void* in, const void* inout, const Type& type) {
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

}  // namespace

Status reduce_local(const void* in, void* inout, int64_t count, MPI_Datatype datatype, MPI_Op op) {
  Type type;
  FGMPI_TRY(Type::of(datatype, &type));
  if (count > 0) FGMPI_TRY(check_local_buffers(in, inout, type));
  return datatype::reduce_local(in, inout, count, type, op);
}

Status op_free(MPI_Op* op) {
  FGMPI_TRY(check_pointer(op, "op"));
  return datatype::free_op(op);
}

}  // namespace fgmpi::mpi
