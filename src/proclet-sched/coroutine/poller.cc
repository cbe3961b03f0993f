// Which polls rest, and whose turn it is among those that do.

#include "proclet-sched/coroutine/poller.h"

#include <algorithm>

#include "base/list.h"
#include "base/repeatable.h"
#include "proclet-sched/coroutine/call_count.h"
#include "proclet-sched/coroutine/jump.h"

namespace fgmpi::sched {
namespace {
struct Resting {
  List<Poller> list;  ///< the first has rested longest
  uint32_t count = 0;
  uint32_t idle_calls = 0;
};
constinit Immortal<Resting> g_immortal_resting;
constexpr Resting& g_resting = g_immortal_resting.value;
/// A number that falls by one with each call that is counted.
uint32_t calls_left() { return is_repeatable() ? detail::g_events_left : detail::g_calls_left; }

}  // namespace

uint32_t Poller::resting() { return g_resting.count; }
void count_idle_call() { ++g_resting.idle_calls; }

bool may_rest() {
  const Proclet* self = current();
  return self && self->kind == ProcletKind::kRank && !g_scheduler.in_host_call;
}

/// Has the rank done nothing but polled since its last poll ended? That one has been counted.
bool Poller::goes_on() const {
  return switch_count() == switches_ &&
         calls_left() + 1 + (g_resting.idle_calls - idle_) == calls_left_;
}

bool Poller::let_others_run(const WaitSite* site) {
  const bool news = news_.missing != kAwake, goes_on = this->goes_on();
  news_.missing = kAwake;
  if (in_turn_ && !goes_on && !news) before_rest_ = std::min(2 * before_rest_, kManyPolls);
  if (!goes_on) in_turn_ = false;
  if (!goes_on || news) in_vain_ = 0, ++row_;
  const uint32_t row = row_;
  if (in_vain_ < before_rest_) {
    ++in_vain_;
    yield();
  } else {
    rest(site);
  }
  switches_ = switch_count();
  calls_left_ = calls_left();
  idle_ = g_resting.idle_calls;
  return row_ != row || news_.missing != kAwake;
}

void Poller::rest(const WaitSite* site) {
  in_turn_ = false;
  news_.missing = 1;
  g_resting.list.push_back(this);
  ++g_resting.count;
  listed_ = true;
  g_hot.extras = true;  // switches look at the clock while ranks rest
  ++g_scheduler.rests;
  park(site);
  if (listed_) g_resting.list.remove(this), --g_resting.count;
  listed_ = false;
  if (in_turn_) return;
  news_.missing = kAwake;
  in_vain_ = 0;
  ++row_;
  if (++woken_ % kWakesPerPoll == 0) before_rest_ = std::max(kFewPolls, before_rest_ - 1);
}

uint32_t Poller::wake(uint32_t most) {
  uint32_t woken = 0;
  while (woken < most && !g_resting.list.empty()) {
    Poller* p = g_resting.list.front();
    g_resting.list.pop_front();
    --g_resting.count;
    p->listed_ = false;
    if (p->news_.missing == 0) continue;  // ready already
    p->news_.missing = kAwake;
    p->in_turn_ = true;
    ready(p->news_.proclet);
    ++woken;
  }
  return woken;
}

}  // namespace fgmpi::sched
