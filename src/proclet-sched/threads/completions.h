// The queue by which other threads of the operating system report that something is complete:
// threads of I/O engines, progress threads, threads that wait in the kernel for a proclet.
//
//   any thread: post_completion(c) --> list --> drain_completions(): c->done(c),
//                                        |      by the thread that makes progress next
//                                        |
//                                        +--> ends the sleep of the thread that waits for the
//                                             network
//
// The list is a stack of links. Posters push with a compare-and-swap; the drainer removes all of it
// at once and reverses it. So completions of one poster are handled in the order of posting.
//
// A lost wake-up is impossible. The poster first pushes and then tests whether a thread sleeps; the
// sleeper first announces that it sleeps and then tests the list. Both use sequentially consistent
// operations.
//
// A proclet that parks for a completion gives park() a WaitSite with deadlocks = false: its wait
// ends from outside of MPI, so the process is not deadlocked meanwhile.
//
// Thread rule: post_completion(): any thread, with or without the engine lock; all else: inside
// (threads.h).
#pragma once

#include <atomic>
#include <cstdint>

namespace fgmpi::sched {

/// Its owner chooses where it lives. It must live from post_completion() until done() is called.
struct Completion {
  Completion* next = nullptr;
  /// Called inside, on the stack of the thread that makes progress. It may call ready() and
  /// spawn_helper(), must not park, and may free or reuse the completion.
  void (*done)(Completion*) = nullptr;
};

/// Makes c->done(c) be called inside the library soon: at once if the process sleeps there or
/// polls, else when a rank of the process next waits or polls in MPI. Does not wait, takes no lock,
/// allocates nothing; never switches.
void post_completion(Completion* c);

namespace detail {
[[gnu::visibility("hidden")]] extern std::atomic<Completion*> g_posted;
bool drain_posted();
}  // namespace detail

/// Handles all posted completions; true when there were any. Never switches.
inline bool drain_completions() {
  return __builtin_expect(detail::g_posted.load(std::memory_order_relaxed) != nullptr, 0) &&
         detail::drain_posted();
}

/// For the thread that sleeps on behalf of all. During the object's life a post ends the sleep: it
/// sets *word to 1 and wakes it as a futex, or, where `word` is nullptr, calls `interrupt`.
class SleepUntilPosted {
 public:
  SleepUntilPosted(std::atomic<uint32_t>* word, void (*interrupt)());
  ~SleepUntilPosted();
  SleepUntilPosted(const SleepUntilPosted&) = delete;
  SleepUntilPosted& operator=(const SleepUntilPosted&) = delete;
  /// False: a completion has been posted already.
  bool may_sleep() const { return may_sleep_; }

 private:
  bool may_sleep_;
};

}  // namespace fgmpi::sched
