// Ranks that begin when a program that loaded MPI late calls MPI_Init.

#include "privatize/load/late_ranks.h"

#include <link.h>
#include <mpi.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/modules.h"
#include "privatize/image/images.h"
#include "privatize/load/libraries.h"
#include "proclet-sched/sched.h"

namespace fgmpi::privatize {
namespace {

enum class LatePhase : uint8_t { kNotLate, kAlone, kBegun, kEnded };
LatePhase g_phase = LatePhase::kNotLate;
std::string* g_refusal = nullptr;
std::vector<sched::Proclet*>* g_waiting = nullptr;

void release(LatePhase phase) {
  g_phase = phase;
  if (!g_waiting) return;
  for (sched::Proclet* p : std::exchange(*g_waiting, {})) sched::ready(p);
}

}  // namespace

bool is_linked_with_mpi() {
  const auto modules = loaded_modules();
  std::vector<std::string> open;
  std::set<std::string> seen;
  auto add_needs_of = [&](const link_map* map) {
    ElfModule module;
    module.read_symbols(map);
    for (std::string& name : module.needed())
      if (seen.insert(name).second) open.push_back(std::move(name));
  };
  add_needs_of(modules.front());
  while (!open.empty()) {
    const std::string next = std::move(open.back());
    open.pop_back();
    if (is_mpi_library(file_name(next))) return true;
    for (const link_map* map : modules)
      if (is_needed_as(map, next)) add_needs_of(map);
  }
  return false;
}

void start_late() { g_phase = LatePhase::kAlone; }
void refuse_late_ranks(std::string why) { g_refusal = new std::string(std::move(why)); }
bool have_late_ranks_begun() {
  return g_phase == LatePhase::kNotLate || g_phase == LatePhase::kBegun;
}
bool late_ranks_never_began() {
  return g_phase == LatePhase::kEnded || g_phase == LatePhase::kAlone;
}

bool wait_to_begin() {
  if (g_phase == LatePhase::kAlone) {
    if (!g_waiting) g_waiting = new std::vector<sched::Proclet*>;
    g_waiting->push_back(sched::current());
    sched::WaitSite site;
    site.call = "the first rank, before it calls MPI";
    sched::park(&site);
  }
  return g_phase != LatePhase::kEnded;
}

Status begin_late_ranks() {
  if (g_refusal)
    return error(MPI_ERR_OTHER,
                 "called in a program that is not linked with MPI, with several ranks a process: "
                 "%s; allowed is 1 (-nfg 1), or a program linked with mpicc, mpicxx or mpifort",
                 g_refusal->c_str());
  if (g_phase == LatePhase::kAlone) release(LatePhase::kBegun);
  return Status();
}

void release_late_ranks_at_end() {
  if (g_phase == LatePhase::kAlone) release(LatePhase::kEnded);
}

}  // namespace fgmpi::privatize
