// The load of this process on the board, and the question of a rank where it should go on.
#include "mpi/tools/balance.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

#include "balance/board.h"
#include "balance/decision.h"
#include "base/checkpoint_link.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/error_line.h"
#include "ch4-av-rankmap/av.h"
#include "ch4-av-rankmap/hosts.h"
#include "comm/comm.h"
#include "proclet-sched/coroutine/rank_clock.h"
#include "proclet-sched/coroutine/ready_ranks.h"
#include "proclet-sched/threads/threads.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::mpi {
namespace {

using balance::LoadBoard;
using balance::ProcessLine;
using balance::RankLoad;
constexpr auto kRelaxed = std::memory_order_relaxed;

/// So many ready ranks are looked at.
constexpr uint32_t kMostReady = 64;
/// A rank or process that has not run for long is expected to run for this part of what others of
/// its process have run for lately.
constexpr uint32_t kUnknownPart = 4;

/// Lasting loads are compared so often (ns), which moves one rank at most; the clock is read for
/// that once in so many switches.
constexpr int64_t kBetweenPlans = 4'000'000;
constexpr uint64_t kSwitchesBetweenPlans = 8;

struct Balance {
  LoadBoard board;
  std::vector<uint32_t> others;  ///< the other processes of the host
  void (*sleep)(int64_t) = nullptr;
  uint64_t idle_switches = 0;  ///< switches when the process has become idle
  int64_t idle_since = 0;
  uint32_t claimed = balance::kStays;  ///< the process that has been taken at its word last
  uint32_t away = 0;                   ///< ranks of this process that are in others
  bool asks_ahead = false;             ///< it has asked while its last ready rank runs
  /// Where ranks go on, until the time at which it is over.
  balance::Grant grant;
  int64_t grant_ends = 0;
  int64_t begins = 0;      ///< ranks move from then on: before, loads are those of few runs
  int64_t plan_due = 0;    ///< when lasting loads are compared next
  uint64_t next_plan = 0;  ///< the clock is read at this number of switches
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
  g_balance->asks_ahead = false;
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

void use_board() {
  g_balance->begins = now_ns() + balance::kWindow;
  sched::measure_ranks(note_run);
}

int64_t expected_burst(const RankLoad& rank) {
  return std::max(rank.burst.load(kRelaxed), own_line().burst.load(kRelaxed) / kUnknownPart);
}

/// The ranks that are ready here.
struct ReadyRanks {
  std::array<sched::Proclet*, kMostReady> ranks;
  uint32_t n;
  ReadyRanks() : n(sched::list_ready_ranks(ranks.data(), kMostReady)) {}
  /// The sum of what those are expected to run for whose world rank passes.
  template <class Passes>
  int64_t sum(Passes passes) const {
    int64_t sum = 0;
    for (uint32_t i = 0; i < n; ++i)
      if (ranks[i]->slot < g_av.world_size() && passes(ranks[i]))
        sum += expected_burst(entry_of(ranks[i]));
    return sum;
  }
};

/// How much rather a rank would be there than here: where those are to whom it sends, and its home,
/// as calls by a deputy cost more.
int score_of(const sched::Proclet* p, uint32_t there) {
  constexpr int kHome = 2;
  const RankLoad& rank = entry_of(p);
  const uint32_t n = std::min(rank.drawn.load(kRelaxed), balance::kPartners);
  const auto value_of = [&](uint32_t process) {
    return process == there ? 1 : process == g_av.me() ? -1 : 0;
  };
  int score = kHome * value_of(g_av.process_of(p->slot));
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t partner = rank.partners[i].load(kRelaxed);
    const uint32_t place = g_balance->board.rank(partner).place.load(kRelaxed);
    score += value_of(place ? place - 1 : g_av.process_of(partner));
  }
  return score;
}

/// What the decision has to know of a running rank, by the lasting loads.
balance::RankAtCall describe_lasting(const sched::Proclet* p, int64_t now);
/// And by those of the last window.
balance::RankAtCall describe(const sched::Proclet* p, int64_t now) {
  const RankLoad& rank = entry_of(p);
  balance::RankAtCall out;
  out.burst = expected_burst(rank);
  out.share = rank.load.load(now);
  const int64_t came_with = rank.came_with.load(kRelaxed);
  out.has_moved = came_with != 0;
  out.computed_here = rank.computed.load(kRelaxed) - came_with;
  out.load = own_line().load.load(now);
  out.lasting_share = rank.load.lasting(now);
  out.lasting_load = own_line().load.lasting(now);
  return out;
}

balance::RankAtCall describe_lasting(const sched::Proclet* p, int64_t now) {
  balance::RankAtCall out = describe(p, now);
  out.share = out.lasting_share;
  out.load = out.lasting_load;
  return out;
}

/// The process whose load is always the least, if the rank evens out that and this one's; or its
/// home, where it is a visitor.
uint32_t choose_lasting(const sched::Proclet* p, int64_t now) {
  const balance::RankAtCall rank = describe_lasting(p, now);
  LoadBoard& board = g_balance->board;
  const uint32_t home = g_av.process_of(p->slot);
  if (home != g_av.me() && balance::goes_home(rank, board.process(home).load.lasting(now)))
    return home;
  uint32_t best = g_balance->others.front();
  int64_t least = INT64_MAX;
  for (const uint32_t other : g_balance->others)
    if (const int64_t load = board.process(other).load.lasting(now); load < least)
      best = other, least = load;
  return balance::evens_out(rank, least) ? best : balance::kStays;
}

/// Takes the process at its word: nobody else sends it a rank before it is idle again.
bool claim(uint32_t process) {
  uint32_t asks = 1;
  if (!g_balance->board.process(process).asks.compare_exchange_strong(asks, 0)) return false;
  g_balance->board.header().asking.fetch_sub(1);
  g_balance->claimed = process;
  return true;
}

/// A grant for this rank: the present one, or a new one.
bool find_grant(const sched::Proclet* p, int64_t now, const ReadyRanks& ready) {
  Balance& balance = *g_balance;
  balance::RankAtCall rank = describe(p, now);
  rank.backlog = ready.sum([](const sched::Proclet*) { return true; });
  if (now < balance.begins) return false;
  if (now >= balance.grant_ends) balance.grant.ns = 0;
  if (balance::fits(rank, balance.grant)) return true;
  std::vector<balance::OtherProcess> asking;
  for (const uint32_t other : balance.others) {
    const ProcessLine& line = balance.board.process(other);
    if (line.asks.load(kRelaxed) != 0)
      asking.push_back({other, line.load.load(now), now - line.idle_since.load(kRelaxed),
                        line.load.lasting(now)});
  }
  const balance::Grant grant = balance::grant_move(rank, asking);
  if (grant.process == balance::kStays || !claim(grant.process)) return false;
  balance.grant = grant;
  // Ranks that were ready then run meanwhile, and the grant was made for these.
  balance.grant_ends = now + grant.ns / 2;
  return true;
}

/// The process where the rank goes on. May switch: others that would rather go are let run first.
uint32_t choose_process(const sched::Proclet* p) {
  Balance& balance = *g_balance;
  for (const bool may_wait : {true, false}) {
    const ReadyRanks ready;
    const int64_t now = now_ns();
    if (!find_grant(p, now, ready)) break;
    const uint32_t there = balance.grant.process;
    const int score = score_of(p, there);
    const int64_t rather = ready.sum([&](const sched::Proclet* other) {
      balance::RankAtCall asked = describe(other, now);
      asked.backlog = balance::kMoveCost;  // this rank is ready behind it
      return score_of(other, there) > score && balance::fits(asked, balance.grant);
    });
    if (balance::is_among_first(balance.grant, rather)) {
      balance.grant.take(describe(p, now));
      return there;
    }
    if (may_wait) sched::yield();
  }
  return balance::kStays;
}

/// Is this the last rank that is ready, and does it compute for long? Then the process will be idle
/// behind it.
void ask_ahead(const sched::Proclet* p) {
  if (!sched::is_none_ready()) {
    if (g_balance->asks_ahead) stop_asking();
    return;
  }
  const int64_t burst = expected_burst(entry_of(p));
  if (burst < balance::kMoveCost || g_balance->asks_ahead) return;
  g_balance->asks_ahead = true;
  ask(now_ns() + burst);
}

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
  g_balance->claimed = balance::kStays;
  here.moves.store(here.moves.load(kRelaxed) + 1, kRelaxed);
  if (g_av.process_of(world_rank) == to)
    here.homecomings.store(here.homecomings.load(kRelaxed) + 1, kRelaxed);
}

