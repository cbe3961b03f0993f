// MPI_Pack_external and its relatives.

#include "mpi/datatype/pack_external.h"

#include <cstring>

#include "file/datarep.h"
#include "mpi/errors/errors.h"

namespace fgmpi::mpi {
namespace {

/// What the three calls share: the representation, and the elements in it.
Status find_placed_type(const char* datarep, int64_t count, MPI_Datatype handle,
                        datatype::Type* type, file::Placed* placed) {
  if (!datarep || std::strcmp(datarep, "external32") != 0)
    return error(MPI_ERR_ARG, "datarep is %s%s%s; allowed is \"external32\"", datarep ? "\"" : "",
                 datarep ? datarep : "a null pointer", datarep ? "\"" : "");
  if (count < 0)
    return error(MPI_ERR_COUNT, "count is %lld; allowed is 0 or more",
                 static_cast<long long>(count));
  FGMPI_TRY(datatype::Type::of(handle, type));
  return file::place(*file::find_datarep(datarep), *type, placed);
}

/// Checks that there is room for `bytes` bytes in `size` from `position` on.
Status check_room(int64_t bytes, int64_t position, int64_t size) {
  if (position >= 0 && size >= 0 && position <= size && bytes <= size - position) return {};
  return error(MPI_ERR_ARG,
               "%lld bytes from position %lld on do not fit into a buffer of %lld bytes",
               static_cast<long long>(bytes), static_cast<long long>(position),
               static_cast<long long>(size));
}

}  // namespace

Status pack_external_size(const char* datarep, int64_t count, MPI_Datatype handle, int64_t* bytes) {
  datatype::Type type;
  file::Placed placed;
  FGMPI_TRY(find_placed_type(datarep, count, handle, &type, &placed));
  *bytes = count * placed.bytes;
  return {};
}

Status pack_external(const char* datarep, const void* in, int64_t count, MPI_Datatype handle,
                     void* out, int64_t size, int64_t* position) {
  datatype::Type type;
  file::Placed placed;
  FGMPI_TRY(find_placed_type(datarep, count, handle, &type, &placed));
  FGMPI_TRY(check_room(count * placed.bytes, *position, size));
  if (count == 0 || placed.bytes == 0) return {};
  const pt2pt::Buffer buffer{const_cast<void*>(in), count, type};
  FGMPI_TRY(file::to_file(*file::find_datarep(datarep), placed, buffer,
                          static_cast<char*>(out) + *position));
  *position += count * placed.bytes;
  return {};
}

Status unpack_external(const char* datarep, const void* in, int64_t size, int64_t* position,
                       void* out, int64_t count, MPI_Datatype handle) {
  datatype::Type type;
  file::Placed placed;
  FGMPI_TRY(find_placed_type(datarep, count, handle, &type, &placed));
  FGMPI_TRY(check_room(count * placed.bytes, *position, size));
  if (count == 0 || placed.bytes == 0) return {};
  const pt2pt::Buffer buffer{out, count, type};
  FGMPI_TRY(file::from_file(*file::find_datarep(datarep), placed,
                            static_cast<const char*>(in) + *position, count * placed.bytes,
                            buffer));
  *position += count * placed.bytes;
  return {};
}

}  // namespace fgmpi::mpi
