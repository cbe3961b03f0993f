// MPI_Comm_split_type (MPI-4.0 section 7.4.2): by host, by hardware resource, guided or not.

#include "coll/coll.h"
#include "comm/create.h"
#include "comm/hardware.h"
#include "host/host.h"
#include "mpi/comm_common.h"

using namespace fgmpi;

namespace {

constexpr const char* kCall = "MPI_Comm_split_type";
constexpr const char* kResourceKey = "mpi_hw_resource_type";

/// Splits and frees the parent when it was only a step on the way.
Status step(comm::Comm* parent, bool temporary, int color, int key, comm::Comm** out) {
  Status status = comm::split(parent, color, key, out);
  if (temporary) comm::free(parent);
  return status;
}

/// The members on this host, by key and rank. A color has 31 bits, a host's number 62: two splits, the second one
/// only where more than one process is left.
Status split_by_host(comm::Comm* c, int key, comm::Comm** out) {
  uint64_t host = comm::host_number();
  FGMPI_TRY(step(c, false, static_cast<int>(host & 0x7fffffff), key, out));
  if ((*out)->shared->processes == 1) return {};
  return step(*out, true, static_cast<int>(host >> 31), 0, out);
}

/// The members restricted to the same instance of a resource on the same host; nullptr when not restricted to one.
Status split_by_resource(comm::Comm* c, const std::string& kind, int key, comm::Comm** out) {
  comm::Comm* host = nullptr;
  FGMPI_TRY(split_by_host(c, 0, &host));
  int64_t instance = comm::resource_instance(kind);
  return step(host, true, instance < 0 ? MPI_UNDEFINED : static_cast<int>(instance), key, out);
}

/// The first level at which the communicator falls apart; nullptr when there is none, or for a member that is in no
/// instance of it.
Status split_unguided(comm::Comm* c, int key, comm::Comm** out, std::string* level) {
  *out = nullptr;
  comm::Comm *all = nullptr, *host = nullptr;
  FGMPI_TRY(step(c, false, 0, key, &all));  // members that gave MPI_UNDEFINED are out from here on
  int everybody = all->size();
  FGMPI_TRY(split_by_host(all, 0, &host));
  comm::free(all);
  *level = "Machine";
  if (host->size() < everybody) {
    *out = host;
    return {};
  }
  for (const std::string& kind : comm::resource_levels()) {
    comm::Comm* made = nullptr;
    int64_t instance = comm::resource_instance(kind);
    FGMPI_TRY(
        step(host, false, instance < 0 ? MPI_UNDEFINED : static_cast<int>(instance), 0, &made));
    int64_t largest = made ? made->size() : 0;
    FGMPI_TRY(coll::allreduce_int64(host, &largest, 1, MPI_MAX, kCall));
    if (largest > 0 && largest < everybody) {
      *level = kind;
      *out = made;
      break;
    }
    if (made) comm::free(made);
  }
  comm::free(host);
  return {};
}

void set_resource(MPI_Info info, const std::string& level) {
  if (info == MPI_INFO_NULL || level.empty()) return;
  host::call([&](const host::Api& h) { return h.Info_set(info, kResourceKey, level.c_str()); });
}

Status split_type(comm::Comm* c, int type, int key, MPI_Info info, comm::Comm** out) {
  *out = nullptr;
  std::string resource;
  switch (type) {
    case MPI_UNDEFINED:  // the splits of the others need everybody: this member has no color in any
      return comm::split(c, MPI_UNDEFINED, 0, out);
    case MPI_COMM_TYPE_SHARED:
      return split_by_host(c, key, out);
    case MPI_COMM_TYPE_HW_UNGUIDED: {
      FGMPI_TRY(split_unguided(c, key, out, &resource));
      if (*out) set_resource(info, resource);
      return {};
    }
    case MPI_COMM_TYPE_HW_GUIDED:
      FGMPI_TRY(comm::read_info_key(info, kResourceKey, &resource));
      if (resource.empty()) {
        return comm::split(c, MPI_UNDEFINED, 0, out);
      }
      if (resource == "mpi_shared_memory") return split_by_host(c, key, out);
      return split_by_resource(c, resource, key, out);
    default:
      return error(MPI_ERR_ARG,
                   "split_type is %d; allowed is MPI_COMM_TYPE_SHARED, MPI_COMM_TYPE_HW_GUIDED, "
                   "MPI_COMM_TYPE_HW_UNGUIDED or MPI_UNDEFINED",
                   type);
  }
}

}  // namespace

FGMPI_OWN(Comm_split_type)
int PMPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm) {
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(newcomm, "newcomm"));
  FGMPI_RETURN_IF(kCall, c, mpi::check_intra(c));
  comm::Hints hints;
  FGMPI_RETURN_IF(kCall, c, comm::read_hints(info, &hints));
  comm::Comm* made = nullptr;
  Status status = ::split_type(c, split_type, key, info, &made);
  if (made && !hints.empty()) mpi::apply_hints(made, std::move(hints));
  return mpi::give(kCall, c, status, made, newcomm);
}
