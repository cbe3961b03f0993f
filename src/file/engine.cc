#include "file/engine.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <mutex>

#include "base/settings.h"
#include "proclet-sched/completions.h"
#include "proclet-sched/sched.h"

namespace fgmpi::file {
namespace {

constexpr uint32_t kThreads = 4;

/// On the stack of the rank that waits.
struct Job : sched::Completion {
  Transfer* transfer;
  sched::Proclet* proclet;
  bool complete = false, parked = false;
  Job* next_job = nullptr;
};

struct Pool {
  std::mutex lock;
  std::condition_variable more;
  Job *first = nullptr, **end = &first;
  uint32_t threads = 0, idle = 0, waiting = 0;
};

/// Never destroyed: its threads run until the process has ended.
Pool& pool() {
  static auto* made = new Pool;
  return *made;
}

void* serve(void*) {
  Pool& p = pool();
  std::unique_lock<std::mutex> held(p.lock);
  for (;;) {
    ++p.idle;
    p.more.wait(held, [&] { return p.first != nullptr; });
    --p.idle;
    Job* job = p.first;
    p.first = job->next_job;
    if (!p.first) p.end = &p.first;
    --p.waiting;
    held.unlock();
    perform(job->transfer);
    sched::post_completion(job);
    held.lock();
  }
}

/// Starts a thread of the process's own, not of the rank that asks (src/privatize interposes pthread_create).
bool start_thread() {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto* create = reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"));
  if (!create) return false;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  pthread_t thread;
  const bool started = create(&thread, &attributes, serve, nullptr) == 0;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

/// False: there is no thread.
bool submit(Job* job) {
  Pool& p = pool();
  const std::lock_guard<std::mutex> held(p.lock);
  if (p.idle <= p.waiting && p.threads < kThreads && start_thread()) ++p.threads;
  if (p.threads == 0) return false;
  *p.end = job;
  p.end = &job->next_job;
  ++p.waiting;
  p.more.notify_one();
  return true;
}

}  // namespace

bool run_on_threads(Transfer* transfer, const char* call) {
  Job job;
  job.transfer = transfer;
  job.proclet = sched::current();
  job.done = [](sched::Completion* c) {
    auto* j = static_cast<Job*>(c);
    j->complete = true;
    if (j->parked) sched::ready(j->proclet);
  };
  bool taken = false;
  sched::call_on_host([&] { taken = submit(&job); });
  if (!taken) return false;
  sched::WaitSite site;
  site.call = call;
  site.deadlocks = false;
  if (!job.complete) {
    job.parked = true;
    sched::park(&site);
  }
  return true;
}

}  // namespace fgmpi::file
