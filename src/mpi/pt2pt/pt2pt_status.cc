// The contents of a status (MPI-4.0 sections 3.2.5 and 13.3).
//
// Basic types are handled here; for derived types datatype/elements.h counts the elements.

#include <cstring>

#include "datatype/basic_type.h"
#include "datatype/elements.h"
#include "host/host.h"
#include "mpi/calls.h"
#include "mpi/pt2pt/pt2pt_calls.h"

namespace fgmpi::mpi {
namespace {

int64_t bytes_of(const MPI_Status* status) {
  return static_cast<int64_t>(
      static_cast<uint64_t>(static_cast<uint32_t>(status->count_hi_and_cancelled) >> 1) << 32 |
      static_cast<uint32_t>(status->count_lo));
}

void set_bytes(MPI_Status* status, int64_t bytes) {
  int cancelled = status->count_hi_and_cancelled & 1;
  status->count_lo = static_cast<int>(bytes & 0xffffffff);
  status->count_hi_and_cancelled = static_cast<int>(bytes >> 32 << 1 | cancelled);
}

/// Whole elements in a message of that many bytes; MPI_UNDEFINED when they do not divide it or
/// exceed `most`.
template <class Count>
int whole_elements(const char* call, const MPI_Status* status, MPI_Datatype datatype,
                   Count* count) {
  FGMPI_RETURN_IF(call, nullptr, check_pointer(status, "status"));
  FGMPI_RETURN_IF(call, nullptr, check_pointer(count, "count"));
  datatype::Type type;
  FGMPI_RETURN_IF(call, nullptr, datatype::Type::of_any(datatype, &type));
  const int64_t size = type.size();
  int64_t bytes = bytes_of(status);
  int64_t n = size == 0           ? (bytes == 0 ? 0 : MPI_UNDEFINED)
              : bytes % size == 0 ? bytes / size
                                  : MPI_UNDEFINED;
  *count = static_cast<Count>(n) == n ? static_cast<Count>(n) : static_cast<Count>(MPI_UNDEFINED);
  return MPI_SUCCESS;
}

template <class Count>
int basic_elements(const char* call, const MPI_Status* status, MPI_Datatype datatype,
                   Count* count) {
  if (in_basic_types(datatype) && datatype != MPI_2INT)
    return whole_elements(call, status, datatype, count);
  FGMPI_RETURN_IF(call, nullptr, check_pointer(status, "status"));
  FGMPI_RETURN_IF(call, nullptr, check_pointer(count, "count"));
  const int64_t bytes = bytes_of(status);
  datatype::Type type;
  FGMPI_RETURN_IF(call, nullptr, datatype::Type::of_any(datatype, &type));
  int64_t n, rest;
  datatype::elements_in_bytes(type, bytes, &n, &rest);
  // Data that ends within the first element is undefined for a pair, and no element of a derived
  // datatype, as under MPICH 4.0.2.
  if (rest == bytes && bytes > 0 && datatype::basic_type(datatype)) n = MPI_UNDEFINED;
  *count = static_cast<Count>(n) == n ? static_cast<Count>(n) : static_cast<Count>(MPI_UNDEFINED);
  return MPI_SUCCESS;
}

}  // namespace

// The three forms of a status have one layout (MPI-4.0 section 19.3.5).

namespace {

/// Checks a status that is to be converted: one that is ignored has no values.
Status check_converted(const void* status, const void* ignored, const char* argument) {
  if (status != ignored) return {};
  return error(MPI_ERR_ARG, "%s is the status that is ignored; allowed is another one", argument);
}

}  // namespace

Status status_c2f(const MPI_Status* c_status, MPI_Fint* f_status) {
  static_assert(sizeof *c_status == MPI_F_STATUS_SIZE * sizeof *f_status);
  FGMPI_TRY(check_converted(c_status, MPI_STATUS_IGNORE, "c_status"));
  std::memcpy(f_status, c_status, sizeof *c_status);
  return {};
}

Status status_f2c(const MPI_Fint* f_status, MPI_Status* c_status) {
  FGMPI_TRY(check_converted(f_status, MPI_F_STATUS_IGNORE, "f_status"));
  FGMPI_TRY(check_converted(f_status, MPI_F_STATUSES_IGNORE, "f_status"));
  std::memcpy(c_status, f_status, sizeof *c_status);
  return {};
}

Status status_c2f08(const MPI_Status* c_status, MPI_F08_status* f08_status) {
  static_assert(sizeof *c_status == sizeof *f08_status);
  std::memcpy(f08_status, c_status, sizeof *f08_status);
  return {};
}

Status status_f082c(const MPI_F08_status* f08_status, MPI_Status* c_status) {
  std::memcpy(c_status, f08_status, sizeof *c_status);
  return {};
}

Status status_f082f(const MPI_F08_status* f08_status, MPI_Fint* f_status) {
  static_assert(sizeof *f08_status == MPI_F_STATUS_SIZE * sizeof *f_status);
  std::memcpy(f_status, f08_status, sizeof *f08_status);
  return {};
}

Status status_f2f08(const MPI_Fint* f_status, MPI_F08_status* f08_status) {
  std::memcpy(f08_status, f_status, sizeof *f08_status);
  return {};
}

int get_count(const char* call, const MPI_Status* status, MPI_Datatype type, int* count) {
  return whole_elements(call, status, type, count);
}
int get_count(const char* call, const MPI_Status* status, MPI_Datatype type, MPI_Count* count) {
  return whole_elements(call, status, type, count);
}

int get_elements(const char* call, const MPI_Status* status, MPI_Datatype type, int* count) {
  return basic_elements(call, status, type, count);
}
int get_elements(const char* call, const MPI_Status* status, MPI_Datatype type, MPI_Count* count) {
  return basic_elements(call, status, type, count);
}

int set_elements(const char* call, MPI_Status* status, MPI_Datatype datatype, int64_t count) {
  FGMPI_RETURN_IF(call, nullptr, check_pointer(status, "status"));
  FGMPI_RETURN_IF(call, nullptr, check_count(count));
  int64_t bytes = 0;
  datatype::Type type;
  FGMPI_RETURN_IF(call, nullptr, datatype::Type::of_any(datatype, &type));
  FGMPI_RETURN_IF(call, nullptr, datatype::bytes_of_elements(type, count, &bytes));
  set_bytes(status, bytes);
  return MPI_SUCCESS;
}

Status status_set_cancelled(MPI_Status* status, int flag) {
  status->count_hi_and_cancelled = (status->count_hi_and_cancelled & ~1) | (flag ? 1 : 0);
  return {};
}

Status status_set_error(MPI_Status* status, int error) {
  status->MPI_ERROR = error;
  return {};
}

Status status_set_source(MPI_Status* status, int source) {
  status->MPI_SOURCE = source;
  return {};
}

Status status_set_tag(MPI_Status* status, int tag) {
  status->MPI_TAG = tag;
  return {};
}

}  // namespace fgmpi::mpi
