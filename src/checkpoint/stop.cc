// Stop points: what a rank does in a round of stops. The rules are in stop.h.
#include "checkpoint/stop.h"

#include <atomic>
#include <cstring>

#include "checkpoint/balance.h"
#include "checkpoint/deputy.h"
#include "checkpoint/moves.h"
#include "checkpoint/rest.h"
#include "checkpoint/rounds.h"
#include "checkpoint/tool_extensions.h"
#include "checkpoint/wrappers.h"

namespace fgmpi::checkpoint {
namespace {

using Place = LayerRank::Place;

bool is_to_stop(const LayerRank& rank) {
  return rank.round != g_round && g_process_round.state() != RoundState::kOver;
}

/// May a rank that is to stop go on?
bool may_go_on(const LayerRank& rank) {
  return g_process_round.state() == RoundState::kStopping &&
         (rank.released || g_process_round.is_behind(rank));
}

int begin_pause(void* wait, void* argument) {
  auto* rank = static_cast<LayerRank*>(argument);
  if (!is_to_stop(*rank) || g_process_round.state() == RoundState::kRest || may_go_on(*rank))
    return 0;
  rank->place = Place::kPauses;
  rank->wait = wait;
  return 1;
}

int begin_wait(void* wait, void* argument) {
  auto* rank = static_cast<LayerRank*>(argument);
  if (is_to_stop(*rank) && g_process_round.state() == RoundState::kRest) return 0;
  rank->place = Place::kWaits;
  rank->wait = wait;
  return 1;
}

void run(LayerRank& rank) {
  rank.place = Place::kRuns;
  rank.wait = nullptr;
}

void rest(LayerRank& rank) {
  const uint32_t round = g_round;
  // Where the rank goes on in another process, add_rank() has said which round comes next: one may
  // have begun there already, before all ranks had made their objects.
  if (rest_once(rank, has_folder(), is_asked_by_time()) == Saved::kRestarted) return;
  rank.round = round;
  g_process_round.finish(rank);
}

/// A rank that may stop: MPI has begun for it, and none of its functions is called by MPI.
bool can_stop(const LayerRank& rank) {
  return rank.initialised && rank.called_by_mpi == 0 && !rank.quiet;
}

}  // namespace

void stop_here(LayerRank& rank, const char* call, const NextCollective& next) {
  if (!can_stop(rank)) return;
  if (g_moves_at_random) return move_at_random(rank, call);
  if (g_balances) return static_cast<void>(go_home_for(rank, call));
  rank.call = call;
  rank.next = next;
  while (is_to_stop(rank)) {
    if (g_process_round.state() == RoundState::kRest) {
      rest(rank);
    } else if (may_go_on(rank)) {
      g_process_round.note_collective(rank);
      rank.released = false;
      return;
    } else {
      MPIX_Tool_await(call, 0, 0, nullptr, begin_pause, &rank);
      run(rank);
    }
  }
  rank.round = g_round;
}

bool is_awaited(LayerRank& rank, const char* call, bool all, int n, const MPI_Request* real) {
  if (n <= 0 || !real || !can_stop(rank)) return true;
  rank.call = call;
  rank.next = {};
  const bool complete = g_await(call, all, n, real, begin_wait, &rank);
  run(rank);
  return complete;
}

bool await(LayerRank& rank, const char* call, bool all, int n, const MPI_Request* real) {
  if (is_awaited(rank, call, all, n, real)) return true;
  stop_here(rank, call, {});
  return false;
}

bool await_message(LayerRank& rank, const char* call, int source, int tag, MPI_Comm real) {
  if (!can_stop(rank)) return true;
  rank.call = call;
  rank.next = {};
  const bool found = MPIX_Tool_await_message(call, source, tag, real, begin_wait, &rank);
  run(rank);
  if (found) return true;
  stop_here(rank, call, {});
  return false;
}

// ---- The functions that MPI calls

namespace {

std::atomic<bool> g_asked{false};

void called_back() {
  if (g_asked.exchange(false)) g_process_round.ask();
}

void arrived(int from, const void* data, int bytes) {
  RoundMessage message;
  if (bytes < static_cast<int>(sizeof message)) return;
  std::memcpy(&message, data, sizeof message);
  if (message.bytes + sizeof message != static_cast<size_t>(bytes)) return;
  g_process_round.handle(from, message, static_cast<const char*>(data) + sizeof message);
  // All ranks may wait already: then tell_if_parked() is called again.
  MPIX_Tool_post(called_back);
}

}  // namespace

void follow_stops() {
  if (!MPIX_Tool_handlers || !MPIX_Tool_post) return;
  MPIX_Tool_handlers(arrived, nullptr, nullptr);
  MPIX_Tool_parked([] { g_process_round.tell_if_parked(); }, nullptr);
}

void set_handlers_of_tool(void (*deadlock)(), void (*fatal)(int, const char*)) {
  if (MPIX_Tool_handlers) MPIX_Tool_handlers(arrived, deadlock, fatal);
}

void ask_for_stop() {
  g_asked.store(true);
  MPIX_Tool_post(called_back);
}

void add_rank(LayerRank& rank) { g_process_round.add(&rank); }
void remove_rank(LayerRank& rank) { g_process_round.remove(&rank); }

}  // namespace fgmpi::checkpoint
