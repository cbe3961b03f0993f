#include "proclet-sched/leave.h"

#include <sys/mman.h>

#include <algorithm>

#include "proclet-sched/completions.h"
#include "proclet-sched/jump.h"
#include "proclet-sched/timers.h"

namespace fgmpi::sched {
namespace {

constexpr size_t kStack = 256 * 1024, kGuard = 4096;
constexpr int64_t kLook = 1'000'000;  ///< ns between looks whether the rank still computes

struct Leave : Completion {
  Proclet* rank;
  void (*entry)(void*);
  void* argument;
};

[[noreturn]] void run_after_leaving(ctx::transfer_t t) {
  asm volatile(".cfi_undefined rip");  // unwinders stop here
  arrived(t);
  annotate::arrive(nullptr, nullptr, nullptr);
  Proclet* self = current();
  auto* leave = static_cast<Leave*>(self->argument);
  leave->entry(leave->argument);
  finish(0);
}

/// On a helper of the rank.
void leave(void* data) {
  auto* request = static_cast<Leave*>(data);
  Proclet* rank = request->rank;
  while (rank->state == State::kRunning) sleep_for(kLook);
  if (rank->state == State::kFinished || has_left_its_stack(rank)) return;
  void* stack = mmap(nullptr, kStack + kGuard, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED) end_process(1);
  mprotect(stack, kGuard, PROT_NONE);
  g_scheduler.left_stacks.push_back(rank);
  char* low = static_cast<char*>(stack) + kGuard;
  rank->context = ctx::make_fcontext(low + kStack, kStack, run_after_leaving);
  rank->stack_low = low;
  rank->stack_size = kStack;
  rank->argument = request;
  rank->exception_state[0] = rank->exception_state[1] = nullptr;
  rank->wait = nullptr;
  if (rank->state == State::kSleeping) {
    remove_timer(rank);
    rank->state = State::kParked;
  }
  if (rank->state == State::kParked) ready(rank);
}

}  // namespace

bool has_left_its_stack(const Proclet* rank) {
  const auto& left = g_scheduler.left_stacks;
  return !left.empty() && std::find(left.begin(), left.end(), rank) != left.end();
}

void leave_for(Proclet* rank, void (*entry)(void*), void* argument) {
  auto* request = new Leave;
  request->rank = rank;
  request->entry = entry;
  request->argument = argument;
  request->done = [](Completion* c) {
    auto* l = static_cast<Leave*>(c);
    if (l->rank->state != State::kFinished) spawn_helper(l->rank, leave, l);
  };
  post_completion(request);
}

}  // namespace fgmpi::sched
