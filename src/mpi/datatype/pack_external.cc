// MPI_Pack_external and its relatives.

#include "mpi/datatype/pack_external.h"

#include <cstring>

#include "file/datarep.h"
#include "mpi/datatype/types.h"
#include "mpi/errors/errors.h"

namespace fgmpi::mpi {
namespace {

/// What the three calls share: the elements, and what they are in the representation.
struct ExternalElements {
  file::DatarepPtr datarep;
  pt2pt::Buffer buffer;
  file::Placed placed;
  int64_t bytes;  ///< in the representation
};

Status find_elements(const char* datarep, const void* address, int64_t count, MPI_Datatype handle,
                     ExternalElements* out) {
  if (!datarep || std::strcmp(datarep, "external32") != 0)
    return error(MPI_ERR_ARG, "datarep is %s%s%s; allowed is \"external32\"", datarep ? "\"" : "",
                 datarep ? datarep : "a null pointer", datarep ? "\"" : "");
  if (count < 0)
    return error(MPI_ERR_COUNT, "count is %lld; allowed is 0 or more",
                 static_cast<long long>(count));
  out->datarep = file::find_datarep(datarep);
  out->buffer.address = const_cast<void*>(address);
  out->buffer.count = count;
  FGMPI_TRY(datatype::Type::of(handle, &out->buffer.type));
  FGMPI_TRY(file::place(*out->datarep, out->buffer.type, &out->placed));
  out->bytes = count * out->placed.bytes;
  return {};
}

}  // namespace

Status pack_external_size(const char* datarep, int64_t count, MPI_Datatype handle, int64_t* bytes) {
  ExternalElements elements;
  FGMPI_TRY(find_elements(datarep, nullptr, count, handle, &elements));
  *bytes = elements.bytes;
  return {};
}

Status pack_external(const char* datarep, const void* in, int64_t count, MPI_Datatype handle,
                     void* out, int64_t size, int64_t* position) {
  ExternalElements from;
  FGMPI_TRY(find_elements(datarep, in, count, handle, &from));
  FGMPI_TRY(check_packed(out, "outbuf", size, "outsize", *position, from.bytes));
  if (from.bytes == 0) return {};
  FGMPI_TRY(
      file::to_file(*from.datarep, from.placed, from.buffer, static_cast<char*>(out) + *position));
  *position += from.bytes;
  return {};
}

Status unpack_external(const char* datarep, const void* in, int64_t size, int64_t* position,
                       void* out, int64_t count, MPI_Datatype handle) {
  ExternalElements to;
  FGMPI_TRY(find_elements(datarep, out, count, handle, &to));
  FGMPI_TRY(check_packed(in, "inbuf", size, "insize", *position, to.bytes));
  if (to.bytes == 0) return {};
  FGMPI_TRY(file::from_file(*to.datarep, to.placed, static_cast<const char*>(in) + *position,
                            to.bytes, to.buffer));
  *position += to.bytes;
  return {};
}

}  // namespace fgmpi::mpi