void note_homecoming() {
  if (g_balance && g_balance->away > 0) --g_balance->away;
}

void tell_balance() {
  Balance* const balance = g_balance;
  if (!balance || !balance->board.exists() || balance->others.front() < g_av.me() ||
      !environment::sums_up_balance())
    return;
  std::vector<uint32_t> processes = balance->others;
  processes.push_back(g_av.me());
  int64_t idle = 0, busiest = 0, at_home = 0;
  uint32_t moves = 0, homecomings = 0;
  for (const uint32_t p : processes) {
    const ProcessLine& line = balance->board.process(p);
    idle += line.idle.load(kRelaxed);
    busiest = std::max(busiest, line.computed.load(kRelaxed));
    moves += line.moves.load(kRelaxed);
    homecomings += line.homecomings.load(kRelaxed);
    int64_t own = 0;
    for (uint32_t i = 0; i < g_av.count(p); ++i)
      own += balance->board.rank(g_av.first(p) + i).computed.load(kRelaxed);
    at_home = std::max(at_home, own);
  }
  const auto seconds = [](int64_t ns) { return static_cast<double>(ns) * 1e-9; };
  std::fprintf(stderr,
               "fgmpi: balance of %zu processes: ranks have moved %u times, %u of these home; the "
               "busiest process has run ranks for %.3f s, where its own ranks ran it would have "
               "been %.3f s; processes were idle for %.3f s in all\n",
               processes.size(), moves, homecomings, seconds(busiest), seconds(at_home),
               seconds(idle));
}

}  // namespace fgmpi::mpi

