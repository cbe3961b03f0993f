// The list of all tables with an entry a rank, from which the entries of a rank that ends
// are removed.

#include "comm/of_rank.h"

#include "comm/comm.h"
#include "proclet-sched/threads/threads.h"

namespace fgmpi::comm {
namespace {
/// Protects g_first, as the first call of any thread may make a table.
constinit PlainMutex g_rank_state_mutex;
constinit detail::TableOfRanks* g_first = nullptr;
}  // namespace

detail::TableOfRanks::TableOfRanks() {
  const std::lock_guard<PlainMutex> guard(g_rank_state_mutex);
  next = g_first;
  g_first = this;
}

const sched::Proclet* rank_here() {
  const sched::Proclet* p = sched::rank_of_thread();
  if (!p || p->kind != sched::ProcletKind::kHelper) return p;
  const auto* rank = static_cast<const RankState*>(p->rank_state);
  return rank ? sched::rank_proclet(rank->local) : p;
}

void forget_rank(const sched::Proclet* rank) {
  detail::TableOfRanks* table;
  {
    const std::lock_guard<PlainMutex> guard(g_rank_state_mutex);
    table = g_first;
  }
  for (; table; table = table->next) table->forget(rank);
}

}  // namespace fgmpi::comm
