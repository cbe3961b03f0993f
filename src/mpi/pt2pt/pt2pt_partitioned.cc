// Partitioned communication (MPI-4.0 chapter 4).

#include "base/function_types.h"
#include "mpi/calls.h"
#include "mpi/pt2pt/pt2pt_args.h"
#include "proclet-sched/coroutine/call_count.h"

namespace fgmpi::mpi {

namespace {

uint64_t part_ctx(const Comm* c) { return c->shared->id.plane(comm::kPlanePart); }

Status find_partitioned(MPI_Request handle, Request** out) {
  *out = pt2pt::find_request(handle);
  if (*out) return {};
  return error(MPI_ERR_REQUEST, "request is 0x%08x, which is not a request or has been completed",
               static_cast<unsigned>(handle));
}

}  // namespace

Status psend_init(const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest,
                  int tag, Comm* c, MPI_Info, MPI_Request* request) {
  FGMPI_TRY(pt2pt::need_handle());
  Buffer buffer;
  FGMPI_TRY(make_buffer(buf, count, datatype, &buffer, false, "MPI_Psend_init"));
  FGMPI_TRY(check_volume(count, partitions, buffer.type, "count"));
  pt2pt::Peer to{pt2pt::kNoPeer, 0};
  if (dest != MPI_PROC_NULL) to = c->peer(dest);
  Request* made;
  FGMPI_TRY(pt2pt::psend_init(buffer, partitions, to, c->rank, tag, part_ctx(c), "MPI_Psend_init",
                              c, &made));
  *request = pt2pt::handle_of(made);
  return {};
}

Status precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source,
                  int tag, Comm* c, MPI_Info, MPI_Request* request) {
  FGMPI_TRY(pt2pt::need_handle());
  Buffer buffer;
  FGMPI_TRY(make_buffer(buf, count, datatype, &buffer, true, "MPI_Precv_init"));
  FGMPI_TRY(check_volume(count, partitions, buffer.type, "count"));
  Request* made;
  FGMPI_TRY(pt2pt::precv_init(buffer, partitions, my_endpoint(), source, tag, part_ctx(c),
                              "MPI_Precv_init", c, &made));
  *request = pt2pt::handle_of(made);
  return {};
}

}  // namespace fgmpi::mpi

using namespace fgmpi;
using namespace fgmpi::mpi;

namespace {
int ready_range(const char* call, int low, int high, MPI_Request handle) {
  Request* r;
  FGMPI_RETURN_IF(call, nullptr, find_partitioned(handle, &r));
  return done(call, comm_of(r), pt2pt::pready_range(r, low, high));
}
}  // namespace

FGMPI_EXPORT(MPI_Pready);
int PMPI_Pready(int partition, MPI_Request request) {
  FGMPI_TAKE_TURN("MPI_Pready", PMPI_Pready(partition, request));
  return ready_range("MPI_Pready", partition, partition, request);
}

FGMPI_EXPORT(MPI_Pready_range);
int PMPI_Pready_range(int partition_low, int partition_high, MPI_Request request) {
  FGMPI_TAKE_TURN("MPI_Pready_range", PMPI_Pready_range(partition_low, partition_high, request));
  constexpr const char* kCall = "MPI_Pready_range";
  if (partition_low > partition_high)
    return fail(
        kCall, nullptr,
        error(MPI_ERR_OTHER, "partition_low is %d, partition_high %d; allowed is low <= high",
              partition_low, partition_high));
  return ready_range(kCall, partition_low, partition_high, request);
}

FGMPI_EXPORT(MPI_Pready_list);
int PMPI_Pready_list(int length, SecondParameter<decltype(PMPI_Pready_list)> partitions,
                     MPI_Request request) {
  FGMPI_TAKE_TURN("MPI_Pready_list", PMPI_Pready_list(length, partitions, request));
  constexpr const char* kCall = "MPI_Pready_list";
  if (length < 0)
    return fail(kCall, nullptr, error(MPI_ERR_ARG, "length is %d; allowed is 0 or more", length));
  if (length > 0) FGMPI_RETURN_IF(kCall, nullptr, check_pointer(partitions, "array_of_partitions"));
  Request* r;
  FGMPI_RETURN_IF(kCall, nullptr, find_partitioned(request, &r));
  return done(kCall, comm_of(r), pt2pt::pready_list(r, partitions, length));
}

FGMPI_EXPORT(MPI_Parrived);
int PMPI_Parrived(MPI_Request request, int partition, int* flag) {
  FGMPI_TAKE_TURN("MPI_Parrived", PMPI_Parrived(request, partition, flag));
  constexpr const char* kCall = "MPI_Parrived";
  FGMPI_RETURN_IF(kCall, nullptr, check_pointer(flag, "flag"));
  // No transfer is under way, so all partitions count as arrived, as for an inactive request
  // (MPI-4.0 section 4.2.2).
  if (request == MPI_REQUEST_NULL) {
    *flag = 1;
    return MPI_SUCCESS;
  }
  Request* r;
  FGMPI_RETURN_IF(kCall, nullptr, find_partitioned(request, &r));
  sched::count_call();
  bool arrived = false;
  FGMPI_RETURN_IF(kCall, comm_of(r), pt2pt::parrived(r, partition, &arrived));
  *flag = arrived;
  return MPI_SUCCESS;
}
