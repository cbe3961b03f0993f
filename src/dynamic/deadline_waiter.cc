// The deadlines of proclets that wait for another job.

#include "dynamic/deadline_waiter.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace fgmpi::dynamic {
namespace {

std::vector<DeadlineWaiter*>& g_waiting = *new std::vector<DeadlineWaiter*>;

}  // namespace

DeadlineWaiter::~DeadlineWaiter() { std::erase(g_waiting, this); }

void DeadlineWaiter::wait(int64_t deadline, const char* call,
                          void (*describe)(const sched::WaitSite*, std::string*)) {
  sched::WaitSite site{call, describe, false};
  deadline_ = deadline;
  proclet_ = sched::current();
  g_waiting.push_back(this);
  sched::park(&site);
  std::erase(g_waiting, this);
}

void DeadlineWaiter::wake() {
  if (proclet_) sched::ready(std::exchange(proclet_, nullptr));
}

bool DeadlineWaiter::check_deadlines() {
  if (g_waiting.empty()) return false;
  const int64_t now = now_ns();
  bool any = false;
  for (DeadlineWaiter* w : g_waiting) {
    if (!w->proclet_ || w->deadline_ > now) continue;
    w->wake();
    any = true;
  }
  return any;
}

int64_t DeadlineWaiter::until_next_deadline() {
  int64_t next = INT64_MAX;
  for (const DeadlineWaiter* w : g_waiting) next = std::min(next, w->deadline_);
  return next == INT64_MAX ? next : std::max<int64_t>(next - now_ns(), 1'000'000);
}

}  // namespace fgmpi::dynamic
