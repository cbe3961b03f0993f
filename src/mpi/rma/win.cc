// Windows: creation, freeing, names, hints, groups, error handlers (MPI-4.0 sections 12.2, 7.8 and
// 9.3).

#include "mpi/rma/win.h"

#include <algorithm>
#include <cstring>

#include "comm/errhandler.h"
#include "comm/info.h"
#include "mpi/calls.h"
#include "mpi/life/runtime.h"
#include "mpi/life/session.h"
#include "rma/check.h"

namespace fgmpi::mpi {

int bad_win(const char* call, MPI_Win handle) {
  if (!usable()) return bad_comm(call, MPI_COMM_SELF);
  return fail(call, nullptr,
              error(MPI_ERR_WIN, "win is %s; allowed is a window that was made and not freed",
                    handle == MPI_WIN_NULL ? "MPI_WIN_NULL" : "not a window or was freed"));
}

int fail_code(const char* call, rma::Win* win, int code) {
  const MPI_Errhandler handler = win->comm->errhandler;
  if (handler == MPI_ERRHANDLER_NULL) return fail_code(call, &comm::rank_state()->world, code);
  if (comm::returns_codes(handler)) return code;
  if (comm::call_errhandler(handler, &win->handle, &code)) return code;
  abort_job(class_of(code), "Fatal error on rank " +
                                std::to_string(comm::rank_state()->world_rank) + ": " +
                                text_of(code) + " (" + call + ")");
}

int fail(const char* call, rma::Win* win, const Status& status) {
  return fail_code(call, win, code_of(call, status));
}

// ---- Creation -----------------------------------------------------------------------------------

namespace {

constexpr const char* kHints[] = {"no_locks",
                                  "accumulate_ordering",
                                  "accumulate_ops",
                                  "same_size",
                                  "same_disp_unit",
                                  "alloc_shared_noncontig",
                                  "mpi_minimum_memory_alignment",
                                  "which_accumulate_ops",
                                  "disable_shm_accumulate"};

bool is_switch(const std::string& key) {
  return key == "no_locks" || key == "same_size" || key == "same_disp_unit" ||
         key == "alloc_shared_noncontig" || key == "disable_shm_accumulate";
}

/// A value that a key cannot have is ignored, as MPI-4.0 chapter 10 requires for unknown keys.
Status read_win_hints(MPI_Info info, comm::Hints* hints) {
  comm::Hints all;
  FGMPI_TRY(comm::read_info(info, &all));
  for (auto& hint : all) {
    const bool good = !is_switch(hint.first) || hint.second == "true" || hint.second == "false";
    if (good && known_win_hint(hint.first)) comm::put_hint(hints, std::move(hint));
  }
  return {};
}

Status make(const char* call, int flavor, void** base, MPI_Aint size, MPI_Aint disp_unit,
            MPI_Info info, comm::Comm* comm, rma::Win** win) {
  rma::Creation what;
  what.flavor = flavor;
  what.base = *base;
  what.bytes = size;
  what.unit = disp_unit;
  what.call = call;
  FGMPI_TRY(read_win_hints(info, &what.hints));
  load_group_map(comm);
  if (rma::start_observing()) close_shortest_ways();
  FGMPI_TRY(rma::create(comm, &what, win));
  if (!what.hints.empty()) comm::extras((*win)->comm).info = std::move(what.hints);
  *base = what.base;
  return {};
}

}  // namespace

bool known_win_hint(const std::string& key) {
  return std::any_of(std::begin(kHints), std::end(kHints), [&](const char* k) { return key == k; });
}

Status make_win(const char* call, void* base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info,
                comm::Comm* comm, rma::Win** win) {
  return make(call, MPI_WIN_FLAVOR_CREATE, &base, size, disp_unit, info, comm, win);
}

Status make_allocated_win(const char* call, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info,
                          comm::Comm* comm, void* baseptr, rma::Win** win) {
  const bool shared = std::strstr(call, "shared") != nullptr;
  void* base = nullptr;
  FGMPI_TRY(make(call, shared ? MPI_WIN_FLAVOR_SHARED : MPI_WIN_FLAVOR_ALLOCATE, &base, size,
                 disp_unit, info, comm, win));
  std::memcpy(baseptr, &base, sizeof base);
  return {};
}

Status make_dynamic_win(const char* call, MPI_Info info, comm::Comm* comm, rma::Win** win) {
  void* base = nullptr;
  return make(call, MPI_WIN_FLAVOR_DYNAMIC, &base, 0, 1, info, comm, win);
}

int free_win(const char* call, rma::Win* win) {
  if (win->comm->extras && !win->comm->extras->attributes.empty()) {
    const int code = comm::delete_attributes(&win->comm->extras->attributes, win->handle);
    if (code != MPI_SUCCESS) return code;
  }
  return code_of(call, rma::free(win, call));
}

// ---- Names, hints, groups -----------------------------------------------------------------------

Status win_set_name(rma::Win* win, const char* win_name) {
  comm::Extras& extras = comm::extras(win->comm);
  extras.name = win_name;
  if (extras.name.size() >= MPI_MAX_OBJECT_NAME) extras.name.resize(MPI_MAX_OBJECT_NAME - 1);
  extras.named = true;
  return {};
}

int name_of_win(const char* call, MPI_Win handle, char* win_name, int* resultlen) {
  rma::Win* win = handle == MPI_WIN_NULL ? nullptr : rma::find(handle);
  if (handle == MPI_WIN_NULL) FGMPI_NEED_INIT(call);
  if (!win && handle != MPI_WIN_NULL) return bad_win(call, handle);
  Status pointers = check_pointer(win_name, "win_name");
  if (pointers.ok()) pointers = check_pointer(resultlen, "resultlen");
  if (!pointers.ok()) return win ? fail(call, win, pointers) : fail(call, nullptr, pointers);
  std::string name = win ? std::string() : "MPI_WIN_NULL";
  if (win && win->comm->extras) name = win->comm->extras->name;
  std::memcpy(win_name, name.c_str(), name.size() + 1);
  *resultlen = static_cast<int>(name.size());
  return MPI_SUCCESS;
}

Status win_set_info(rma::Win* win, MPI_Info info) {
  comm::Hints hints;
  FGMPI_TRY(read_win_hints(info, &hints));
  if (hints.empty()) return {};
  for (auto& hint : hints) {
    if (hint.first == "no_locks") win->shared->no_locks = hint.second == "true";
    comm::put_hint(&comm::extras(win->comm).info, std::move(hint));
  }
  return {};
}

Status win_get_info(rma::Win* win, MPI_Info* info_used) {
  // A hint that was not given has the value that the standard defines for its absence (section
  // 12.2.1).
  comm::Hints hints = {
      {"no_locks", "false"},
      {"accumulate_ordering", "rar,raw,war,waw"},
      {"accumulate_ops", "same_op_no_op"},
      {"mpi_accumulate_granularity", "0"},
      {"same_size", "false"},
      {"same_disp_unit", "false"},
      {"which_accumulate_ops",
       "max,min,sum,prod,maxloc,minloc,band,bor,bxor,land,lor,lxor,replace,no_op,cswap"},
      {"disable_shm_accumulate", "false"}};
  const int flavor = win->shared->flavor;
  if (flavor == MPI_WIN_FLAVOR_SHARED) hints.emplace_back("alloc_shared_noncontig", "false");
  if (win->comm->extras)
    for (auto hint : win->comm->extras->info) comm::put_hint(&hints, std::move(hint));
  comm::put_hint(&hints, {comm::kMemoryKindsKey, memory_kinds(win->comm->session)});
  return comm::create_info(hints, info_used);
}

Status win_get_group(rma::Win* win, MPI_Group* group) {
  FGMPI_TRY(comm::make_group(win->comm->shared->map, group));
  if (comm::Group* g = comm::find_group(*group)) g->rank = win->comm->rank;
  return {};
}

// ---- Error handlers -----------------------------------------------------------------------------

Status win_set_errhandler(rma::Win* win, MPI_Errhandler errhandler) {
  comm::retain_errhandler(errhandler);
  comm::release_errhandler(win->comm->errhandler);
  win->comm->errhandler = errhandler;
  return {};
}

Status win_get_errhandler(rma::Win* win, MPI_Errhandler* errhandler) {
  *errhandler = handler_or_default(win->comm);
  comm::retain_errhandler(*errhandler);
  return {};
}

int win_call_errhandler(rma::Win* win, int errorcode) {
  fail_code("MPI_Win_call_errhandler", win, errorcode);
  return MPI_SUCCESS;
}

}  // namespace fgmpi::mpi
