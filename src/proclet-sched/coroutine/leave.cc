// Ends a rank when exit() is called in another thread of it.

#include "proclet-sched/coroutine/leave.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "base/page.h"
#include "proclet-sched/coroutine/jump.h"
#include "proclet-sched/coroutine/packing.h"
#include "proclet-sched/coroutine/timers.h"
#include "proclet-sched/threads/completions.h"

namespace fgmpi::sched {
namespace {

constexpr size_t kEndStack = 256 * 1024, kRemainder = 16 * 1024;
constexpr int64_t kEndCheckInterval =
    1'000'000;  ///< ns between checks whether the rank still computes

struct Leave : Completion {
  Proclet* rank;
  void (*entry)(void*);
  void* argument;
};

/// Runs on the rank's old proclet from now on. Something that it waited for may still complete and
/// make it ready, once.
[[noreturn]] void run_what_is_left() {
  processor::end_call_stack();
  annotate::arrive(nullptr, nullptr, nullptr);
  for (;;) {
    Proclet* self = current();
    self->state = end_of(self)->state == ProcletState::kFinished ? ProcletState::kFinished
                                                                 : ProcletState::kParked;
    switch_away(self);
  }
}

[[noreturn]] void run_end() {
  processor::end_call_stack();
  annotate::arrive(nullptr, nullptr, nullptr);
  auto* leave = static_cast<Leave*>(current()->argument);
  leave->entry(leave->argument);
  finish(0);
}

/// Gives `p` a new stack, on which it runs kEntry().
template <void (*kEntry)()>
void stand_on(Proclet* p, char* low, size_t size) {
  mprotect(low, guard_bytes(), PROT_NONE);
  p->stack_low = low + guard_bytes();
  p->stack_size = size;
  p->context = processor::new_context<kEntry>(p->stack_low + size, size);
}

/// Runs on a helper of the rank.
void leave(void* data) {
  auto* request = static_cast<Leave*>(data);
  Proclet* rank = request->rank;
  while (rank->state == ProcletState::kRunning) sleep_for(kEndCheckInterval);
  if (rank->state == ProcletState::kFinished || end_of(rank) || is_end(rank)) return;
  const size_t guard = guard_bytes(), remainder = page_up(kRemainder);
  void* stacks = mmap(nullptr, remainder + kEndStack + 2 * guard, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  auto* end = new (std::nothrow) Proclet(*rank);
  if (stacks == MAP_FAILED || !end) end_process(1);
  char* low = static_cast<char*>(stacks);
  keep_unpacked(rank);  // requests that the rank had started are on its old stack
  g_scheduler.ends.push_back({rank, end});
  end->next = nullptr;
  end->argument = request;
  end->exception_state[0] = end->exception_state[1] = nullptr;
  end->fake_stack = nullptr;
  end->wait = rank->wait = nullptr;
  end->callbacks = 0;
  end->began_before_threads = false;
  rank->pending = nullptr;
  stand_on<run_end>(end, low, kEndStack);
  stand_on<run_what_is_left>(rank, low + kEndStack + guard, remainder);
  if (rank->state == ProcletState::kSleeping) {
    remove_timer(rank);
    rank->state = ProcletState::kParked;
  }
  end->state = ProcletState::kParked;
  ready(end);
}

}  // namespace

Proclet* end_of(const Proclet* rank) {
  for (const auto& [left, end] : g_scheduler.ends)
    if (left == rank) return end;
  return nullptr;
}

void end_of_left_rank(const Proclet* end) {
  for (const auto& [left, its_end] : g_scheduler.ends)
    if (its_end == end && left->state == ProcletState::kParked)
      left->state = ProcletState::kFinished;
}

bool is_end(const Proclet* p) {
  return std::any_of(g_scheduler.ends.begin(), g_scheduler.ends.end(),
                     [&](const auto& e) { return e.second == p; });
}

void leave_for(Proclet* rank, void (*entry)(void*), void* argument) {
  auto* request = new Leave;
  request->rank = rank;
  request->entry = entry;
  request->argument = argument;
  request->done = [](Completion* c) {
    auto* l = static_cast<Leave*>(c);
    if (l->rank->state != ProcletState::kFinished) spawn_helper(l->rank, leave, l);
  };
  post_completion(request);
}

}  // namespace fgmpi::sched
