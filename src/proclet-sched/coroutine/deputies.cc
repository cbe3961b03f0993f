// Deputies: how they are started and awaited.
#include "proclet-sched/coroutine/deputies.h"

#include <string>
#include <utility>

#include "base/checkpoint_link.h"
#include "proclet-sched/threads/threads.h"

namespace fgmpi::sched {
namespace {

using checkpoint::LayerCall;

struct Deputy {
  LayerCall call;
  const char* what = "";
  Proclet* rank = nullptr;    ///< which waits, or will
  Proclet* helper = nullptr;  ///< null once the call has returned
  bool parked = false;
  /// Links of the list of calls under way.
  Deputy *before = nullptr, *behind = nullptr;
};

/// The calls under way, the latest first, and records for the next ones, linked by `behind`.
Deputy *g_under_way = nullptr, *g_unused_deputies = nullptr;

/// What a rank waits with.
struct DeputySite : WaitSite {
  explicit DeputySite(const Deputy* awaited)
      : WaitSite{awaited->what, describe_wait, true}, deputy(awaited) {}
  const WaitSite* wait() const { return deputy->helper ? deputy->helper->wait : nullptr; }
  static void describe_wait(const WaitSite* site, std::string* out) {
    const WaitSite* wait = innermost_wait(site);
    if (wait != site && wait->describe) wait->describe(wait, out);
  }
  const Deputy* deputy;
};

Deputy* add_deputy() {
  Deputy* deputy = g_unused_deputies;
  if (deputy)
    g_unused_deputies = deputy->behind;
  else
    deputy = new Deputy;
  deputy->behind = g_under_way;
  if (g_under_way) g_under_way->before = deputy;
  return g_under_way = deputy;
}

void unlink(Deputy* deputy) {
  (deputy->before ? deputy->before->behind : g_under_way) = deputy->behind;
  if (deputy->behind) deputy->behind->before = deputy->before;
}

void wake(Deputy* deputy) {
  if (!std::exchange(deputy->parked, false)) return;
  ready(deputy->rank);
}

/// The helper's function.
void call_as_deputy(void* data) {
  auto* deputy = static_cast<Deputy*>(data);
  const Proclet* self = current();
  const uint8_t phase = self->mpi_phase;
  deputy->call.function(deputy->call.data);
  // The call may have begun a session, or ended the last one.
  if (self->mpi_phase != phase) deputy->rank->mpi_phase = self->mpi_phase;
  deputy->helper = nullptr;
  wake(deputy);
}

/// Ends the use of a deputy, also where an exception of the program's leaves the wait.
class DeputyWait {
 public:
  explicit DeputyWait(Deputy* deputy) : deputy_(deputy) {}
  ~DeputyWait() {
    unlink(deputy_);
    if (deputy_->helper) return;  // it never goes on
    *deputy_ = {};
    deputy_->behind = std::exchange(g_unused_deputies, deputy_);
  }
  DeputyWait(const DeputyWait&) = delete;
  DeputyWait& operator=(const DeputyWait&) = delete;

 private:
  Deputy* deputy_;
};

bool may_park() {
  const Proclet* self = current();
  return self && self->kind != ProcletKind::kForeign && !threads_enabled() && !on_host_stack();
}

}  // namespace

const WaitSite* innermost_wait(const WaitSite* site) {
  while (site->describe == DeputySite::describe_wait) {
    const WaitSite* wait = static_cast<const DeputySite*>(site)->wait();
    if (!wait) break;
    site = wait;
  }
  return site;
}

}  // namespace fgmpi::sched

using namespace fgmpi::sched;

void* fgmpi_begin_deputy(const char* what, fgmpi::checkpoint::LayerCall call) {
  if (!may_park() || !ensure_helper().ok()) return nullptr;
  Deputy* deputy = add_deputy();
  deputy->what = what;
  deputy->call = call;
  deputy->rank = current();
  deputy->helper = spawn_helper(deputy->rank, call_as_deputy, deputy);
  return deputy;
}

void fgmpi_end_deputy(void* begun) {
  auto* deputy = static_cast<Deputy*>(begun);
  const DeputyWait wait(deputy);
  const DeputySite site(deputy);
  for (;;) {
    if (!deputy->helper) return;
    deputy->parked = true;
    park(&site);
  }
}
