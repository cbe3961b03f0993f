// The pool of threads that make blocking system calls for proclets.

#include "proclet-sched/threads/blocking.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "base/futex.h"
#include "base/process_threads.h"
#include "proclet-sched/immortal.h"
#include "proclet-sched/sched.h"
#include "proclet-sched/threads/completions.h"

namespace fgmpi::sched {
namespace {

/// Enough for the C library's waiting functions and the thread-local variables of all libraries.
constexpr size_t kThreadStack = 256 * 1024;

struct BlockingThread : Completion {
  BlockingThread* next_idle = nullptr;
  std::atomic<uint32_t> word{0};      ///< 1: the thread has something to do
  void (*function)(void*) = nullptr;  ///< nullptr: the thread is to end
  void* argument = nullptr;
  Proclet* proclet = nullptr;  ///< waits for the call
};

struct ThreadPool {
  BlockingThread* idle = nullptr;
  uint32_t idle_count = 0;
  uint32_t least_idle = 0;  ///< the lowest idle_count since the last trim
  uint32_t count = 0;
};
constinit Immortal<ThreadPool> g_immortal_thread_pool;
constexpr ThreadPool& g_thread_pool = g_immortal_thread_pool.value;

void wake(BlockingThread* t) {
  t->word.store(1, std::memory_order_release);
  futex_wake(&t->word, FutexScope::kProcess);
}

void* run_blocking_thread(void* data) {
  const LibraryThread of_library;
  auto* t = static_cast<BlockingThread*>(data);
  for (;;) {
    while (t->word.exchange(0, std::memory_order_acquire) == 0)
      futex_wait(&t->word, 0, -1, FutexScope::kProcess);
    if (!t->function) break;
    t->function(t->argument);
    post_completion(t);
  }
  delete t;
  return nullptr;
}

/// Called when the thread's call has returned: the thread is idle, its proclet goes on.
void call_returned(Completion* c) {
  auto* t = static_cast<BlockingThread*>(c);
  t->next_idle = g_thread_pool.idle;
  g_thread_pool.idle = t;
  ++g_thread_pool.idle_count;
  ready(t->proclet);
}

BlockingThread* pop_idle() {
  BlockingThread* t = g_thread_pool.idle;
  if (!t) return nullptr;
  g_thread_pool.idle = t->next_idle;
  g_thread_pool.least_idle = std::min(g_thread_pool.least_idle, --g_thread_pool.idle_count);
  return t;
}

bool trim_blocking_threads() {
  for (uint32_t i = g_thread_pool.least_idle; i > 0; --i) {
    BlockingThread* t = pop_idle();
    t->function = nullptr;
    --g_thread_pool.count;
    wake(t);
  }
  g_thread_pool.least_idle = g_thread_pool.idle_count;
  return g_thread_pool.idle_count > 0;
}

}  // namespace

bool start_thread_of_nobody(void* (*run)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kThreadStack);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t handle;
  int failed = pthread_create(&handle, &attributes, run, argument);
  if (failed == EINVAL) {  // the thread-local variables do not fit
    pthread_attr_destroy(&attributes);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    failed = pthread_create(&handle, &attributes, run, argument);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return failed == 0;
}

namespace {

/// Starts a thread of the pool. Called on the host stack.
BlockingThread* start_thread() {
  auto* t = new (std::nothrow) BlockingThread;
  if (!t) return nullptr;
  t->done = call_returned;
  if (start_thread_of_nobody(run_blocking_thread, t)) {
    ++g_thread_pool.count;
    add_trimmer(trim_blocking_threads);
    return t;
  }
  delete t;
  return nullptr;
}

}  // namespace

bool call_on_other_thread(const char* call, void (*function)(void*), void* argument) {
  BlockingThread* t = pop_idle();
  if (!t) call_on_host([&] { t = start_thread(); });
  if (!t) return false;
  t->function = function;
  t->argument = argument;
  t->proclet = current();
  const WaitSite site{call, nullptr, false};
  wake(t);
  park(&site);
  return true;
}

uint32_t blocking_threads() { return g_thread_pool.count; }

}  // namespace fgmpi::sched
