// What comes before a checkpoint: all ranks agree that it can be taken, what is under way ends or
// is withdrawn, and messages are taken in.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/hash.h"
#include "checkpoint/deputy.h"
#include "checkpoint/rest.h"
#include "checkpoint/wrappers.h"

namespace fgmpi::checkpoint {
namespace {

constexpr int kPatience = 20;  ///< seconds for messages under way to arrive

// ---- What cannot be carried

}  // namespace

bool has_own_type(const VirtualRequest& request) {
  for (uint32_t left = kTypeArguments[request.call]; left != 0; left &= left - 1) {
    const auto type = static_cast<uint32_t>(request.words[__builtin_ctz(left)]);
    if (type >> 30 == 2) return true;  // an object of MPI's (objects.h)
  }
  return false;
}

namespace {

std::string reason_of_requests(const LayerRank& rank) {
  std::string reason;
  rank.requests.for_each([&](MPI_Request, const VirtualRequest* request) {
    const MPI_Op op = op_of(*request);
    if (request->persistent && is_virtual(op) && !rank.ops.find(op))
      reason = "a persistent request has an operation that was freed";
    if (request->persistent && is_virtual(comm_of(*request)) && !rank.comms.find(comm_of(*request)))
      reason = "a persistent request has a communicator that was freed";
    const bool open = request->active && !request->outcome;
    const bool begins_again =
        request->persistent || (open && kPending[request->call] == Pending::kWithdrawn);
    if ((begins_again && has_own_type(*request)) || (request->persistent && request->staged))
      reason = std::string("a request of ") + kCallNames[request->call] +
               " has an array section of Fortran that is not contiguous";
    if (!open) return;
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
  if (rank.opened_groups > 0)
    return "it has opened a group of collectives (MPIX_Bcast_open_group and its like)";
  if (rank.kept_by_calls > 0)
    return "it is in a call of Fortran with an array section that is not contiguous";
  if (rank.other_jobs) return "it has communicated with another job";
  if (rank.comm_buffers) return "it has attached a buffer to a communicator";
  if (rank.session_buffers) return "it has attached a buffer to a session";
  if (rank.own_errors) return "it has added error classes, codes or texts";
  for (std::string reason : {reason_of_windows(rank), reason_of_files(rank)})
    if (!reason.empty()) return reason;
  bool deep = false;
  rank.types.for_each(
      [&](MPI_Datatype, const VirtualType* type) { deep = deep || is_too_deep(type->real); });
  if (deep) return "it has a datatype that is nested more than 100 times";
  return reason_of_requests(rank);
}

/// A number whose sum over all ranks is 0 where the members of each communicator have begun the
/// same number of collectives on it, or have freed it (and with a chance of 2^-64 elsewhere).
/// Communicators without any have no part in it, since not all members may have their handles yet.
uint64_t collectives_begun(LayerRank& rank) {
  uint64_t sum = rank.freed_sum;
  const auto add = [&](uint64_t key, const BegunCollectives& begun, uint64_t weight) {
    if (begun.blocking > 0) sum += mix(key, begun.blocking) * weight;
    if (begun.nonblocking > 0) sum += mix(mix(key, kNonblockingOrder), begun.nonblocking) * weight;
  };
  const auto add_shared = [&](int, const SharedObject* object) {
    if (object->collectives > 0)
      sum += mix(number_of(object->key), object->collectives) *
             weight_of(object->rank == 0, object->size);
  };
  rank.files.for_each(add_shared);
  rank.windows.for_each(add_shared);
  add(kWorldKey, rank.world_begun, rank.world_weight);
  rank.comms.for_each(
      [&](MPI_Comm, const VirtualComm* comm) { add(comm->key, comm->begun, comm->weight); });
  rank.requests.for_each([&](MPI_Request, const VirtualRequest* request) {
    sum += mix(request->key, request->starts) * request->weight;
  });
  return sum;
}

/// Do all ranks agree that a checkpoint can be taken? Else one says why not.
bool is_possible(LayerRank& rank, bool talks) {
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
        "fgmpi-checkpoint: no checkpoint is taken: not all members of a communicator, window or "
        "file have begun its latest collective operation\n");
  return first == INT32_MAX && all_begun == 0;
}

/// Do all ranks agree that this checkpoint is left out, since the time for it has come while the
/// one before is being written? One that somebody has asked for waits for that.
bool is_left_out(const LayerRank& rank, bool by_time) {
  int own[] = {by_time && rank.world_rank == 0, is_writing()}, any[2] = {};
  g_next.MPI_Allreduce(own, any, 2, MPI_INT, MPI_MAX, rank.layer);
  const bool left_out = any[0] && any[1];
  if (left_out && rank.world_rank == 0)
    dprintf(STDERR_FILENO,
            "fgmpi-checkpoint: no checkpoint is taken: the one before is still being written\n");
  return left_out;
}

// ---- What is under way

}  // namespace

std::vector<std::pair<MPI_Request, VirtualRequest*>> requests_by(const LayerRank& rank,
                                                                 uint64_t VirtualRequest::*number) {
  std::vector<std::pair<MPI_Request, VirtualRequest*>> list;
  rank.requests.for_each(
      [&](MPI_Request handle, VirtualRequest* request) { list.emplace_back(handle, request); });
  std::sort(list.begin(), list.end(),
            [&](const auto& a, const auto& b) { return a.second->*number < b.second->*number; });
  return list;
}

namespace {

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
  request->outcome = std::make_unique<RequestOutcome>(RequestOutcome{status, code, true, {}});
  if (request->persistent) request->real = request->persistent_real;
}

}  // namespace

void withdraw_receives(LayerRank& rank) {
  // The latest goes first: a message that arrives meanwhile must not match a receive behind one
  // that has been withdrawn.
  auto requests = requests_by(rank, &VirtualRequest::order);
  std::reverse(requests.begin(), requests.end());
  for (auto [handle, request] : requests) {
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

int64_t advance_requests(LayerRank& rank, bool here) {
  int64_t left = 0;
  for (auto [handle, request] : requests_by(rank, &VirtualRequest::order)) {
    if (!is_under_way(*request)) continue;
    if (here && (request->persistent || is_at_home(request->real) || is_generalized(*request)))
      continue;
    int flag = 0;
    MPI_Status status = {};
    MPI_Request real = request->real;
    const int code = g_next.MPI_Test(&real, &flag, &status);
    if (code != MPI_SUCCESS || flag)
      keep_outcome(rank, request, code, status);
    else
      ++left;
    if (here && request->outcome && request->freed) {
      --rank.freed_requests;
      remove_request(rank, handle);
    }
  }
  return left;
}

namespace {

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

}  // namespace

void take_in_matched(LayerRank& rank) {
  rank.messages.for_each([&](MPI_Message, VirtualMessage* message) {
    if (message->stored) return;
    message->stored = std::make_unique<StoredMessage>(
        receive_message(message->real, message->comm, message->status));
    message->real = MPI_MESSAGE_NULL;
  });
}

namespace {

/// Nothing is under way any more when this returns true. Collective over all ranks.
bool settle(LayerRank& rank) {
  withdraw_receives(rank);
  take_in_matched(rank);
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const int64_t left = advance_requests(rank, false);
    take_in_all(rank);
    const bool late = rank.world_rank == 0 &&
                      std::chrono::steady_clock::now() - begin > std::chrono::seconds(kPatience);
    int64_t own[] = {static_cast<int64_t>(rank.sent - rank.taken), left, late}, all[3] = {};
    g_next.MPI_Allreduce(own, all, 3, MPI_INT64_T, MPI_SUM, rank.layer);
    if (all[0] == 0 && all[1] == 0) {
      rank.freed_keys.clear();  // all members have freed these
      return true;
    }
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

}  // namespace

bool come_to_rest(LayerRank& rank, bool talks, bool by_time) {
  if (rank.layer == MPI_COMM_NULL) make_own_comms(rank);
  if (has_folder() && is_left_out(rank, by_time)) return false;
  if (!is_possible(rank, talks)) return false;
  if (settle(rank)) return true;
  resume_requests(rank);
  return false;
}

}  // namespace fgmpi::checkpoint
