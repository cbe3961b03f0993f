// How a rank leaves its process, and what keeps it.
#include "checkpoint/moves.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/environment.h"
#include "base/hash.h"
#include "checkpoint/balance.h"
#include "checkpoint/deputy.h"
#include "checkpoint/here.h"
#include "checkpoint/rest.h"
#include "checkpoint/rounds.h"
#include "checkpoint/stop.h"
#include "checkpoint/wrappers.h"

#pragma weak fgmpi_has_more_messages
#pragma weak fgmpi_move_rank
#pragma weak fgmpi_process_slots
#pragma weak fgmpi_why_rank_stays

namespace fgmpi::checkpoint {

bool g_moves = false, g_moves_at_random = false;

namespace {

uint64_t g_random_seed = 0;

ProcessSlots slots_here() {
  const char* reason = nullptr;
  return fgmpi_process_slots(&reason);
}

/// Does MPI have this request where the rank runs, and is it under way?
bool is_under_way_here(const VirtualRequest& request) {
  return request.active && !request.outcome && !request.withdrawn && !is_at_home(request.real);
}

bool has_lost_comm(const LayerRank& rank, const VirtualRequest& request) {
  const MPI_Comm comm = comm_of(request);
  return is_virtual(comm) && !rank.comms.find(comm);
}

const char* reason_of_request(const LayerRank& rank, const VirtualRequest& request,
                              bool goes_home) {
  if (request.persistent && !is_at_home(request.persistent_real))
    return "it has a persistent request of messages";
  // At home MPI calls the function of the program while the rank does something else.
  if (!goes_home && is_virtual(op_of(request)) && (request.persistent || !request.outcome) &&
      is_at_home(request.real))
    return "a reduction with an operation of the program is under way";
  if (!is_under_way_here(request)) return nullptr;
  if (kPending[request.call] == Pending::kWithdrawn) {
    if (has_lost_comm(rank, request))
      return "a receive is pending on a communicator that was freed";
    if (has_own_type(request) || request.staged)
      return "a receive is pending with an array section of Fortran that is not contiguous";
    return nullptr;
  }
  return request.sends ? "a send is under way" : "a request is under way";
}

const char* reason_against(const LayerRank& rank, bool goes_home) {
  if (!fgmpi_move_rank || !rank.initialised || rank.called_by_mpi > 0 || rank.quiet)
    return "a function of MPI calls it";
  if (rank.other_jobs && !goes_home) return "it has communicated with another job";
  if (rank.comm_buffers || rank.session_buffers || rank.buffer.address)
    return "it has attached a buffer";
  if (!rank.representations.empty()) return "it has registered a data representation";
  if (rank.kept_by_calls > 0) return "it is in a call of Fortran with an array section";
  const char* reason = nullptr;
  rank.requests.for_each([&](MPI_Request, const VirtualRequest* request) {
    if (!reason) reason = reason_of_request(rank, *request, goes_home);
  });
  rank.messages.for_each([&](MPI_Message, const VirtualMessage* message) {
    if (!message->stored) reason = "it has matched a message and not received it";
  });
  return reason;
}

/// MPI's requests that stand for operations which have ended.
void drop_complete(LayerRank& rank) {
  rank.requests.for_each([](MPI_Request, VirtualRequest* request) {
    if (!request->is_complete || is_at_home(request->real)) return;
    g_mpi.MPI_Request_free(&request->real);
    request->real = MPI_REQUEST_NULL;
    request->is_complete = false;
  });
}

}  // namespace

void let_ranks_move() {
  if (!environment::lets_ranks_move() || !fgmpi_move_rank) return;
  const char* text = environment::text(environment::kBalance);
  use_deputies();
  g_moves = true;
  if (environment::balances_load()) return start_balance(&g_next);
  g_random_seed = std::strtoull(text + 7, nullptr, 10);
  g_moves_at_random = true;
}

void keep_error(int code, const char* text) {
  LayerRank* rank = current_rank();
  if (!rank || !rank->errors) return;
  KeptErrors& errors = *rank->errors;
  KeptErrors::KeptError& kept = errors.latest[errors.next++ % std::size(errors.latest)];
  kept.code = code;
  std::snprintf(kept.text, sizeof kept.text, "%s", text);
}

const char* text_of_error(int code) {
  const LayerRank* rank = current_rank();
  if (!rank || !rank->errors || code == MPI_SUCCESS) return nullptr;
  for (const KeptErrors::KeptError& kept : rank->errors->latest)
    if (kept.code == code) return kept.text;
  return nullptr;
}

void note_home(LayerRank& rank) {
  if (g_moves) {
    const ProcessSlots here = slots_here();
    rank.home = static_cast<uint32_t>(here.process);
    rank.errors = std::make_unique<KeptErrors>();
    answer_as_home(rank, here);
  }
  if (g_moves_at_random) rank.round = ~g_round;
}

bool is_home(const LayerRank& rank) { return slots_here().process == rank.home; }

namespace {

/// Each request and each message that waits for the rank is work for a move. With more of either
/// than this a rank stays where it is, unless it has to go home: it would move all of them again
/// and again while it works through them.
constexpr uint32_t kMostToCarry = 1000;

const char* go_to(LayerRank& rank, uint32_t process) {
  advance_requests(rank, true);
  const char* reason = reason_against(rank, process == rank.home);
  if (!reason) {
    withdraw_receives(rank);
    drop_complete(rank);
    drop_objects_here(rank);
    note_process_left(rank);
    const auto from = static_cast<uint32_t>(slots_here().process);
    reason = fgmpi_move_rank(process);
    note_process_entered(rank);
    if (!reason) tell_tool_of_move(from, process);
    if (!reason) rank.has_deputy = process != rank.home;
    // A rank that is away looks in front of calls whether it has to be at home for them.
    if (!reason && g_balances) rank.round = rank.has_deputy ? ~g_round : g_round;
    if (!reason && rank.has_deputy) copy_predefined_errhandlers();
  }
  resume_requests(rank);
  return reason;
}

}  // namespace

const char* move_to(LayerRank& rank, uint32_t process) {
  if (rank.initialised && rank.called_by_mpi == 0) {
    if (rank.requests.size() > kMostToCarry) return "it has many requests";
    if (fgmpi_has_more_messages(kMostToCarry)) return "many messages wait for it";
  }
  return go_to(rank, process);
}

void forget_requests_here(LayerRank& rank) {
  if (!rank.has_deputy) return;
  take_in_matched(rank);
  for (auto [handle, request] : requests_by(rank, &VirtualRequest::order)) {
    if (request->persistent && !request->active && !is_at_home(request->persistent_real)) {
      g_mpi.MPI_Request_free(&request->persistent_real);
    } else if (request->freed && is_under_way_here(*request) && has_lost_comm(rank, *request)) {
      g_mpi.MPI_Cancel(&request->real);
      g_mpi.MPI_Request_free(&request->real);
      --rank.freed_requests;
    } else if (!is_generalized(*request)) {
      continue;
    }
    remove_request(rank, handle);
  }
}

namespace {

using Clock = std::chrono::steady_clock;

/// Goes home as soon as nothing keeps the rank any more, but gives up after this time. Returns
/// nullptr at home, else the reason.
const char* try_to_move_home(LayerRank& rank, Clock::duration patience) {
  const Clock::time_point end = Clock::now() + patience;
  const char* reason = nullptr;
  while (g_moves && rank.has_deputy && (reason = go_to(rank, rank.home)) && Clock::now() < end) {
    int flag = 0;
    g_mpi.MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  }
  return reason;
}

bool has_send_under_way(const LayerRank& rank) {
  bool any = false;
  rank.requests.for_each([&](MPI_Request, const VirtualRequest* request) {
    any |= request->sends && !request->persistent && is_under_way_here(*request);
  });
  return any;
}

}  // namespace

void move_home(LayerRank& rank) {
  while (g_moves && rank.has_deputy) {
    if (!try_to_move_home(rank, std::chrono::seconds(1))) return;
    const char* lasting = fgmpi_why_rank_stays();
    if (!lasting) continue;  // its messages, which come and go
    dprintf(STDERR_FILENO,
            "fgmpi: rank %d has to be in its home process for this call, and cannot go there: %s\n",
            rank.world_rank, lasting);
    g_mpi.MPI_Abort(MPI_COMM_WORLD, MPI_ERR_OTHER);
  }
}

void go_home_to_end() {
  LayerRank* rank = current_rank();
  if (!rank || !rank->initialised || rank->called_by_mpi > 0) return;
  forget_requests_here(*rank);
  try_to_move_home(*rank, std::chrono::seconds(5));
}

const char* try_to_go_home() {
  LayerRank* rank = current_rank();
  if (!g_moves || !rank || !rank->has_deputy) return nullptr;
  const char* reason = go_to(*rank, rank->home);
  if (!reason) return nullptr;
  // What keeps the rank beside its sends are things that only the rank itself can end.
  const char* lasting = reason_against(*rank, true);
  if (lasting && !has_send_under_way(*rank)) return lasting;
  return try_to_move_home(*rank, std::chrono::minutes(1));
}

void go_home_for_objects() {
  LayerRank* rank = current_rank();
  if (rank && rank->initialised && rank->called_by_mpi == 0) move_home(*rank);
}

namespace {

/// Does the call make something that keeps the rank at home from then on?
bool is_made_at_home(std::string_view call) {
  for (const std::string_view words :
       {"attach", "spawn", "_accept", "_connect", "_join", "_datarep"})
    if (call.find(words) != call.npos) return true;
  return false;
}

/// Is it a reduction that goes on behind the call?
bool reduces_later(std::string_view call) {
  if (!call.starts_with("MPI_I") && call.find("_init") == call.npos) return false;
  for (const std::string_view words : {"reduce", "scan"})
    if (call.find(words) != call.npos) return true;
  return false;
}

bool has_operations(const LayerRank& rank) {
  bool any = false;
  rank.ops.for_each([&](MPI_Op, const VirtualCallbacks*) { any = true; });
  return any;
}

}  // namespace

bool go_home_for(LayerRank& rank, const char* call) {
  if (!is_made_at_home(call) && !(reduces_later(call) && has_operations(rank))) return false;
  move_home(rank);
  return true;
}

void move_at_random(LayerRank& rank, const char* call) {
  if (go_home_for(rank, call)) return;
  rank.random_state =
      mix(rank.random_state, g_random_seed + static_cast<uint64_t>(rank.world_rank));
  if (rank.random_state % 4 != 0) return;
  const ProcessSlots here = slots_here();
  if (here.count == 0) return;
  const auto process = static_cast<uint32_t>((rank.random_state >> 8) % here.processes);
  if (process != here.process) move_to(rank, process);
}

}  // namespace fgmpi::checkpoint
