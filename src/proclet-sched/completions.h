// The queue through which other threads of the operating system tell the library that something is
// complete: threads of I/O engines, progress threads, threads that wait in the kernel for a
// proclet.
//
//   any thread: post_completion(c) --> list --> drain_completions(): c->done(c), whoever makes progress next
//                                        |
//                                        +--> ends the sleep of the thread that waits for the network
//
// The list is a stack of links that posters push with a compare-and-swap and that the drainer takes
// as a whole and reverses: completions of one poster are handled in the order of posting.
//
// A lost wake-up is impossible: the poster pushes and then looks whether somebody sleeps; the
// sleeper says that it sleeps and then looks at the list; both in the one order of sequentially
// consistent operations.
//
// A proclet that parks for a completion gives park() a WaitSite with deadlocks = false: what it
// waits for comes from outside of MPI, and the process is not deadlocked meanwhile.
//
// Thread rule: post_completion(): any thread, with or without the engine lock; all else: inside
// (threads.h).
#pragma once

#include <atomic>
#include <cstdint>

namespace fgmpi::sched {

/// Lives where its owner puts it, from post_completion() until done() is called.
struct Completion {
  Completion* next = nullptr;
  /// Called inside, on the stack of whoever makes progress: may call ready() and spawn_helper(),
  /// must not park. It may free or reuse the completion.
  void (*done)(Completion*) = nullptr;
};

/// Has c->done(c) called inside the library soon: at once if the process sleeps there or polls,
/// else when a rank of the process next waits or polls in MPI. Does not wait, takes no lock,
/// allocates nothing; never switches.
void post_completion(Completion* c);

namespace detail {
[[gnu::visibility("hidden")]] extern std::atomic<Completion*> g_posted;
bool drain_posted();
}  // namespace detail

/// Handles what has been posted; true when there was anything. Never switches.
inline bool drain_completions() {
  return __builtin_expect(detail::g_posted.load(std::memory_order_relaxed) != nullptr, 0) &&
         detail::drain_posted();
}

/// For the thread that goes to sleep for all: during its life a post ends the sleep, by setting
/// *word to 1 and waking it as a futex, or, where `word` is nullptr, by calling `interrupt`.
class SleepUntilPosted {
 public:
  SleepUntilPosted(std::atomic<uint32_t>* word, void (*interrupt)());
  ~SleepUntilPosted();
  SleepUntilPosted(const SleepUntilPosted&) = delete;
  SleepUntilPosted& operator=(const SleepUntilPosted&) = delete;
  /// False: something has been posted already.
  bool may_sleep() const { return may_sleep_; }

 private:
  bool may_sleep_;
};

}  // namespace fgmpi::sched
