// Polls in vain: what wakes the rank.

#include "pt2pt/polls.h"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "proclet-sched/coroutine/poller.h"
#include "pt2pt/message_decider.h"
#include "pt2pt/sites.h"

namespace fgmpi::pt2pt {
namespace {

/// Shorter lists are not remembered.
constexpr int kFewTested = 4;

/// Handles that were tested in vain.
struct TestedList {
  const MPI_Request* address = nullptr;
  uint32_t row = 0;
  std::vector<MPI_Request> handles;
};

using TestedLists = std::array<TestedList, 4>;  // of a loop that tests several

struct PollingRank : sched::Poller {
  explicit PollingRank(sched::Proclet* rank) : Poller(rank) {}
  Prober prober{nullptr, {}, news(), true};
  std::unique_ptr<TestedLists> lists;
  uint32_t next_list = 0;      ///< is forgotten next
  bool only_polls = false;     ///< a request of the last list is completed by polls only
  PollingRank* made_before{};  ///< links all that there are
  PollingRank* next_unused{};
};
/// The last one that was made. None is freed: requests that have not completed may have its Waiter.
PollingRank* g_made = nullptr;
/// Those of visitors that have left, which had no such request; linked by `next_unused`.
PollingRank* g_unused_pollers = nullptr;

PollingRank* new_poller(sched::Proclet* rank) {
  PollingRank* made = g_unused_pollers;
  PollingRank* const before = made ? made->made_before : g_made;
  if (made) {
    g_unused_pollers = made->next_unused;
    made->~PollingRank();
    new (made) PollingRank(rank);
  } else {
    made = new (std::nothrow) PollingRank(rank);
    if (!made) return nullptr;
    g_made = made;
  }
  made->made_before = before;
  return made;
}

/// Returns the calling rank's; nullptr where it may not rest, or there is no memory for one.
PollingRank* calling_poller() {
  if (!sched::may_rest()) return nullptr;
  sched::Proclet* self = sched::current();
  if (__builtin_expect(!self->poller, 0)) {
    PollingRank* made = new_poller(self);
    if (!made) return nullptr;
    self->poller = made;
  }
  return static_cast<PollingRank*>(self->poller);
}

/// As calling_poller(), but nullptr for a rank that has not polled in vain yet.
PollingRank* known_poller() {
  if (g_message_decider || !sched::may_rest()) return nullptr;
  return static_cast<PollingRank*>(sched::current()->poller);
}

/// Gives the incomplete requests the rank's Waiter. Returns false where one is completed by polls
/// only.
bool attach_news(Request* const* requests, size_t count, Waiter* news) {
  bool woken = true;
  for (size_t i = 0; i < count; ++i) {
    Request* r = requests[i];
    if (!r || r->complete() || !r->active) continue;
    woken = woken && !r->polled;
    r->waiter = news;
  }
  return woken;
}

}  // namespace

void let_others_run_after_test(Request* const* requests, size_t count, const char* call) {
  PollingRank* self = g_message_decider ? nullptr : calling_poller();
  if (!self) return yield_before_retry(call);
  self->only_polls = !attach_news(requests, count, self->news());
  if (self->only_polls) return yield_before_retry(call);
  RequestsSite site(call, requests, count);
  site.deadlocks = false;
  self->let_others_run(&site);
}

bool in_vain_again(const MPI_Request* handles, int count, const char* call) {
  if (count < kFewTested || !handles) return false;
  PollingRank* self = known_poller();
  if (!self || !self->lists) return false;
  const auto same = [&](const TestedList& list) {
    return list.address == handles && self->goes_on_in(list.row) &&
           std::equal(list.handles.begin(), list.handles.end(), handles, handles + count);
  };
  if (std::none_of(self->lists->begin(), self->lists->end(), same)) return false;
  const sched::WaitSite site{call, nullptr, false};
  return !self->let_others_run(&site);
}

void remember_tested(const MPI_Request* handles, int count) {
  if (count < kFewTested) return;
  PollingRank* self = known_poller();
  if (!self || self->only_polls) return;
  if (!self->lists) self->lists.reset(new (std::nothrow) TestedLists);
  if (!self->lists) return;
  auto at = std::find_if(self->lists->begin(), self->lists->end(),
                         [&](const TestedList& list) { return list.address == handles; });
  if (at == self->lists->end()) at = self->lists->begin() + self->next_list++ % self->lists->size();
  at->address = nullptr;
  try {
    at->handles.assign(handles, handles + count);
  } catch (const std::bad_alloc&) {
    return;
  }
  at->address = handles;
  at->row = self->row();
}

void let_others_run_after_look(Waiter** news, sched::WaitSite* site) {
  PollingRank* self = g_message_decider ? nullptr : calling_poller();
  *news = self ? self->news() : nullptr;
  if (!self) return yield_before_retry(site->call);
  self->only_polls = false;
  site->deadlocks = false;
  self->let_others_run(site);
}

void let_others_run_after_probe(Endpoint* at, const Envelope& pattern, const char* call) {
  PollingRank* self = calling_poller();
  if (!self) return sched::yield();
  Prober& prober = self->prober;
  prober.pattern = pattern;
  if (prober.found) {
    prober.found = false;
    prober.error = {};
    prober.next = at->probers;
    at->probers = &prober;
  }
  ProbeSite site(call, &prober.pattern);
  site.deadlocks = false;
  self->let_others_run(&site);
}

void stop_polling(Endpoint* at, bool ends) {
  sched::Proclet* const self = sched::current();
  auto* polling = static_cast<PollingRank*>(self->poller);
  if (!polling) return;
  Prober& prober = polling->prober;
  for (Prober** link = &at->probers; *link && !prober.found; link = &(*link)->next) {
    if (*link != &prober) continue;
    *link = prober.next;
    break;
  }
  prober.found = true;
  polling->lists.reset();
  if (!ends) return;
  self->poller = nullptr;
  polling->next_unused = std::exchange(g_unused_pollers, polling);
}

}  // namespace fgmpi::pt2pt
