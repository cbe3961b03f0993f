// Polls in vain: what wakes the rank.

#include "pt2pt/polls.h"

#include <new>

#include "proclet-sched/coroutine/poller.h"
#include "pt2pt/message_decider.h"
#include "pt2pt/sites.h"

namespace fgmpi::pt2pt {
namespace {

struct PollingRank : sched::Poller {
  explicit PollingRank(sched::Proclet* rank) : Poller(rank) {}
  Prober prober{nullptr, {}, news(), true};
};

/// That of the calling rank; nullptr where it may not rest, or there is no memory for it.
PollingRank* calling_poller() {
  if (!sched::may_rest()) return nullptr;
  sched::Proclet* self = sched::current();
  if (__builtin_expect(!self->poller, 0)) self->poller = new (std::nothrow) PollingRank(self);
  return static_cast<PollingRank*>(self->poller);
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
  if (!self || !attach_news(requests, count, self->news())) return yield_before_retry(call);
  RequestsSite site(call, requests, count);
  site.deadlocks = false;
  self->let_others_run(&site);
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

}  // namespace fgmpi::pt2pt
