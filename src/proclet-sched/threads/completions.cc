// The list of completions that other threads have posted, and how a post wakes a sleeper.

#include "proclet-sched/threads/completions.h"

#include <sys/syscall.h>

#include "base/assert.h"
#include "base/futex.h"
#include "base/raw_call.h"

namespace fgmpi::sched {

namespace detail {
alignas(64) constinit std::atomic<Completion*> g_posted{nullptr};
}

namespace {

enum SleeperState : uint32_t {
  kAwake,
  kAsleep,  ///< or about to be: g_word and g_interrupt say how to wake it
  kWaking,  ///< a poster is waking the sleeper, which waits until it has finished
};
alignas(64) constinit std::atomic<uint32_t> g_sleeper{kAwake};
std::atomic<uint32_t>* g_word = nullptr;
void (*g_interrupt)() = nullptr;

}  // namespace

/// The push releases the completion to the exchange of drain_posted(). The push and the load behind
/// it pair with the store and the load of SleepUntilPosted(): in one order of all four (seq_cst),
/// the poster sees the sleeper, or the sleeper the completion.
void post_completion(Completion* c) {
  Completion* head = detail::g_posted.load(std::memory_order_relaxed);
  do {
    c->next = head;
  } while (!detail::g_posted.compare_exchange_weak(head, c, std::memory_order_seq_cst,
                                                   std::memory_order_relaxed));
  uint32_t asleep = kAsleep;
  // The change acquires g_word and g_interrupt, which the sleeper has set before kAsleep.
  if (g_sleeper.load(std::memory_order_seq_cst) != kAsleep ||
      !g_sleeper.compare_exchange_strong(asleep, kWaking, std::memory_order_acquire))
    return;
  if (g_word) {
    g_word->store(1, std::memory_order_release);
    futex_wake(g_word, FutexScope::kProcess);
  } else {
    g_interrupt();
  }
  g_sleeper.store(kAwake, std::memory_order_release);  // pairs with ~SleepUntilPosted()
}

bool detail::drain_posted() {
  Completion* latest = g_posted.exchange(nullptr, std::memory_order_acquire);
  Completion* first = nullptr;
  while (Completion* c = latest) {
    latest = c->next;
    c->next = first;
    first = c;
  }
  const bool any = first;
  while (Completion* c = first) {
    first = c->next;  // done() may free it
    c->done(c);
  }
  return any;
}

SleepUntilPosted::SleepUntilPosted(std::atomic<uint32_t>* word, void (*interrupt)()) {
  FGMPI_ASSERT(g_sleeper.load() == kAwake);
  g_word = word;
  g_interrupt = interrupt;
  g_sleeper.store(kAsleep, std::memory_order_seq_cst);
  may_sleep_ = detail::g_posted.load(std::memory_order_seq_cst) == nullptr;
}

/// Waits for a poster that has begun to wake: it still uses g_word, g_interrupt and what
/// they point to. The load of kAwake acquires the end of that use.
SleepUntilPosted::~SleepUntilPosted() {
  uint32_t asleep = kAsleep;
  if (g_sleeper.compare_exchange_strong(asleep, kAwake, std::memory_order_acquire)) return;
  while (g_sleeper.load(std::memory_order_acquire) != kAwake) raw_call(SYS_sched_yield);
}

}  // namespace fgmpi::sched
