// The engine that gives calls to the kernel's io_uring: one ring a process.
//
//   rank:   prepares a chain of calls, calls io_uring_enter, collects completions; parks if its
//           chain is not complete
//   reaper: a thread that sleeps in io_uring_enter while calls are under way, collects completions
//           and posts them
//
// A chain is linked: the kernel makes its calls one after the other and cancels those behind one
// that fails or moves less than it was asked for, as make_calls_here() does.

#include <fcntl.h>
#include <liburing.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "base/futex.h"
#include "base/plain_mutex.h"
#include "base/process_threads.h"
#include "base/raw_call.h"
#include "file/engine.h"
#include "proclet-sched/immortal.h"
#include "proclet-sched/sched.h"
#include "proclet-sched/threads/completions.h"

namespace fgmpi::file::uring {
namespace {

/// Entries of the submission queue: the most calls of a chain. The kernel stores completions beyond
/// the queue's length until there is room.
constexpr unsigned kEntries = 64;
/// How long a rank sleeps when the kernel accepts no more calls for now.
constexpr int64_t kBusyNs = 50'000;

/// A chain under way; it lies on its rank's stack.
struct Chain : sched::Completion {
  sched::Proclet* proclet = nullptr;
  // Under the mutex:
  uint32_t left = 0;   ///< calls that are not complete
  bool parks = false;  ///< its rank is to be made ready
};

/// What a completion names; it lies on its rank's stack.
struct Link {
  Chain* chain;
  SystemCall* call;
};

struct Ring {
  io_uring ring{};
  PlainMutex mutex;                      ///< protects the completion queue and `left`
  std::atomic<uint32_t> under_way{0};    ///< calls that are not complete
  std::atomic<uint32_t> reaper_word{0};  ///< 1: the reaper has something to wait for
};
constinit Immortal<Ring> g_immortal_ring;
constexpr Ring& g = g_immortal_ring.value;

void chain_complete(sched::Completion* c) { sched::ready(static_cast<Chain*>(c)->proclet); }

/// Collects completions, and posts chains that are done. Any thread.
void collect_completions() {
  g.mutex.lock();
  io_uring_cqe* entries[kEntries];
  while (const unsigned n = io_uring_peek_batch_cqe(&g.ring, entries, kEntries)) {
    for (unsigned i = 0; i < n; ++i) {
      auto* link = static_cast<Link*>(io_uring_cqe_get_data(entries[i]));
      link->call->result = entries[i]->res;
      Chain* chain = link->chain;
      g.under_way.fetch_sub(1, std::memory_order_relaxed);
      if (--chain->left == 0 && chain->parks) sched::post_completion(chain);
    }
    io_uring_cq_advance(&g.ring, n);
  }
  g.mutex.unlock();
}

/// Sleeps where no call is under way. make_calls() counts a call and then changes reaper_word; this
/// stores reaper_word and then reads the count, all in one order (seq_cst): one sees the other.
void* reap(void*) {
  const LibraryThread of_library;
  for (;;) {
    while (g.under_way.load() == 0) {
      g.reaper_word.store(0);
      if (g.under_way.load() != 0) break;
      futex_wait(&g.reaper_word, 0, -1, FutexScope::kProcess);
    }
    raw_call(SYS_io_uring_enter, g.ring.ring_fd, 0, 1, IORING_ENTER_GETEVENTS, 0, 0);
    collect_completions();
  }
  return nullptr;
}

void wake_reaper() {
  if (g.reaper_word.exchange(1) == 0) futex_wake(&g.reaper_word, FutexScope::kProcess);
}

/// REQUIRES: called on the host stack, where a new thread belongs to no rank.
bool start() {
  if (io_uring_queue_init(kEntries, &g.ring, 0) != 0) return false;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t handle;
  // The ring is of no use without this feature, or without offsets of -1 for pipes and completions
  // that are never dropped (Linux 5.6).
  constexpr unsigned kNeeded = IORING_FEAT_RW_CUR_POS | IORING_FEAT_NODROP;
  const bool started = (g.ring.features & kNeeded) == kNeeded &&
                       pthread_create(&handle, nullptr, reap, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (started)
    pthread_detach(handle);
  else
    io_uring_queue_exit(&g.ring);
  return started;
}

void prepare(SystemCall* c, Link* link, bool linked) {
  io_uring_sqe* entry = io_uring_get_sqe(&g.ring);
  const auto offset = static_cast<uint64_t>(c->offset);
  if (c->write)
    io_uring_prep_writev(entry, c->fd, c->list, c->count, offset);
  else
    io_uring_prep_readv(entry, c->fd, c->list, c->count, offset);
  io_uring_sqe_set_data(entry, link);
  if (linked) entry->flags |= IOSQE_IO_LINK;
}

/// Makes the kernel accept all entries, which it does when it has room. Does not switch: no other
/// rank may add to the queue before.
void submit() {
  while (io_uring_sq_ready(&g.ring) > 0) {
    const int taken = io_uring_submit(&g.ring);
    if (taken >= 0 || taken == -EINTR) continue;
    collect_completions();
    const timespec pause = to_timespec(kBusyNs);
    raw_call(SYS_nanosleep, reinterpret_cast<long>(&pause), 0);
  }
}

}  // namespace

bool available() {
  static const bool is = [] {
    bool started = false;
    sched::call_on_host([&] { started = start(); });
    return started;
  }();
  return is;
}

size_t make_calls(SystemCall* calls, size_t count) {
  count = std::min<size_t>(count, kEntries);
  Chain chain;
  Link links[kEntries];
  chain.done = chain_complete;
  chain.proclet = sched::current();
  chain.left = static_cast<uint32_t>(count);
  g.under_way.fetch_add(chain.left);
  for (size_t i = 0; i < count; ++i) {
    links[i] = {&chain, &calls[i]};
    prepare(&calls[i], &links[i], i + 1 < count);
  }
  submit();
  collect_completions();
  g.mutex.lock();
  const bool parks = chain.parks = chain.left > 0;
  g.mutex.unlock();
  if (parks) {
    wake_reaper();
    const sched::WaitSite site{"a file", nullptr, false};
    sched::park(&site);
  }
  size_t made = 0;
  while (made < count && calls[made].result != -ECANCELED) ++made;
  return made;
}

}  // namespace fgmpi::file::uring
