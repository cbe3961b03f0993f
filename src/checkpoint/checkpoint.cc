// A checkpoint: the ranks stop, what is under way ends or is withdrawn, messages are taken in, and
// all objects are described in terms of the job. Here the objects are then thrown away and made
// again in the running job (FGMPI_CHECKPOINT=remake), which is what a restart does.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/hash.h"
#include "checkpoint/describe.h"
#include "checkpoint/wrappers.h"

namespace fgmpi::checkpoint {
namespace {

/// The mode of tests: objects are made anew by MPIX_Checkpoint, and in front of each so many
/// collectives of MPI_COMM_WORLD.
struct TestMode {
  bool on = false, reports = false;
  uint64_t collectives = 0;  ///< 0: never
};
TestMode g_mode;

constexpr int kPatience = 20;  ///< seconds for messages under way to arrive

// ---- What cannot be carried

std::string reason_of_requests(const LayerRank& rank) {
  std::string reason;
  rank.requests.for_each([&](MPI_Request, const VirtualRequest* request) {
    const MPI_Op op = op_of(*request);
    if (request->persistent && is_virtual(op) && !rank.ops.find(op))
      reason = "a persistent request has an operation that was freed";
    if (request->persistent && is_virtual(comm_of(*request)) && !rank.comms.find(comm_of(*request)))
      reason = "a persistent request has a communicator that was freed";
    if (!request->active || request->outcome) return;
    if (kPending[request->call] == Pending::kRefused)
      reason = std::string("a request of ") + kCallNames[request->call] + " is under way";
    const MPI_Comm comm = comm_of(*request);
    if (kPending[request->call] == Pending::kWithdrawn && is_virtual(comm) &&
        !rank.comms.find(comm))
      reason = "a receive is pending on a communicator that was freed";
  });
  return reason;
}

/// Why no checkpoint can be taken of this rank; empty where it can.
std::string reason_against(const LayerRank& rank) {
  if (rank.windows > 0) return "it has a window (MPI_Win)";
  if (rank.files > 0) return "it has a file open (MPI_File)";
  if (rank.sessions > 0) return "it has a session";
  if (rank.opened_groups > 0)
    return "it has opened a group of collectives (MPIX_Bcast_open_group and its like)";
  if (rank.other_jobs) return "it has communicated with another job";
  if (rank.comm_buffers) return "it has attached a buffer to a communicator";
  if (rank.own_errors) return "it has added error classes, codes or texts";
  return reason_of_requests(rank);
}

/// A number whose sum over all ranks is 0 where the members of each communicator have begun the
/// same number of collectives on it (and with a chance of 2^-64 elsewhere).
uint64_t collectives_begun(const LayerRank& rank) {
  uint64_t sum = 0;
  const auto add = [&](MPI_Comm real, uint64_t key, uint64_t count) {
    int self = 0, size = 1;
    g_next.MPI_Comm_rank(real, &self);
    g_next.MPI_Comm_size(real, &size);
    sum += mix(key, count) * (self == 0 ? static_cast<uint64_t>(size) - 1 : ~uint64_t{0});
  };
  add(rank.layer, 0, rank.world_collectives);
  rank.comms.for_each([&](MPI_Comm, const VirtualComm* comm) {
    int inter = 0;
    g_next.MPI_Comm_test_inter(comm->real, &inter);
    if (!inter) add(comm->real, comm->key, comm->collectives);
  });
  return sum;
}

/// Do all ranks agree that a checkpoint can be taken? Else one says why not.
bool is_possible(const LayerRank& rank, bool talks) {
  const std::string reason = reason_against(rank);
  uint64_t begun = collectives_begun(rank), all_begun = 0;
  int refuses = reason.empty() ? INT32_MAX : rank.world_rank, first = INT32_MAX;
  g_next.MPI_Allreduce(&begun, &all_begun, 1, MPI_UINT64_T, MPI_SUM, rank.layer);
  g_next.MPI_Allreduce(&refuses, &first, 1, MPI_INT, MPI_MIN, rank.layer);
  if (talks && first == rank.world_rank)
    dprintf(STDERR_FILENO, "fgmpi-checkpoint: no checkpoint is taken of rank %d: %s\n", first,
            reason.c_str());
  if (talks && first == INT32_MAX && all_begun != 0 && rank.world_rank == 0)
    dprintf(
        STDERR_FILENO,
        "fgmpi-checkpoint: no checkpoint is taken: not all members of a communicator have begun "
        "its latest collective operation\n");
  return first == INT32_MAX && all_begun == 0;
}

// ---- What is under way

/// Requests in the order in which their operations began, or by another number of theirs.
std::vector<std::pair<MPI_Request, VirtualRequest*>> requests_by(const LayerRank& rank,
                                                                 uint64_t VirtualRequest::*number) {
  std::vector<std::pair<MPI_Request, VirtualRequest*>> list;
  rank.requests.for_each(
      [&](MPI_Request handle, VirtualRequest* request) { list.emplace_back(handle, request); });
  std::sort(list.begin(), list.end(),
            [&](const auto& a, const auto& b) { return a.second->*number < b.second->*number; });
  return list;
}

bool is_under_way(const VirtualRequest& request) {
  return request.active && !request.outcome && !request.withdrawn;
}

/// The operation has ended; the program learns of it later.
void keep_outcome(LayerRank& rank, VirtualRequest* request, int code, const MPI_Status& status) {
  if (request->receives) count_taken(rank, code, &status);
  if (request->made_at) {
    *request->made_at = add_comm(rank, request->made);
    request->made_at = nullptr;
  }
  request->outcome = std::make_unique<RequestOutcome>(RequestOutcome{status, code, true});
  if (request->persistent) request->real = request->persistent_real;
}

/// Takes receives back from MPI. Those that have a message already end.
void withdraw_receives(LayerRank& rank) {
  for (auto [handle, request] : requests_by(rank, &VirtualRequest::order)) {
    if (!is_under_way(*request) || kPending[request->call] != Pending::kWithdrawn) continue;
    int cancelled = 0;
    MPI_Status status = {};
    MPI_Request real = request->real;
    g_next.MPI_Cancel(&real);
    const int code = g_next.MPI_Wait(&real, &status);
    if (code == MPI_SUCCESS) g_next.MPI_Test_cancelled(&status, &cancelled);
    if (cancelled)
      request->withdrawn = true;
    else
      keep_outcome(rank, request, code, status);
  }
}

/// Returns the number of operations that have not ended.
int64_t advance_requests(LayerRank& rank) {
  int64_t left = 0;
  for (auto [handle, request] : requests_by(rank, &VirtualRequest::order)) {
    if (!is_under_way(*request)) continue;
    int flag = 0;
    MPI_Status status = {};
    MPI_Request real = request->real;
    const int code = g_next.MPI_Test(&real, &flag, &status);
    if (code != MPI_SUCCESS || flag)
      keep_outcome(rank, request, code, status);
    else
      ++left;
  }
  return left;
}

StoredMessage receive_message(MPI_Message real, MPI_Comm comm, MPI_Status status) {
  MPI_Count bytes = 0;
  g_next.MPI_Get_count_c(&status, MPI_BYTE, &bytes);
  StoredMessage message{comm, status.MPI_SOURCE, status.MPI_TAG,
                        std::vector<char>(static_cast<size_t>(bytes))};
  g_next.MPI_Mrecv_c(message.data.data(), bytes, MPI_PACKED, &real, &status);
  return message;
}

/// Takes in the messages that have arrived on a communicator.
void take_in(LayerRank& rank, MPI_Comm comm, MPI_Comm real) {
  for (;;) {
    int flag = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status = {};
    const int code =
        g_next.MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, real, &flag, &message, &status);
    if (code != MPI_SUCCESS || !flag) return;
    rank.stored.push_back(receive_message(message, comm, status));
    ++rank.taken;
  }
}

void take_in_all(LayerRank& rank) {
  take_in(rank, MPI_COMM_WORLD, MPI_COMM_WORLD);
  take_in(rank, MPI_COMM_SELF, MPI_COMM_SELF);
  rank.comms.for_each(
      [&](MPI_Comm handle, const VirtualComm* comm) { take_in(rank, handle, comm->real); });
}

/// Messages that the program has matched and not received (MPI_Mprobe).
void take_in_matched(LayerRank& rank) {
  rank.messages.for_each([&](MPI_Message, VirtualMessage* message) {
    if (message->stored) return;
    message->stored = std::make_unique<StoredMessage>(
        receive_message(message->real, message->comm, message->status));
    message->real = MPI_MESSAGE_NULL;
  });
}

/// Nothing is under way any more when this returns true. Collective over all ranks.
bool settle(LayerRank& rank) {
  withdraw_receives(rank);
  take_in_matched(rank);
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const int64_t left = advance_requests(rank);
    take_in_all(rank);
    const bool late = rank.world_rank == 0 &&
                      std::chrono::steady_clock::now() - begin > std::chrono::seconds(kPatience);
    int64_t own[] = {static_cast<int64_t>(rank.sent - rank.taken), left, late}, all[3] = {};
    g_next.MPI_Allreduce(own, all, 3, MPI_INT64_T, MPI_SUM, rank.layer);
    if (all[0] == 0 && all[1] == 0) return true;
    if (!all[2]) continue;
    if (rank.world_rank == 0)
      dprintf(STDERR_FILENO,
              "fgmpi-checkpoint: no checkpoint is taken: after %d s, %lld messages and %lld "
              "operations are "
              "under way\n",
              kPatience, static_cast<long long>(all[0]), static_cast<long long>(all[1]));
    return false;
  }
}

