// All objects of a rank: they are described in terms of the job, thrown away, and made again.
#include <algorithm>

#include "checkpoint/here.h"
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
  describe_files(rank);
  describe_windows(rank);
  describe_sessions(rank);
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
    if (request->outcome) describe_error(request->outcome.get());
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
  drop_objects_here(rank);
  discard_files(rank);
  discard_windows(rank);
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
  discard_sessions(rank);
  free_own_comms(rank);
  if (rank.buffer.address) {
    void* address = nullptr;
    MPI_Count bytes = 0;
    g_next.MPI_Buffer_detach_c(&address, &bytes);
  }
}

void resume_requests(LayerRank& rank) {
  for (auto [handle, request] : requests_by(rank, &VirtualRequest::order)) {
    if (request->outcome && rank.begins_again) remake_error(request->outcome.get());
    if (request->outcome && !request->is_complete) make_complete(request);
    if (!request->withdrawn) continue;
    request->withdrawn = false;
    // A message was taken in since.
    if (take_stored(rank, request)) continue;
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
  remake_sessions(rank);
  rank.groups.for_each(
      [&](MPI_Group, VirtualGroup* group) { group->real = group_of(rank, group->world_ranks); });
  rank.types.for_each([&](MPI_Datatype, VirtualType* type) { remake_type(rank, type); });
  rank.ops.for_each([](MPI_Op, VirtualCallbacks* op) { make_operation(op->calls, &op->real); });
  for (VirtualComm* comm : comms_by_key(rank)) remake_comm(rank, comm);
  restore_extras(rank, MPI_COMM_WORLD, predefined.world);
  restore_extras(rank, MPI_COMM_SELF, predefined.self);
  remake_files(rank);
  remake_windows(rank);
  remake_requests(rank);
}

void release_freed_handlers(LayerRank& rank) {
  std::vector<MPI_Errhandler> real;
  rank.errhandlers.for_each([&](MPI_Errhandler, const VirtualCallbacks* handler) {
    if (is_only_in_use(*handler)) real.push_back(handler->real);
  });
  for (MPI_Errhandler handler : real) g_next.MPI_Errhandler_free(&handler);
}

}  // namespace fgmpi::checkpoint
