// The load of this process on the board.
#include "mpi/tools/balance.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "balance/board.h"
#include "base/clock.h"
#include "base/error_line.h"
#include "ch4-av-rankmap/av.h"
#include "ch4-av-rankmap/hosts.h"
#include "proclet-sched/coroutine/rank_clock.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::mpi {
namespace {

using balance::LoadBoard;
using balance::ProcessLine;
using balance::RankLoad;
constexpr auto kRelaxed = std::memory_order_relaxed;

struct Balance {
  LoadBoard board;
  std::vector<uint32_t> others;  ///< the other processes of the host
  void (*sleep)(int64_t) = nullptr;
  uint64_t idle_switches = 0;  ///< switches when the process has become idle
  int64_t idle_since = 0;
  uint32_t away = 0;  ///< ranks of this process that are in others
};
/// Made where ranks may move, and never destroyed.
Balance* g_balance = nullptr;

ProcessLine& own_line() { return g_balance->board.process(g_av.me()); }
RankLoad& entry_of(const sched::Proclet* rank) { return g_balance->board.rank(rank->slot); }

void add(std::atomic<int64_t>* sum, int64_t by) { sum->store(sum->load(kRelaxed) + by, kRelaxed); }

/// A proclet has run for so long.
void note_run(sched::Proclet* ran, int64_t now, int64_t ns) {
  ProcessLine& line = own_line();
  line.load.add(now, ns);
  if (ran->kind != sched::ProcletKind::kRank || ran->slot >= g_av.world_size()) return;
  RankLoad& rank = entry_of(ran);
  add(&line.computed, ns);
  rank.load.add(now, ns);
  add(&rank.computed, ns);
  rank.burst.store(balance::next_burst(rank.burst.load(kRelaxed), ns), kRelaxed);
  line.burst.store(balance::next_burst(line.burst.load(kRelaxed), ns), kRelaxed);
}

/// Asks other processes for ranks: this one has been idle since then, or will be.
void ask(int64_t idle_since) {
  own_line().idle_since.store(idle_since, kRelaxed);
  if (own_line().asks.exchange(1) == 0) g_balance->board.header().asking.fetch_add(1);
}

void stop_asking() {
  if (own_line().asks.exchange(0) == 1) g_balance->board.header().asking.fetch_sub(1);
}

/// The scheduler's hook: nothing is ready here.
void sleep(int64_t timeout_ns) {
  Balance& balance = *g_balance;
  if (!balance.board.exists()) return balance.sleep(timeout_ns);
  const int64_t began = now_ns();
  if (const uint64_t switches = sched::switch_count(); switches != balance.idle_switches) {
    balance.idle_switches = switches;
    balance.idle_since = began;
  }
  ask(balance.idle_since);
  balance.sleep(timeout_ns);
  stop_asking();
  add(&own_line().idle, now_ns() - began);
}

void use_board() { sched::measure_ranks(note_run); }

}  // namespace

void begin_balance(sched::Hooks* hooks) {
  auto* made = new Balance;
  for (uint32_t p = 0; p < g_av.processes(); ++p)
    if (p != g_av.me() && g_hosts.host_of(p) == g_hosts.host_of(g_av.me()))
      made->others.push_back(p);
  if (made->others.empty()) return delete made;
  g_balance = made;
  made->sleep = hooks->sleep;
  hooks->sleep = sleep;
  if (made->others.front() < g_av.me()) return;
  if (const Status status = made->board.make(g_av.processes(), g_av.world_size()); !status.ok())
    return write_error_line("FGMPI_BALANCE: ranks stay where they are: " + status.what());
  for (const uint32_t p : made->others)
    pt2pt::notify(p, pt2pt::kNoticeMove, kBoardNotice, &made->board.name(),
                  sizeof made->board.name());
  use_board();
}

bool open_board(const void* data, size_t bytes) {
  transport::MemoryObjectName name;
  if (!g_balance || g_balance->board.exists() || bytes != sizeof name) return false;
  std::memcpy(&name, data, sizeof name);
  const Status status = g_balance->board.open(name, g_av.processes(), g_av.world_size());
  if (status.ok())
    use_board();
  else
    write_error_line("FGMPI_BALANCE: ranks stay where they are: " + status.what());
  return true;
}

void note_departure(uint32_t world_rank, uint32_t to) {
  if (!g_balance || !g_balance->board.exists()) return;
  RankLoad& rank = g_balance->board.rank(world_rank);
  ProcessLine &here = own_line(), &there = g_balance->board.process(to);
  balance::WindowedTime::move(now_ns(), rank.load, &here.load, &there.load);
  rank.came_with.store(std::max<int64_t>(rank.computed.load(kRelaxed), 1), kRelaxed);
  if (g_av.process_of(world_rank) == g_av.me()) ++g_balance->away;
  rank.place.store(to + 1, kRelaxed);
  here.moves.store(here.moves.load(kRelaxed) + 1, kRelaxed);
  if (g_av.process_of(world_rank) == to)
    here.homecomings.store(here.homecomings.load(kRelaxed) + 1, kRelaxed);
}

void note_homecoming() {
  if (g_balance && g_balance->away > 0) --g_balance->away;
}

}  // namespace fgmpi::mpi