using namespace fgmpi;

uint32_t fgmpi_choose_process() {
  using mpi::g_balance;
  const sched::Proclet* p = sched::current();
  if (!g_balance || !g_balance->board.exists() || !p || p->kind != sched::ProcletKind::kRank ||
      sched::on_host_stack() || sched::threads_enabled() || p->slot >= g_av.world_size())
    return checkpoint::kStaysHere;
  if (g_balance->away > 0 && mpi::expected_burst(mpi::entry_of(p)) >= balance::kMoveCost)
    sched::run_helpers_first();
  mpi::ask_ahead(p);
  if (const uint64_t switches = sched::switch_count(); switches >= g_balance->next_plan) {
    const int64_t now = now_ns();
    g_balance->next_plan = switches + mpi::kSwitchesBetweenPlans;
    if (now >= g_balance->plan_due) {
      g_balance->plan_due = now + mpi::kBetweenPlans;
      if (const uint32_t to = mpi::choose_lasting(p, now); to != balance::kStays) return to;
    }
  }
  const bool asked = g_balance->board.header().asking.load(mpi::kRelaxed) != 0;
  if (!asked && g_balance->grant.ns <= 0) return checkpoint::kStaysHere;
  return mpi::choose_process(p);
}

void fgmpi_note_partner(int comm, int destination) {
  using mpi::g_balance;
  const sched::Proclet* p = sched::current();
  if (!g_balance || !g_balance->board.exists() || !p || p->slot >= g_av.world_size()) return;
  const comm::Comm* found = comm::find_inside(comm);
  if (!found || destination < 0 || destination >= found->shared->peers().size()) return;
  const auto partner = static_cast<uint32_t>(found->shared->peers().world_of(destination));
  if (partner >= g_av.world_size()) return;
  balance::RankLoad& rank = mpi::entry_of(p);
  const uint32_t drawn = rank.drawn.load(mpi::kRelaxed);
  rank.partners[drawn % balance::kPartners].store(partner, mpi::kRelaxed);
  rank.drawn.store(drawn + 1, mpi::kRelaxed);
}

void fgmpi_decline_process(uint32_t process) {
  using mpi::g_balance;
  balance::RankLoad& rank = mpi::entry_of(sched::current());
  rank.came_with.store(std::max<int64_t>(rank.computed.load(mpi::kRelaxed), 1), mpi::kRelaxed);
  if (g_balance->claimed != process) return;
  g_balance->claimed = balance::kStays;
  if (g_balance->board.process(process).asks.exchange(1) == 0)
    g_balance->board.header().asking.fetch_add(1);
}
