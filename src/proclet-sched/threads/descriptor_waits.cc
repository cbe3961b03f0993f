// The thread that polls for all proclets that wait for descriptors.

#include "proclet-sched/threads/descriptor_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/plain_mutex.h"
#include "base/process_threads.h"
#include "base/raw_call.h"
#include "proclet-sched/immortal.h"
#include "proclet-sched/sched.h"
#include "proclet-sched/threads/blocking.h"
#include "proclet-sched/threads/completions.h"

namespace fgmpi::sched {
namespace {

/// How long a wait lasts where no thread can poll for it, or poll() fails (ns): the caller then
/// checks by itself.
constexpr int64_t kBlindWait = 1'000'000;

struct DescriptorWaiter : Completion {
  const DescriptorWait* wait = nullptr;
  Proclet* proclet = nullptr;
  WaitEnd end = WaitEnd::kReady;
  DescriptorWaiter* next_waiting = nullptr;
};

struct DescriptorPoller {
  int doorbell = -1;  ///< an eventfd that ends the thread's poll(); made once
  PlainMutex mutex;   ///< protects the members that follow
  bool runs = false;
  bool to_end = false;  ///< no proclet has waited for a while
  DescriptorWaiter* added = nullptr;
};
constinit Immortal<DescriptorPoller> g_immortal_poller;
constexpr DescriptorPoller& g_poller = g_immortal_poller.value;
bool g_used = false;  ///< since the last trim; used inside

/// True while the thread has waits that a handler may interrupt.
std::atomic<bool> g_has_waits{false};

void ring() {
  const uint64_t one = 1;
  raw_call(SYS_write, g_poller.doorbell, reinterpret_cast<long>(&one), sizeof one);
}

// ---- The thread ---------------------------------------------------------------------------------

/// Used by the thread only: the waits that it polls for, and their descriptors.
struct Polled {
  DescriptorWaiter* first = nullptr;
  pollfd* fds = nullptr;
  size_t room = 0;

