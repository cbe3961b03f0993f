// Deputies: how they are started and awaited, and how their rank is asked for calls.
#include "proclet-sched/coroutine/deputies.h"

#include <string>
#include <utility>

#include "base/checkpoint_link.h"
#include "proclet-sched/coroutine/visitors.h"
#include "proclet-sched/threads/threads.h"

namespace fgmpi::sched {
namespace {

using checkpoint::LayerCall;

/// A call that a helper asks its rank for. It is on the helper's stack.
struct AskedCall {
  LayerCall call;
  Proclet* asker;
  AskedCall* next = nullptr;
};

struct Deputy {
  LayerCall call;
  const char* what = "";
  Proclet* rank = nullptr;    ///< which waits, or will
  Proclet* helper = nullptr;  ///< null once the call has returned, or where it is elsewhere
  uint64_t number = 0;        ///< of a call that is made elsewhere, until it has returned
  bool awaited = false;       ///< the rank is in fgmpi_end_deputy() and makes no call
  bool parked = false;
  AskedCall* asked = nullptr;
  /// Links of the list of calls under way.
  Deputy *before = nullptr, *behind = nullptr;
};

/// The calls under way, the latest first, and records for the next ones, linked by `behind`.
Deputy *g_under_way = nullptr, *g_unused_deputies = nullptr;

/// Sends calls of visitors; they are numbered.
SendCall g_send_call = nullptr;
uint64_t g_calls_sent = 0;

bool has_returned(const Deputy* deputy) { return !deputy->helper && deputy->number == 0; }

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

/// Makes the calls that helpers have asked for by now. May switch.
void make_asked_calls(Deputy* deputy) {
  while (AskedCall* asked = deputy->asked) {
    deputy->asked = asked->next;
    deputy->awaited = false;
    asked->call.function(asked->call.data);
    deputy->awaited = true;
    ready(asked->asker);
  }
}

/// Ends the use of a deputy, also where an exception of the program's leaves the wait.
class DeputyWait {
 public:
  explicit DeputyWait(Deputy* deputy) : deputy_(deputy) { deputy_->awaited = true; }
  ~DeputyWait() {
    unlink(deputy_);
    if (!has_returned(deputy_)) return;  // it never goes on
    *deputy_ = {};
    deputy_->behind = std::exchange(g_unused_deputies, deputy_);
  }
  DeputyWait(const DeputyWait&) = delete;
  DeputyWait& operator=(const DeputyWait&) = delete;

 private:
  Deputy* deputy_;
};

/// The deputy for which the rank of this helper waits; the innermost where there are several.
Deputy* find_awaited(const Proclet* helper) {
  for (Deputy* deputy = g_under_way; deputy; deputy = deputy->behind)
    if (deputy->awaited && deputy->rank->rank_state == helper->rank_state) return deputy;
  return nullptr;
}

bool may_park() {
  const Proclet* self = current();
  return self && self->kind != ProcletKind::kForeign && !threads_enabled() && !on_host_stack();
}

/// The deputy for which the running helper's rank waits, where the helper may park.
Deputy* find_rank_at_hand() {
  if (!g_under_way || !may_park() || current()->kind != ProcletKind::kHelper) return nullptr;
  return find_awaited(current());
}

}  // namespace

bool is_rank_at_hand() { return find_rank_at_hand() != nullptr; }

void set_send_call(SendCall send) { g_send_call = send; }

bool end_call_elsewhere(uint64_t number, uint8_t phase) {
  for (Deputy* deputy = g_under_way; deputy; deputy = deputy->behind) {
    if (number == 0 || deputy->number != number) continue;
    deputy->number = 0;
    deputy->rank->mpi_phase = phase;
    wake(deputy);
    return true;
  }
  return false;
}

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
  if (!may_park()) return nullptr;
  const bool elsewhere = is_visitor(current());
  if (elsewhere && !g_send_call) return nullptr;
  if (!elsewhere && !ensure_helper().ok()) return nullptr;
  Deputy* deputy = add_deputy();
  deputy->what = what;
  deputy->call = call;
  deputy->rank = current();
  if (elsewhere)
    g_send_call(deputy->rank, call, deputy->number = ++g_calls_sent);
  else
    deputy->helper = spawn_helper(deputy->rank, call_as_deputy, deputy);
  return deputy;
}

void fgmpi_end_deputy(void* begun) {
  auto* deputy = static_cast<Deputy*>(begun);
  const DeputyWait wait(deputy);
  const DeputySite site(deputy);
  for (;;) {
    make_asked_calls(deputy);
    if (has_returned(deputy)) return;
    deputy->parked = true;
    park(&site);
  }
}

bool fgmpi_call_by_rank(fgmpi::checkpoint::LayerCall call) {
  Deputy* const deputy = find_rank_at_hand();
  if (!deputy) return false;
  AskedCall asked{call, current()};
  AskedCall** last = &deputy->asked;
  while (*last) last = &(*last)->next;
  *last = &asked;
  wake(deputy);
  const WaitSite site{"a function of the program", nullptr, true};
  park(&site);
  return true;
}
