// A program that was not started through create_ranks() and run(): its caller becomes the only
// rank, on its own stack, and the host loop gets another stack.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "proclet-sched/coroutine/host_loop.h"
#include "proclet-sched/coroutine/jump.h"

namespace fgmpi::sched {
namespace {

/// The function of the host stack of an adopted caller, entered when the caller first
/// leaves its own.
[[noreturn]] void adopted_host() {
  processor::end_call_stack();
  annotate::arrive(nullptr, nullptr, nullptr);
  serve_host_calls();
  host_loop();
  fflush(nullptr);
  _exit(1);  // the deadlock has been reported
}

}  // namespace

Status adopt_caller() {
  FGMPI_TRY(create_ranks(1, nullptr, nullptr));
  Proclet* p = pick();
  g_scheduler.host_low = p->stack_low;
  g_scheduler.host_size = p->stack_size;
  g_scheduler.host_context =
      processor::new_context<adopted_host>(stack_top(p), p->stack_size - kColouring);
  pthread_attr_t attributes;
  void* low = nullptr;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &low, &p->stack_size);
    pthread_attr_destroy(&attributes);
  }
  p->stack_low = static_cast<char*>(low);
  p->state = ProcletState::kRunning;
  detail::set_current(p);
  g_scheduler.running = true;
  become_scheduler_thread(true);
  g_scheduler.idle_since = -1;
  return Status();
}

}  // namespace fgmpi::sched