  ~Polled() { free(fds); }
  /// False: there is no memory for so many.
  bool make_room(size_t count) {
    if (count <= room) return true;
    void* more = realloc(fds, 2 * count * sizeof(pollfd));
    if (!more) return false;
    fds = static_cast<pollfd*>(more);
    room = 2 * count;
    return true;
  }
};

/// Moves the added waits into the thread's list. False: the thread is to end.
bool receive_added(Polled* polled) {
  std::lock_guard<PlainMutex> guard(g_poller.mutex);
  while (DescriptorWaiter* w = g_poller.added) {
    g_poller.added = w->next_waiting;
    w->next_waiting = polled->first;
    polled->first = w;
  }
  const bool ends = g_poller.to_end && !polled->first;
  g_poller.to_end = false;
  if (ends) g_poller.runs = false;
  g_has_waits.store(polled->first != nullptr);
  return !ends;
}

/// Writes all descriptors behind the doorbell's, wait by wait. Returns their number; *deadline: the
/// earliest one. 0: no memory.
size_t gather_descriptors(Polled* polled, int64_t* deadline) {
  size_t count = 1;
  *deadline = INT64_MAX;
  for (DescriptorWaiter* w = polled->first; w; w = w->next_waiting) {
    count += w->wait->count;
    *deadline = std::min(*deadline, w->wait->deadline);
  }
  if (!polled->make_room(count)) return 0;
  polled->fds[0] = {g_poller.doorbell, POLLIN, 0};
  pollfd* at = polled->fds + 1;
  for (DescriptorWaiter* w = polled->first; w; w = w->next_waiting)
    at = std::copy_n(w->wait->fds, w->wait->count, at);
  return count;
}

/// Ends the waits that are over. `valid`: poll() has filled in revents.
void post_ended(Polled* polled, bool valid) {
  const int64_t now = now_ns();
  const pollfd* at = polled->fds + 1;
  for (DescriptorWaiter** link = &polled->first; *link;) {
    DescriptorWaiter* w = *link;
    const DescriptorWait& wait = *w->wait;
    const bool ready = !valid || std::any_of(at, at + wait.count,
                                             [](const pollfd& fd) { return fd.revents != 0; });
    at += wait.count;
    if (!ready && now < wait.deadline && !is_interrupted(wait)) {
      link = &w->next_waiting;
      continue;
    }
    w->end = ready && wait.count > 0 ? WaitEnd::kReady
             : is_interrupted(wait)  ? WaitEnd::kInterrupted
             : now >= wait.deadline  ? WaitEnd::kTimeOver
                                     : WaitEnd::kReady;
    *link = w->next_waiting;
    post_completion(w);  // from here on `w` may be gone
  }
}

void* poll_for_all(void*) {
  const LibraryThread of_library;
  Polled polled;
  while (receive_added(&polled)) {
    int64_t deadline;
    const size_t count = gather_descriptors(&polled, &deadline);
    int64_t left = deadline == INT64_MAX ? -1 : std::max<int64_t>(deadline - now_ns(), 0);
    // Handlers that ran before g_has_waits was set have not rung the doorbell.
    for (DescriptorWaiter* w = polled.first; w; w = w->next_waiting)
      if (is_interrupted(*w->wait)) left = 0;
    const timespec timeout = to_timespec(std::max<int64_t>(left, 0));
    const long n = count == 0 ? -ENOMEM
                              : raw_call(SYS_ppoll, reinterpret_cast<long>(polled.fds),
                                         static_cast<long>(count),
                                         reinterpret_cast<long>(left < 0 ? nullptr : &timeout));
    if (n == -EINTR) continue;
    const bool broken = n < 0 || polled.fds[0].revents & POLLNVAL;
    if (broken) {
      const timespec pause = to_timespec(kBlindWait);
      raw_call(SYS_nanosleep, reinterpret_cast<long>(&pause), 0);
      if (count == 0) continue;
    } else if (polled.fds[0].revents) {
      uint64_t rings;
      raw_call(SYS_read, g_poller.doorbell, reinterpret_cast<long>(&rings), sizeof rings);
    }
    post_ended(&polled, n >= 0);
  }
  return nullptr;
}

// ---- On the scheduler's thread ------------------------------------------------------------------

bool trim_poller() {
  std::lock_guard<PlainMutex> guard(g_poller.mutex);
  if (!g_poller.runs || g_used) return std::exchange(g_used, false) || g_poller.runs;
  g_poller.to_end = true;
  ring();
  return false;
}

/// Called on the host stack, where a new thread belongs to no rank.
bool start_poller() {
  if (g_poller.doorbell < 0)
    g_poller.doorbell = move_descriptor_up(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (g_poller.doorbell < 0) return false;
  if (!start_thread_of_nobody(poll_for_all, nullptr)) return false;
  add_trimmer(trim_poller);
  return true;
}

/// False: no thread will end the wait.
bool add_waiting(DescriptorWaiter* w) {
  std::lock_guard<PlainMutex> guard(g_poller.mutex);
  if (!g_poller.runs) {
    call_on_host([] { g_poller.runs = start_poller(); });
    if (!g_poller.runs) return false;
  }
  w->next_waiting = g_poller.added;
  g_poller.added = w;
  return true;
}

}  // namespace

bool is_interrupted(const DescriptorWait& w) {
  const Interruptions now = w.counts->read();
  return w.restarts ? now.not_restarting != w.since.not_restarting : now.all != w.since.all;
}

void count_interruption(InterruptionCounts* counts, bool restarting) {
  counts->all.fetch_add(1);
  if (!restarting) counts->not_restarting.fetch_add(1);
  if (g_has_waits.load()) ring();
}

namespace {

/// The wait in a run that repeats: no other thread may end it, since nobody would know when. The
/// proclet polls in turns. What poll() answers is recorded.
WaitEnd poll_in_turns(const DescriptorWait& wait) {
  constexpr int64_t kFirstPause = 50'000, kLongestPause = 5'000'000;
  int64_t pause = kFirstPause;
  for (;;) {
    if (is_interrupted(wait)) return WaitEnd::kInterrupted;
    for (size_t i = 0; i < wait.count; ++i) {
      pollfd one = wait.fds[i];
      const timespec none{};
      if (raw_call(SYS_ppoll, reinterpret_cast<long>(&one), 1, reinterpret_cast<long>(&none)) > 0)
        return WaitEnd::kReady;
    }
    const int64_t left = wait.deadline - now_ns();
    if (left <= 0) return WaitEnd::kTimeOver;
    sleep_for(std::min(pause, left));
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace

WaitEnd wait_for_descriptors(const DescriptorWait& wait) {
  if (is_repeatable()) return poll_in_turns(wait);
  DescriptorWaiter w;
  w.wait = &wait;
  w.proclet = current();
  w.done = [](Completion* c) { ready(static_cast<DescriptorWaiter*>(c)->proclet); };
  g_used = true;
  if (!add_waiting(&w)) {
    const int64_t now = now_ns();
    sleep_for(std::min(kBlindWait, std::max<int64_t>(wait.deadline - now, 0)));
    if (is_interrupted(wait)) return WaitEnd::kInterrupted;
    return now_ns() >= wait.deadline ? WaitEnd::kTimeOver : WaitEnd::kReady;
  }
  ring();
  const WaitSite site{wait.call, nullptr, false};
  park(&site);
  return w.end;
}

bool polls_descriptors() {
  std::lock_guard<PlainMutex> guard(g_poller.mutex);
  return g_poller.runs;
}

}  // namespace fgmpi::sched
