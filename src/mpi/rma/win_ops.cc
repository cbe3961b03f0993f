// One-sided operations (MPI-4.0 sections 12.3 and 12.4): the arguments of each, converted to those
// of src/rma.

#include "mpi/calls.h"
#include "mpi/rma/win.h"
#include "rma/win_inl.h"

namespace fgmpi::mpi {
namespace {

rma::RmaOperation operation(const char* call, MPI_Op op, const rma::Elements& origin,
                            const rma::Elements& target, int32_t rank, MPI_Aint disp,
                            const rma::Elements& result = {}) {
  return {origin, result, target, rank, disp, op, nullptr, call};
}

/// Runs an operation with a request, whose handle the caller receives.
template <class F>
Status with_request(rma::RmaOperation what, MPI_Request* request, F&& run) {
  FGMPI_TRY(pt2pt::need_handle());
  pt2pt::Request* made = nullptr;
  what.request = &made;
  FGMPI_TRY(run(what));
  *request = pt2pt::handle_of(made);
  return {};
}

/// The address at the target for elements in a row, of one predefined type at each side, with
/// equally many bytes; else nullptr.
inline char* find_direct_target(const rma::Win* win, const void* origin, int64_t count,
                                MPI_Datatype type, int32_t rank, MPI_Aint disp,
                                int64_t target_count, MPI_Datatype target_type, uint64_t* bytes) {
  uint64_t there;
  if (!plain_bytes(origin, count, type, bytes) ||
      !plain_bytes(origin, target_count, target_type, &there) || *bytes != there)
    return nullptr;
  return rma::find_direct(win->access.get(), rank, disp, there);
}

/// Checks for one element of a predefined type, Fortran's precisions included (MPI-4.0 section
/// 12.3.4).
Status check_predefined(MPI_Datatype datatype) {
  datatype::Type type;
  FGMPI_TRY(datatype::Type::of(datatype, &type));
  if (datatype::values_of(type) != MPI_DATATYPE_NULL) return {};
  return error(MPI_ERR_TYPE, "datatype is a derived datatype; allowed are predefined ones");
}

}  // namespace

Status put(const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
           int target_rank, MPI_Aint target_disp, MPI_Count target_count,
           MPI_Datatype target_datatype, rma::Win* win) {
  uint64_t bytes;
  if (char* there = find_direct_target(win, origin_addr, origin_count, origin_datatype, target_rank,
                                       target_disp, target_count, target_datatype, &bytes)) {
    rma::count_direct_store(win->access.get());
    rma::move_bytes(there, origin_addr, bytes);
    return {};
  }
  return rma::put(win,
                  operation("MPI_Put", MPI_REPLACE, {origin_addr, origin_count, origin_datatype},
                            {nullptr, target_count, target_datatype}, target_rank, target_disp));
}

Status get(void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
           MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype,
           rma::Win* win) {
  uint64_t bytes;
  if (const char* there =
          find_direct_target(win, origin_addr, origin_count, origin_datatype, target_rank,
                             target_disp, target_count, target_datatype, &bytes)) {
    rma::count_direct(win->access.get());
    rma::move_bytes(origin_addr, there, bytes);
    return {};
  }
  return rma::get(win,
                  operation("MPI_Get", MPI_NO_OP, {origin_addr, origin_count, origin_datatype},
                            {nullptr, target_count, target_datatype}, target_rank, target_disp));
}

Status accumulate(const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Op op, rma::Win* win) {
  return rma::accumulate(
      win,
      operation("MPI_Accumulate", op, {origin_addr, origin_count, origin_datatype},
                {nullptr, target_count, target_datatype}, target_rank, target_disp),
      false);
}

Status get_accumulate(const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                      void* result_addr, MPI_Count result_count, MPI_Datatype result_datatype,
                      int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                      MPI_Datatype target_datatype, MPI_Op op, rma::Win* win) {
  return rma::accumulate(
      win,
      operation("MPI_Get_accumulate", op, {origin_addr, origin_count, origin_datatype},
                {nullptr, target_count, target_datatype}, target_rank, target_disp,
                {result_addr, result_count, result_datatype}),
      true);
}

Status fetch_and_op(const void* origin_addr, void* result_addr, MPI_Datatype datatype,
                    int target_rank, MPI_Aint target_disp, MPI_Op op, rma::Win* win) {
  if (in_basic_types(datatype) && rma::fetch_direct(win->access.get(), origin_addr, result_addr,
                                                    datatype, target_rank, target_disp, op))
    return {};
  if (target_rank != MPI_PROC_NULL) FGMPI_TRY(check_predefined(datatype));
  return rma::accumulate(
      win,
      operation("MPI_Fetch_and_op", op, {origin_addr, 1, datatype}, {nullptr, 1, datatype},
                target_rank, target_disp, {result_addr, 1, datatype}),
      true);
}

Status compare_and_swap(const void* origin_addr, const void* compare_addr, void* result_addr,
                        MPI_Datatype datatype, int target_rank, MPI_Aint target_disp,
                        rma::Win* win) {
  return rma::compare_and_swap(win, origin_addr, compare_addr, result_addr, datatype, target_rank,
                               target_disp);
}

Status rput(const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
            int target_rank, MPI_Aint target_disp, MPI_Count target_count,
            MPI_Datatype target_datatype, rma::Win* win, MPI_Request* request) {
  return with_request(
      operation("MPI_Rput", MPI_REPLACE, {origin_addr, origin_count, origin_datatype},
                {nullptr, target_count, target_datatype}, target_rank, target_disp),
      request, [&](const auto& w) { return rma::put(win, w); });
}

Status rget(void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
            int target_rank, MPI_Aint target_disp, MPI_Count target_count,
            MPI_Datatype target_datatype, rma::Win* win, MPI_Request* request) {
  return with_request(operation("MPI_Rget", MPI_NO_OP, {origin_addr, origin_count, origin_datatype},
                                {nullptr, target_count, target_datatype}, target_rank, target_disp),
                      request, [&](const auto& w) { return rma::get(win, w); });
}

Status raccumulate(const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                   int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                   MPI_Datatype target_datatype, MPI_Op op, rma::Win* win, MPI_Request* request) {
  return with_request(operation("MPI_Raccumulate", op, {origin_addr, origin_count, origin_datatype},
                                {nullptr, target_count, target_datatype}, target_rank, target_disp),
                      request, [&](const auto& w) { return rma::accumulate(win, w, false); });
}

Status rget_accumulate(const void* origin_addr, MPI_Count origin_count,
                       MPI_Datatype origin_datatype, void* result_addr, MPI_Count result_count,
                       MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                       MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op,
                       rma::Win* win, MPI_Request* request) {
  return with_request(
      operation("MPI_Rget_accumulate", op, {origin_addr, origin_count, origin_datatype},
                {nullptr, target_count, target_datatype}, target_rank, target_disp,
                {result_addr, result_count, result_datatype}),
      request, [&](const auto& w) { return rma::accumulate(win, w, true); });
}

}  // namespace fgmpi::mpi
