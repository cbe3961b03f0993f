// What a status says (MPI-4.0 sections 3.2.5 and 13.3), and the attached buffer (section 3.6).
//
// Basic types are answered here; for derived ones the host knows the elements (its status has our
// layout).

#include <cstring>

#include "host/host.h"
#include "mpi/pt2pt_args.h"

using namespace fgmpi;
using namespace fgmpi::mpi;

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
int get_count(const char* call, const MPI_Status* status, MPI_Datatype datatype, Count* count) {
  FGMPI_RETURN_IF(call, nullptr, check_pointer(status, "status"));
  FGMPI_RETURN_IF(call, nullptr, check_pointer(count, "count"));
  int64_t size = 0;
  if (host::is_basic(datatype)) {
    size = host::basic_size(datatype);
  } else {
    host::Type type;  // committed ones are known here; of others only the size matters
    if (host::Type::of(datatype, &type).ok()) {
      size = type.size();
    } else {
      MPI_Count bytes = 0;
      int code = host::call([&](const host::Api& h) { return h.Type_size_x(datatype, &bytes); });
      if (code != MPI_SUCCESS) return host_error(call, code);
      size = bytes;
    }
  }
  int64_t bytes = bytes_of(status);
  int64_t n = size == 0           ? (bytes == 0 ? 0 : MPI_UNDEFINED)
              : bytes % size == 0 ? bytes / size
                                  : MPI_UNDEFINED;
  *count = static_cast<Count>(n) == n ? static_cast<Count>(n) : static_cast<Count>(MPI_UNDEFINED);
  return MPI_SUCCESS;
}

template <class Count, class Host>
int get_elements(const char* call, const MPI_Status* status, MPI_Datatype datatype, Count* count,
                 Host&& ask_host) {
  if (in_basic_types(datatype) && datatype != MPI_2INT)
    return get_count(call, status, datatype, count);
  FGMPI_RETURN_IF(call, nullptr, check_pointer(status, "status"));
  FGMPI_RETURN_IF(call, nullptr, check_pointer(count, "count"));
  int code = host::call(ask_host);
  return code == MPI_SUCCESS ? MPI_SUCCESS : host_error(call, code);
}

int set_elements(const char* call, MPI_Status* status, MPI_Datatype datatype, int64_t count) {
  FGMPI_RETURN_IF(call, nullptr, check_pointer(status, "status"));
  FGMPI_RETURN_IF(call, nullptr, check_count(count));
  if (in_basic_types(datatype) && datatype != MPI_2INT) {
    host::Type type;
    FGMPI_RETURN_IF(call, nullptr, host::Type::of(datatype, &type));
    FGMPI_RETURN_IF(call, nullptr, check_volume(count, 1, type, "count"));
    set_bytes(status, count * type.size());
    return MPI_SUCCESS;
  }
  int code = host::call(
      [&](const host::Api& h) { return h.Status_set_elements_x(status, datatype, count); });
  return code == MPI_SUCCESS ? MPI_SUCCESS : host_error(call, code);
}

}  // namespace

FGMPI_EXPORT(MPI_Get_count);
int PMPI_Get_count(const MPI_Status* status, MPI_Datatype datatype, int* count) {
  return get_count("MPI_Get_count", status, datatype, count);
}

FGMPI_EXPORT(MPI_Get_count_c);
int PMPI_Get_count_c(const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count) {
  return get_count("MPI_Get_count_c", status, datatype, count);
}

FGMPI_EXPORT(MPI_Get_elements);
int PMPI_Get_elements(const MPI_Status* status, MPI_Datatype datatype, int* count) {
  return get_elements("MPI_Get_elements", status, datatype, count,
                      [&](const host::Api& h) { return h.Get_elements(status, datatype, count); });
}

FGMPI_EXPORT(MPI_Get_elements_x);
int PMPI_Get_elements_x(const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count) {
  return get_elements("MPI_Get_elements_x", status, datatype, count, [&](const host::Api& h) {
    return h.Get_elements_x(status, datatype, count);
  });
}

FGMPI_EXPORT(MPI_Get_elements_c);
int PMPI_Get_elements_c(const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count) {
  return get_elements("MPI_Get_elements_c", status, datatype, count, [&](const host::Api& h) {
    return h.Get_elements_c(status, datatype, count);
  });
}

FGMPI_EXPORT(MPI_Status_set_elements);
int PMPI_Status_set_elements(MPI_Status* status, MPI_Datatype datatype, int count) {
  return set_elements("MPI_Status_set_elements", status, datatype, count);
}

FGMPI_EXPORT(MPI_Status_set_elements_x);
int PMPI_Status_set_elements_x(MPI_Status* status, MPI_Datatype datatype, MPI_Count count) {
  return set_elements("MPI_Status_set_elements_x", status, datatype, count);
}

FGMPI_EXPORT(MPI_Status_set_cancelled);
int PMPI_Status_set_cancelled(MPI_Status* status, int flag) {
  constexpr const char* kCall = "MPI_Status_set_cancelled";
  FGMPI_RETURN_IF(kCall, nullptr, check_pointer(status, "status"));
  status->count_hi_and_cancelled = (status->count_hi_and_cancelled & ~1) | (flag ? 1 : 0);
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Test_cancelled);
int PMPI_Test_cancelled(const MPI_Status* status, int* flag) {
  constexpr const char* kCall = "MPI_Test_cancelled";
  FGMPI_RETURN_IF(kCall, nullptr, check_pointer(status, "status"));
  FGMPI_RETURN_IF(kCall, nullptr, check_pointer(flag, "flag"));
  *flag = status->count_hi_and_cancelled & 1;
  return MPI_SUCCESS;
}

namespace {

int attach(const char* call, void* buffer, int64_t size) {
  comm::RankState* rank = comm::rank_state();
  if (!rank) return bad_comm(call, MPI_COMM_SELF);
  return done(call, nullptr, pt2pt::attach_buffer(&rank->bsend, buffer, size));
}

template <class Size>
int detach(const char* call, void* buffer, Size* size) {
  sched::maybe_force_switch();
  comm::RankState* rank = comm::rank_state();
  if (!rank) return bad_comm(call, MPI_COMM_SELF);
  FGMPI_RETURN_IF(call, nullptr, check_pointer(buffer, "buffer_addr"));
  FGMPI_RETURN_IF(call, nullptr, check_pointer(size, "size"));
  void* address;
  int64_t bytes;
  FGMPI_RETURN_IF(call, nullptr, pt2pt::detach_buffer(&rank->bsend, &address, &bytes, call));
  std::memcpy(buffer, &address, sizeof address);
  *size = static_cast<Size>(bytes);
  return MPI_SUCCESS;
}

}  // namespace

FGMPI_EXPORT(MPI_Buffer_attach);
int PMPI_Buffer_attach(void* buffer, int size) { return attach("MPI_Buffer_attach", buffer, size); }

FGMPI_EXPORT(MPI_Buffer_attach_c);
int PMPI_Buffer_attach_c(void* buffer, MPI_Count size) {
  return attach("MPI_Buffer_attach_c", buffer, size);
}

FGMPI_EXPORT(MPI_Buffer_detach);
int PMPI_Buffer_detach(void* buffer, int* size) {
  return detach("MPI_Buffer_detach", buffer, size);
}

FGMPI_EXPORT(MPI_Buffer_detach_c);
int PMPI_Buffer_detach_c(void* buffer, MPI_Count* size) {
  return detach("MPI_Buffer_detach_c", buffer, size);
}
