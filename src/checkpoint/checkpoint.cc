// When a checkpoint is taken, and what is done then: all objects are thrown away and made again in
// the running job (FGMPI_CHECKPOINT=remake), as a restart does.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "checkpoint/rest.h"
#include "checkpoint/wrappers.h"

namespace fgmpi::checkpoint {
namespace {

std::vector<VirtualComm*> comms_by_key(const LayerRank& rank) {
  std::vector<VirtualComm*> list;
  rank.comms.for_each([&](MPI_Comm, VirtualComm* comm) { list.push_back(comm); });
  std::sort(list.begin(), list.end(),
            [](const VirtualComm* a, const VirtualComm* b) { return a->key < b->key; });
  return list;
}

}  // namespace

void describe_objects(LayerRank& rank, PredefinedComms* predefined) {
  rank.infos.for_each(
      [](MPI_Info, VirtualInfo* info) { info->described = contents_of(info->real); });
  rank.groups.for_each([&](MPI_Group, VirtualGroup* group) {
    group->world_ranks = world_ranks_of(rank, group->real);
  });
  rank.types.for_each([&](MPI_Datatype, VirtualType* type) { describe_type(rank, type); });
  rank.comms.for_each([&](MPI_Comm, VirtualComm* comm) {
    describe_comm(rank, comm);
    describe_predefined(rank, comm->real, comm->described.get());
  });
  describe_predefined(rank, MPI_COMM_WORLD, &predefined->world);
  describe_predefined(rank, MPI_COMM_SELF, &predefined->self);
}

namespace {

void discard_requests(LayerRank& rank) {
  for (auto [handle, request] : requests_by(rank, &VirtualRequest::made_order)) {
    if (request->persistent) g_next.MPI_Request_free(&request->persistent_real);
    if (request->active && request->real != MPI_REQUEST_NULL && request->is_complete)
      g_next.MPI_Request_free(&request->real);
    request->real = request->persistent_real = MPI_REQUEST_NULL;
    request->is_complete = false;
    if (!request->freed || request->withdrawn) continue;
    --rank.freed_requests;
    remove_request(rank, handle);
  }
}

/// Only communicators use this error handler any more; MPI calls its destructor when none does.
bool is_only_in_use(const VirtualCallbacks& handler) {
  return handler.freed && handler.calls->with_state;
}

}  // namespace

void discard_objects(LayerRank& rank) {
  discard_requests(rank);
  for (VirtualComm* comm : comms_by_key(rank)) g_next.MPI_Comm_free(&comm->real);
  rank.groups.for_each([](MPI_Group, VirtualGroup* group) { g_next.MPI_Group_free(&group->real); });
  rank.types.for_each([](MPI_Datatype, VirtualType* type) {
    if (!type->permanent) g_next.MPI_Type_free(&type->real);
  });
  rank.ops.for_each([](MPI_Op, VirtualCallbacks* op) { g_next.MPI_Op_free(&op->real); });
  rank.infos.for_each([](MPI_Info, VirtualInfo* info) { g_next.MPI_Info_free(&info->real); });
  rank.keyvals.for_each([](int, VirtualCallbacks* keyval) {
    using Form = Callbacks::Form;
    const Form form = keyval->calls->form;
    if (form == Form::kType)
      g_next.MPI_Type_free_keyval(&keyval->real);
    else if (form == Form::kWin)
      g_next.MPI_Win_free_keyval(&keyval->real);
    else
      g_next.MPI_Comm_free_keyval(&keyval->real);
  });
  rank.errhandlers.for_each([](MPI_Errhandler, VirtualCallbacks* handler) {
    if (!is_only_in_use(*handler)) g_next.MPI_Errhandler_free(&handler->real);
  });
  free_own_comms(rank);
  if (rank.buffer.address) {
    void* address = nullptr;
    MPI_Count bytes = 0;
    g_next.MPI_Buffer_detach_c(&address, &bytes);
  }
}

void resume_requests(LayerRank& rank) {
  for (auto [handle, request] : requests_by(rank, &VirtualRequest::order)) {
    if (request->outcome && !request->is_complete) make_complete(request);
    if (!request->withdrawn) continue;
    request->withdrawn = false;
    if (request->persistent)
      g_next.MPI_Start(&request->real);
    else
      kRemakers[request->call](&rank, request);
  }
}

namespace {

void remake_requests(LayerRank& rank) {
  for (auto [handle, request] : requests_by(rank, &VirtualRequest::made_order)) {
    if (!request->persistent) continue;
    kRemakers[request->call](&rank, request);
    request->persistent_real = request->real;
  }
  resume_requests(rank);
}

}  // namespace

void remake_objects(LayerRank& rank, const PredefinedComms& predefined) {
  make_own_comms(rank);
  if (rank.buffer.address) g_next.MPI_Buffer_attach_c(rank.buffer.address, rank.buffer.bytes);
  rank.keyvals.for_each(
      [](int, VirtualCallbacks* keyval) { make_keyval(keyval->calls, &keyval->real); });
  rank.errhandlers.for_each([](MPI_Errhandler, VirtualCallbacks* handler) {
    make_errhandler(handler->calls, &handler->real);
  });
  rank.infos.for_each([](MPI_Info, VirtualInfo* info) { info->real = info_of(info->described); });
  rank.groups.for_each(
      [&](MPI_Group, VirtualGroup* group) { group->real = group_of(rank, group->world_ranks); });
  rank.types.for_each([&](MPI_Datatype, VirtualType* type) { remake_type(rank, type); });
  rank.ops.for_each([](MPI_Op, VirtualCallbacks* op) { make_operation(op->calls, &op->real); });
  for (VirtualComm* comm : comms_by_key(rank)) remake_comm(rank, comm);
  restore_extras(rank, MPI_COMM_WORLD, predefined.world);
  restore_extras(rank, MPI_COMM_SELF, predefined.self);
  remake_requests(rank);
}

void release_freed_handlers(LayerRank& rank) {
  std::vector<MPI_Errhandler> real;
  rank.errhandlers.for_each([&](MPI_Errhandler, const VirtualCallbacks* handler) {
    if (is_only_in_use(*handler)) real.push_back(handler->real);
  });
  for (MPI_Errhandler handler : real) g_next.MPI_Errhandler_free(&handler);
}

namespace {

/// The mode of tests: objects are made anew by MPIX_Checkpoint, and in front of each so many
/// collectives of MPI_COMM_WORLD.
struct TestMode {
  bool on = false, reports = false;
  uint64_t collectives = 0;  ///< 0: never
};
TestMode g_mode;

/// Collective over all ranks. Returns false where no checkpoint could be taken.
bool remake(LayerRank& rank, bool talks) {
  if (!come_to_rest(rank, talks)) {
    ++rank.refused;
    return false;
  }
  at_rest(rank);
  ++rank.remade;
  return true;
}

}  // namespace

void at_rest(LayerRank& rank) {
  rank.quiet = true;
  PredefinedComms predefined;
  describe_objects(rank, &predefined);
  g_next.MPI_Barrier(rank.layer);
  discard_objects(rank);
  remake_objects(rank, predefined);
  rank.quiet = false;
  release_freed_handlers(rank);
  g_next.MPI_Barrier(rank.layer);
}

void read_mode(const char* text) {
  constexpr const char kRemake[] = "remake";
  if (!text || std::strncmp(text, kRemake, sizeof kRemake - 1) != 0) return;
  g_mode.on = true;
  text += sizeof kRemake - 1;
  if (*text == ':') g_mode.collectives = std::strtoull(text + 1, nullptr, 10);
  g_mode.reports = std::strstr(text, ",report");
}

void report_remade(const LayerRank& rank) {
  if (!g_mode.reports || rank.world_rank != 0) return;
  dprintf(STDERR_FILENO,
          "fgmpi-checkpoint: all objects were made anew %llu times; refused %llu times\n",
          static_cast<unsigned long long>(rank.remade),
          static_cast<unsigned long long>(rank.refused));
}

void before_collective(LayerRank& rank, MPI_Comm comm) {
  if (g_mode.collectives == 0 || comm != MPI_COMM_WORLD || !rank.initialised || rank.quiet) return;
  if (++rank.before_remake % g_mode.collectives == 0) remake(rank, false);
}

namespace {

int take_checkpoint(MPI_Comm comm, int* flag) {
  LayerRank* rank = current_rank();
  if (!rank || !rank->initialised || comm != MPI_COMM_WORLD) return MPI_ERR_COMM;
  if (!flag) return MPI_ERR_ARG;
  *flag = 0;
  return g_mode.on && remake(*rank, true) ? MPI_SUCCESS : MPI_ERR_UNSUPPORTED_OPERATION;
}

}  // namespace
}  // namespace fgmpi::checkpoint

EXPORT int MPIX_Checkpoint(MPI_Comm comm, int* flag);
EXPORT int MPIX_Checkpoint(MPI_Comm comm, int* flag) {
  return fgmpi::checkpoint::take_checkpoint(comm, flag);
}
