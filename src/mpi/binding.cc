// Checks of arguments in every binding, and the texts of their errors.

#include "mpi/binding.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>

namespace fgmpi::mpi {

Status check_count(int64_t count, const char* argument) {
  if (count >= 0) return {};
  return error(MPI_ERR_COUNT, "%s is %lld; allowed is 0 or more", argument,
               static_cast<long long>(count));
}

Status check_number(int64_t number, const char* argument) {
  if (number >= 0) return {};
  return error(MPI_ERR_ARG, "%s is %lld; allowed is 0 or more", argument,
               static_cast<long long>(number));
}

Status check_color(int color) {
  if (color >= 0 || color == MPI_UNDEFINED) return {};
  return error(MPI_ERR_ARG, "color is %d; allowed is 0 or more, or MPI_UNDEFINED", color);
}

Status check_member(const comm::Comm* comm, int rank, const char* argument) {
  if (rank >= 0 && rank < comm->size()) return {};
  return error(MPI_ERR_RANK, "%s is %d; allowed is 0 to %d", argument, rank, comm->size() - 1);
}

Status check_tag(int tag, bool any_allowed) {
  if (tag >= 0 || (any_allowed && tag == MPI_ANY_TAG)) return {};
  return error(MPI_ERR_TAG, "tag is %d; allowed is 0 to %d%s", tag, kTagUb,
               any_allowed ? " or MPI_ANY_TAG" : "");
}

Status check_rank(const comm::Comm* comm, int rank, const char* argument, bool any_allowed) {
  int size = comm->shared->peers().size();
  if ((rank >= 0 && rank < size) || rank == MPI_PROC_NULL ||
      (any_allowed && rank == MPI_ANY_SOURCE))
    return {};
  return error(MPI_ERR_RANK, "%s is %d; allowed is 0 to %d%s or MPI_PROC_NULL", argument, rank,
               size - 1, any_allowed ? ", MPI_ANY_SOURCE" : "");
}

Status check_root(const comm::Comm* comm, int root) {
  if (comm->shared->inter) {
    int size = comm->shared->remote->size();
    if ((root >= 0 && root < size) || root == MPI_ROOT || root == MPI_PROC_NULL) return {};
    return error(MPI_ERR_ROOT, "root is %d; allowed is 0 to %d, MPI_ROOT or MPI_PROC_NULL", root,
                 size - 1);
  }
  if (root >= 0 && root < comm->size()) return {};
  return error(MPI_ERR_ROOT, "root is %d; allowed is 0 to %d", root, comm->size() - 1);
}

Status null_pointer(const char* argument) {
  return error(MPI_ERR_ARG, "%s is a null pointer; allowed is the address of a variable", argument);
}

Status check_volume(int64_t count, int64_t parts, const datatype::Type& type,
                    const char* argument) {
  int64_t elements, bytes, reach;
  if (__builtin_expect(!__builtin_mul_overflow(count, parts, &elements) &&
                           !__builtin_mul_overflow(elements, type.size(), &bytes) &&
                           !__builtin_mul_overflow(elements, type.extent(), &reach),
                       1))
    return {};
  const int64_t widest = std::max({type.size(), std::abs(type.extent()), int64_t{1}});
  return error(MPI_ERR_COUNT,
               "%s is %lld, of a datatype of %lld bytes and extent %lld, %lld times; allowed is at "
               "most %lld",
               argument, static_cast<long long>(count), static_cast<long long>(type.size()),
               static_cast<long long>(type.extent()), static_cast<long long>(parts),
               static_cast<long long>(INT64_MAX / widest / std::max<int64_t>(parts, 1)));
}

Status make_buffer(const void* address, int64_t count, MPI_Datatype datatype, pt2pt::Buffer* out) {
  if (const DerivedData data = derived_data(address, count, datatype); data.type) {
    out->address = const_cast<void*>(address);
    out->count = count;
    out->type = datatype::Type(datatype, data.type);
    return {};
  }
  if (__builtin_expect(count < 0, 0)) return check_count(count);
  FGMPI_TRY(datatype::Type::of(type_for(count, datatype), &out->type));
  if (count > 1) FGMPI_TRY(check_volume(count, 1, out->type, "count"));
  out->address = const_cast<void*>(address);
  out->count = count;
  if (__builtin_expect(address == nullptr, 0) && count > 0 && out->type.size() > 0 &&
      out->type.basic())
    return error(MPI_ERR_BUFFER,
                 "the buffer is a null pointer with count %lld; allowed is null with count 0 only",
                 static_cast<long long>(count));
  return {};
}

Status make_buffer(const void* address, int64_t count, MPI_Datatype datatype, pt2pt::Buffer* out,
                   bool writes, const char* call) {
  FGMPI_TRY(make_buffer(address, count, datatype, out));
  return rma::checking() ? rma::check_local(address, count, out->type, writes, call) : Status();
}

void set_status(MPI_Status* status, const pt2pt::Outcome& outcome) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = outcome.source;
  status->MPI_TAG = outcome.tag;
  // MPICH's layout: the low half of the count; then its high half shifted over the cancelled bit.
  status->count_lo = static_cast<int>(outcome.bytes & 0xffffffffu);
  status->count_hi_and_cancelled =
      static_cast<int>(outcome.bytes >> 32 << 1 | (outcome.cancelled ? 1 : 0));
}

void set_empty_status(MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  status->MPI_ERROR = MPI_SUCCESS;
  status->count_lo = 0;
  status->count_hi_and_cancelled = 0;
}

double wtime() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace fgmpi::mpi