// ---- Objects

std::vector<VirtualComm*> comms_by_key(const LayerRank& rank) {
  std::vector<VirtualComm*> list;
  rank.comms.for_each([&](MPI_Comm, VirtualComm* comm) { list.push_back(comm); });
  std::sort(list.begin(), list.end(),
            [](const VirtualComm* a, const VirtualComm* b) { return a->key < b->key; });
  return list;
}

struct PredefinedComms {
  CommDescription world, self;
};

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

/// Receives that were withdrawn begin again, and MPI gets requests for operations that have ended.
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

void remake_requests(LayerRank& rank) {
  for (auto [handle, request] : requests_by(rank, &VirtualRequest::made_order)) {
    if (!request->persistent) continue;
    kRemakers[request->call](&rank, request);
    request->persistent_real = request->real;
  }
  resume_requests(rank);
}

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

/// Gives handlers back to MPI that the program has freed.
void release_freed_handlers(LayerRank& rank) {
  std::vector<MPI_Errhandler> real;
  rank.errhandlers.for_each([&](MPI_Errhandler, const VirtualCallbacks* handler) {
    if (is_only_in_use(*handler)) real.push_back(handler->real);
  });
  for (MPI_Errhandler handler : real) g_next.MPI_Errhandler_free(&handler);
}

/// Collective over all ranks. Returns false where no checkpoint could be taken.
bool remake(LayerRank& rank, bool talks) {
  if (rank.layer == MPI_COMM_NULL) make_own_comms(rank);
  if (!is_possible(rank, talks)) {
    ++rank.refused;
    return false;
  }
  if (!settle(rank)) {
    resume_requests(rank);
    ++rank.refused;
    return false;
  }
  rank.quiet = true;
  PredefinedComms predefined;
  describe_objects(rank, &predefined);
  g_next.MPI_Barrier(rank.layer);
  discard_objects(rank);
  remake_objects(rank, predefined);
  rank.quiet = false;
  release_freed_handlers(rank);
  g_next.MPI_Barrier(rank.layer);
  ++rank.remade;
  return true;
}

}  // namespace

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
