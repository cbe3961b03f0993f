// Switching, parking, the host loop, and the life of rank proclets. Helpers are in helpers.cc.
#include "proclet-sched/sched.h"

#include <errno.h>
#include <malloc.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <boost/context/detail/fcontext.hpp>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "base/counters.h"
#include "proclet-sched/annotate.h"
#include "proclet-sched/debug_table.h"
#include "proclet-sched/immortal.h"
#include "proclet-sched/internal.h"
#include "proclet-sched/limits.h"
#include "proclet-sched/stacks.h"

fgmpi::sched::DebugTable fgmpi_debug_table;

namespace fgmpi::sched {

namespace ctx = boost::context::detail;

namespace detail {
constinit Hot g_hot;
}
using detail::g_hot;

namespace {

constexpr uint32_t kPollEvery = 64;  ///< the transports are polled every so many switches
/// What has not been needed for so long is given back; it costs some microseconds to have it again.
constexpr int64_t kTrimAfter = 100'000'000;
constexpr uint32_t kTrimPolls =
    512;  ///< polls of a busy process between looks at the clock for that
constexpr size_t kColouring = StackRegion::kColours * StackRegion::kColourBytes;
const WaitSite kSleepSite{"sleep", nullptr, false};

struct Timer {
  int64_t deadline;
  uint64_t order;  ///< first come, first woken among equal deadlines
  Proclet* proclet;
  bool operator>(const Timer& other) const {
    return deadline != other.deadline ? deadline > other.deadline : order > other.order;
  }
};

struct Scheduler {
  Hooks hooks;
  Options options;
  bool options_given = false;
  void (*switch_hook)(Proclet*, Proclet*) = nullptr;
  HookAt hook_at = HookAt::kWatched;
  void (*idle_hook)() = nullptr;
  bool (*trimmers[kMostTrimmers])() = {};
  uint32_t polls = 0;         ///< since a busy process last looked whether a trim is due
  int64_t trimmed_at = 0;     ///< when they were last called
  bool more_to_trim = false;  ///< what they returned then

  Proclet* ranks = nullptr;
  uint32_t count = 0;
  uint32_t live = 0;
  int exit_status = 0;
  StackRegion stacks;

  void* host_context = nullptr;
  void* host_fake_stack = nullptr;
  const void* host_low = nullptr;
  size_t host_size = 0;
  bool running = false;
  bool poll_due = true;
  uint64_t switches = 0;        ///< before this period between polls
  uint32_t period = 1;          ///< Hot::until_poll began with
  Proclet* finished = nullptr;  ///< jumped to the host stack to have its stack freed

  void (*host_call)(void*) = nullptr;  ///< asked for by the proclet that jumped to the host stack
  void* host_argument = nullptr;
  bool in_host_call = false;

  std::vector<Timer> timers;  ///< a min-heap
  uint64_t timer_order = 0;
  std::vector<Proclet*> shuffled;  ///< the run queue of the random policy
  uint64_t random = 0;

  int64_t idle_since = -1;
  uint32_t idle_rounds = 0;
  bool idle_reported = false;
};

constinit Immortal<Scheduler> g_scheduler;
constexpr Scheduler& g = g_scheduler.value;

uint64_t next_random() {  // splitmix64
  uint64_t z = (g.random += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

[[noreturn, gnu::cold]] void stack_overflowed(Proclet* p) {
  fprintf(
      stderr,
      "fgmpi: stack overflow of proclet %u of this process (%zu KiB, seen by its canary): raise "
      "FGMPI_STACK_SIZE\n",
      p->index, p->stack_size / 1024);
  abort();
}

// ---- the run queue ----

inline Proclet* pop_head() {
  Proclet* p = g_hot.head;
  g_hot.head = p->next;
  return p;
}

inline void push_front(Proclet* p) {
  p->next = g_hot.head;
  if (!g_hot.head) g_hot.tail = p;
  g_hot.head = p;
}

/// One of those ready under the random policy, or nullptr.
Proclet* pick_shuffled() {
  if (g.shuffled.empty()) return nullptr;
  size_t i = next_random() % g.shuffled.size();
  Proclet* p = g.shuffled[i];
  g.shuffled[i] = g.shuffled.back();
  g.shuffled.pop_back();
  return p;
}

/// The next proclet to run under any policy, or nullptr.
Proclet* pick() { return g_hot.head ? pop_head() : pick_shuffled(); }

bool anything_ready() { return g_hot.head || !g.shuffled.empty(); }

/// Puts a proclet behind all others (the random policy: among them).
void append(Proclet* p) {
  p->state = State::kReady;
  if (g.options.policy == Options::kRandom) return g.shuffled.push_back(p);
  detail::append_fifo(p);
}

// ---- the jump ----

/// What only some switches do: canaries, and what the hook's owner swaps.
[[gnu::noinline, gnu::cold]] void do_extras(Proclet* from, Proclet* to) {
  if (from && !stack_intact(from)) stack_overflowed(from);
  if (g.switch_hook) g.switch_hook(from, to);
}

void update_extras() {
  g_hot.extras =
      (g.switch_hook && g.hook_at == HookAt::kEachSwitch) || g.stacks.guard() == Guard::kCanary;
}

constexpr size_t kExceptionBytes = sizeof(Proclet::exception_state);

inline void extras_if_any(Proclet* from, Proclet* to) {
  if (__builtin_expect(g_hot.extras || g_hot.watched[0] != g_hot.watched[1], 0))
    do_extras(from, to);
}

/// Before the jump from a proclet to the host stack.
inline void save_runtime(Proclet* from) {
  from->saved_errno = *g_hot.cells.errno_cell;
  memcpy(from->exception_state, g_hot.cells.exceptions, kExceptionBytes);
  extras_if_any(from, nullptr);
}

/// Before the jump from the host stack to a proclet.
inline void load_runtime(Proclet* to) {
  extras_if_any(nullptr, to);
  memcpy(g_hot.cells.exceptions, to->exception_state, kExceptionBytes);
  *g_hot.cells.errno_cell = to->saved_errno;
}

inline void swap_runtime(Proclet* from, Proclet* to) {
  const RuntimeCells& cells = g_hot.cells;
  from->saved_errno = *cells.errno_cell;
  memcpy(from->exception_state, cells.exceptions, kExceptionBytes);
  memcpy(cells.exceptions, to->exception_state, kExceptionBytes);
  extras_if_any(from, to);
  *cells.errno_cell = to->saved_errno;
}

/// The other side of every jump: keeps the leaver's context where it asked to.
inline void arrived(ctx::transfer_t t) { *static_cast<void**>(t.data) = t.fctx; }

[[noreturn]] void proclet_main(ctx::transfer_t t);

/// A proclet's first context; made when it first runs, since that touches its stack.
[[gnu::noinline, gnu::cold]] void make_context(Proclet* p) {
  p->context = ctx::make_fcontext(stack_top(p), p->stack_size - kColouring, proclet_main);
}

inline void resume_target(Proclet* to) {
  if (__builtin_expect(!to->context, 0)) make_context(to);
  to->state = State::kRunning;
  g_hot.current = to;
}

inline void jump_between(Proclet* from, Proclet* to) {
  swap_runtime(from, to);
  resume_target(to);
  annotate::leave(&from->fake_stack, to->stack_low, to->stack_size);
  arrived(ctx::jump_fcontext(to->context, &from->context));
  annotate::arrive(from->fake_stack, nullptr, nullptr);
}

/// From a proclet to the host stack. `abandoned`: it will never run again.
inline void jump_to_host(Proclet* from, bool abandoned = false) {
  annotate::leave(abandoned ? nullptr : &from->fake_stack, g.host_low, g.host_size);
  arrived(ctx::jump_fcontext(g.host_context, &from->context));
  annotate::arrive(from->fake_stack, nullptr, nullptr);
}

/// From the host stack to a proclet, until somebody jumps back.
inline void jump_from_host(Proclet* to) {
  annotate::leave(&g.host_fake_stack, to->stack_low, to->stack_size);
  arrived(ctx::jump_fcontext(to->context, &g.host_context));
  annotate::arrive(g.host_fake_stack, nullptr, nullptr);
}

/// Begins another period between polls.
void begin_period() {
  g.switches += g.period;
  g.period = g_hot.until_poll = kPollEvery;
  g.poll_due = true;
}

/// The next switch goes to the host stack, which polls.
void poll_at_next_switch() {
  g.period -= g_hot.until_poll - 1;
  g_hot.until_poll = 1;
}

[[gnu::noinline]] void switch_to_host(Proclet* self) {
  if (g_hot.until_poll == 0) begin_period();
  save_runtime(self);
  jump_to_host(self);
}

/// Leaves the running proclet, whose state and queue membership are settled already, for the next
/// one; for the host stack when nothing is ready or the transports are due.
inline void switch_away(Proclet* self) {
  if (__builtin_expect(--g_hot.until_poll == 0 || !g_hot.head, 0)) return switch_to_host(self);
  jump_between(self, pop_head());
}

[[noreturn]] void proclet_main(ctx::transfer_t t) {
  asm volatile(".cfi_undefined rip");  // unwinders stop here
  arrived(t);
  const void* low = nullptr;
  size_t size = 0;
  annotate::arrive(nullptr, &low, &size);
  if (!g.host_low) g.host_low = low, g.host_size = size;  // the first one comes from the host stack
  Proclet* self = current();
  if (self->kind == Kind::kHelper) helper_main(self);
  self->entry(self->argument);
  finish(0);
}

// ---- the host loop ----

void wake_sleepers() {
  if (g.timers.empty()) return;
  int64_t now = now_ns();
  while (!g.timers.empty() && g.timers.front().deadline <= now) {
    Proclet* p = g.timers.front().proclet;
    std::pop_heap(g.timers.begin(), g.timers.end(), std::greater<>());
    g.timers.pop_back();
    p->state = State::kParked;
    ready(p);
  }
}

/// A proclet has come to the host stack: makes calls for it and others until one comes for something else.
void serve_host_calls() {
  while (g.host_call) {
    auto* function = g.host_call;
    g.host_call = nullptr;
    g.in_host_call = true;
    function(g.host_argument);
    g.in_host_call = false;
    jump_from_host(g_hot.current);
  }
  g_hot.current = nullptr;
  if (Proclet* dead = g.finished) {
    g.finished = nullptr;
    if (!stack_intact(dead)) stack_overflowed(dead);
    annotate::stack_gone(dead);
    g.stacks.discard(dead->index);
    dead->context = nullptr;
    --g.live;
  }
}

/// Runs proclets until one of them comes back for something else than a call on the host stack.
void run_from_host(Proclet* p) {
  load_runtime(p);
  resume_target(p);
  jump_from_host(p);
  serve_host_calls();
}

int64_t until_next_timer(int64_t now) {
  return g.timers.empty() ? -1 : std::max<int64_t>(g.timers.front().deadline - now, 0);
}

void sleep_in_kernel(int64_t timeout_ns) {
  if (g.hooks.sleep) return g.hooks.sleep(timeout_ns);
  if (timeout_ns < 0) {
    fprintf(stderr, "fgmpi: every proclet of this process is parked and nothing can wake one\n");
    abort();
  }
  const timespec t = to_timespec(timeout_ns);
  nanosleep(&t, nullptr);
}

/// Gives memory back that has not been needed since the last time, if that was long enough ago.
/// Returns true when there is more to be given back unless it is needed meanwhile.
bool trim_when_due(int64_t now) {
  if (now - g.trimmed_at < kTrimAfter) return g.more_to_trim;
  g.trimmed_at = now;
  const bool before = g.more_to_trim;
  g.more_to_trim = trim_helpers();
  for (auto* trimmer : g.trimmers)
    if (trimmer && trimmer()) g.more_to_trim = true;
#ifdef __GLIBC__
  // The last of a burst has been freed: most of it lies inside the allocator's heap, not at its end,
  // from where alone free() gives pages back.
  if (before && !g.more_to_trim) malloc_trim(1 << 20);
#endif
  return g.more_to_trim;
}

/// Nothing is ready and a poll found nothing. Returns true when the job is deadlocked.
bool idle() {
  if (g.idle_rounds++ % 16 == 0 || g.idle_since < 0) {
    int64_t now = now_ns();
    if (g.idle_since < 0) {
      g.idle_since = now;
      if (g.idle_hook) g.idle_hook();
    }
    if (now - g.idle_since >= g.hooks.spin_ns) {
      if (g.timers.empty() && !g.idle_reported) {
        g.idle_reported = true;
        if (g.hooks.all_parked && g.hooks.all_parked()) return true;
        if (anything_ready()) return false;
      }
      int64_t timeout = until_next_timer(now);
      if (trim_when_due(now)) timeout = timeout < 0 ? kTrimAfter : std::min(timeout, kTrimAfter);
      sleep_in_kernel(timeout);
      g.idle_since = -1;
    }
    return false;
  }
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
  return false;
}

}  // namespace

void detail::ready_by_policy(Proclet* p) {
  if (g.options.policy == Options::kRandom) return g.shuffled.push_back(p);
  push_front(p);  // lifo
}

char* stack_top(const Proclet* p) {
  return p->kind == Kind::kRank ? g.stacks.top(p->index) : helper_stack_top(p);
}

bool stack_intact(const Proclet* p) {
  return p->kind == Kind::kRank ? g.stacks.intact(p->index) : helper_stack_intact(p);
}

void make_runnable(Proclet* p) { append(p); }
const Options& options() { return g.options; }
void require_canary_checks() { g_hot.extras = true; }

void set_hooks(const Hooks& hooks) { g.hooks = hooks; }

void set_options(const Options& options) {
  g.options = options;
  g.options_given = true;
}

void set_idle_hook(void (*hook)()) { g.idle_hook = hook; }

void add_trimmer(bool (*trim)()) {
  for (auto*& slot : g.trimmers) {
    if (slot == trim) return;
    if (slot) continue;
    slot = trim;
    return;
  }
  FGMPI_CHECK(!"more trimmers than kMostTrimmers");
}

void set_runtime_cells(const RuntimeCells& cells) { g_hot.cells = cells; }
void watch(const void* const* words) { g_hot.watched = words; }

void set_switch_hook(void (*hook)(Proclet*, Proclet*), HookAt at) {
  g.switch_hook = hook;
  g.hook_at = at;
  update_extras();
}

void call_hook_at_each_switch() {
  g.hook_at = HookAt::kEachSwitch;
  update_extras();
}

namespace {

size_t main_thread_stack_size() {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return size_t{64} << 20;
  return std::max<size_t>(limit.rlim_cur, size_t{64} << 10);
}

/// Two touched pages of stack and this descriptor are the least a rank costs.
Status check_room(uint32_t count) {
  constexpr int64_t kLeast = 9 * 1024;
  int64_t memory = memory_left();
  if (memory >= 0 && count * kLeast > memory)
    return error(
        MPI_ERR_NO_MEM,
        "%u ranks in one process need at least %lld MiB of memory, %lld MiB are available: at "
        "most %lld ranks would fit",
        count, static_cast<long long>(count * kLeast >> 20), static_cast<long long>(memory >> 20),
        static_cast<long long>(memory / kLeast));
  uint32_t fit = ranks_that_fit(address_space_left(), sizeof(Proclet), count, g.options.stack_size);
  if (fit < count)
    return error(
        MPI_ERR_NO_MEM,
        "no address space for the stacks of %u ranks: at most %u ranks would fit; raise the limit "
        "on address space (ulimit -v) or lower FGMPI_STACK_SIZE",
        count, fit);
  return Status();
}

}  // namespace

size_t default_stack_size(uint32_t count) {
  if (count <= 1) return main_thread_stack_size();
  if (count <= kLargeStacks) return size_t{1} << 20;
  return count <= kMediumStacks ? size_t{256} << 10 : size_t{64} << 10;
}

Status create_ranks(uint32_t count, void (*entry)(void*), void* argument) {
  FGMPI_CHECK(!g.running && g.live == 0 && count > 0);
  if (!g.options_given) {
    g.options = configured_options();
  }
  if (g.ranks) {
    annotate::unmapped(g.ranks, g.count * sizeof(Proclet));
    munmap(g.ranks, g.count * sizeof(Proclet));
  }
  g.ranks = nullptr;
  g.count = 0;
  const size_t stack_size = g.options.stack_size ? g.options.stack_size : default_stack_size(count);
  FGMPI_TRY(check_room(count));
  FGMPI_TRY(g.stacks.reserve(count, stack_size, "ranks"));
  void* memory = mmap(nullptr, count * sizeof(Proclet), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return error(MPI_ERR_NO_MEM, "no address space for the descriptors of %u ranks", count);
  annotate::holds_pointers(memory, count * sizeof(Proclet));
  g.ranks = static_cast<Proclet*>(memory);
  g.count = g.live = count;
  fgmpi_debug_table.ranks = g.ranks;
  fgmpi_debug_table.rank_count = count;
  g.exit_status = 0;
  g.random = g.options.seed;
  g_hot.head = nullptr;
  g_hot.fifo = g.options.policy == Options::kFifo;
  g.shuffled.clear();
  for (uint32_t i = 0; i < count; ++i) {
    Proclet* p = new (g.ranks + i) Proclet();
    p->index = i;
    p->entry = entry;
    p->argument = argument;
    p->stack_low = g.stacks.low(i);
    p->stack_size = g.stacks.stack_size();
    g.stacks.install_guard(i);
    annotate::stack_created(p);
    append(p);
  }
  update_extras();
  return Status();
}

namespace {

/// The host loop. Returns true when the job is deadlocked, false when every rank has finished.
bool host_loop() {
  bool deadlocked = false;
  while (g.live > 0 && !deadlocked) {
    bool due = g.poll_due || !anything_ready();
    g.poll_due = false;
    bool progressed = due && g.hooks.poll && g.hooks.poll();
    if (due) wake_sleepers();
    if (Proclet* p = pick()) {
      g.idle_since = -1;
      g.idle_reported = false;
      if (due && ++g.polls >= kTrimPolls) {
        g.polls = 0;
        trim_when_due(now_ns());
      }
      run_from_host(p);
    } else if (progressed) {
      g.idle_since = -1;
      g.idle_reported = false;
    } else {
      deadlocked = idle();
    }
  }
  return deadlocked;
}

/// The host stack of an adopted caller, entered when the caller first leaves its own.
[[noreturn]] void adopted_host(ctx::transfer_t t) {
  asm volatile(".cfi_undefined rip");  // unwinders stop here
  arrived(t);
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
  g.host_low = p->stack_low;
  g.host_size = p->stack_size;
  g.host_context = ctx::make_fcontext(stack_top(p), p->stack_size - kColouring, adopted_host);
  pthread_attr_t attributes;
  void* low = nullptr;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &low, &p->stack_size);
    pthread_attr_destroy(&attributes);
  }
  p->stack_low = static_cast<char*>(low);
  p->state = State::kRunning;
  g_hot.current = p;
  g.running = true;
  g.idle_since = -1;
  return Status();
}

int run() {
  FGMPI_CHECK(!g.running && !current());
  g.running = true;
  g.host_low = nullptr;
  g.idle_since = -1;
  const bool deadlocked = host_loop();
  g.running = false;
  if (!deadlocked) return g.exit_status;
  g.live = 0;
  // A rank that has ended its program may be waiting for the end of the job.
  for (uint32_t i = 0; i < g.count && g.exit_status == 0; ++i)
    g.exit_status = g.ranks[i].exit_status;
  return g.exit_status ? g.exit_status : 1;
}

Proclet* rank_proclet(uint32_t index) {
  FGMPI_ASSERT(index < g.count);
  return g.ranks + index;
}
uint32_t rank_count() { return g.count; }
uint32_t live_ranks() { return g.live; }

void park(const WaitSite* site) {
  Proclet* self = g_hot.current;
  FGMPI_ASSERT(self && !g.in_host_call);
  self->wait = site;
  self->state = State::kParked;
  switch_away(self);
  self->wait = nullptr;
}

void park_idle_helper(Proclet* self) {
  self->state = State::kFinished;
  switch_away(self);
}

void yield() {
  Proclet* self = g_hot.current;
  if (__builtin_expect(!self, 0)) {
    if (g.hooks.poll) g.hooks.poll();
    return;
  }
  if (__builtin_expect(g.in_host_call, 0)) return;
  if (Proclet* next = pick_shuffled()) push_front(next);  // before we are among those to pick from
  if (!g_hot.head) poll_at_next_switch();                 // alone: the transports are due
  append(self);
  switch_away(self);
}

void sleep_for(int64_t ns) {
  Proclet* self = current();
  if (!self || g.in_host_call) {
    const timespec t = to_timespec(ns);
    nanosleep(&t, nullptr);
    return;
  }
  if (ns <= 0) return yield();
  int64_t now = now_ns();
  const int64_t deadline = add_time(now, ns);
  g.timers.push_back({deadline, g.timer_order++, self});
  std::push_heap(g.timers.begin(), g.timers.end(), std::greater<>());
  self->wait = &kSleepSite;
  self->state = State::kSleeping;
  switch_away(self);
  self->wait = nullptr;
}

void finish(int exit_status) {
  Proclet* self = current();
  FGMPI_CHECK(self && self->kind == Kind::kRank && !g.in_host_call);
  self->exit_status = exit_status;
  if (g.exit_status == 0) g.exit_status = exit_status;
  self->state = State::kFinished;
  g.finished = self;
  if (--g_hot.until_poll == 0) begin_period();
  save_runtime(self);
  jump_to_host(self, true);
  __builtin_unreachable();
}

bool on_host_stack() { return !g_hot.current || g.in_host_call; }

void call_on_host_stack(void (*function)(void*), void* argument) {
  Proclet* self = g_hot.current;
  if (!self || g.in_host_call) return function(argument);
  g.host_call = function;
  g.host_argument = argument;
  jump_to_host(self);
}

uint64_t switch_count() { return g.switches + (g.period - g_hot.until_poll); }

namespace {
[[maybe_unused]] const bool g_counter_provided =
    (counters::provide(counters::kSwitches, [](const void*) { return switch_count(); }), true);
}

const char* guard_kind() {
  switch (g.stacks.guard()) {
    case Guard::kGuardPages:
      return "guard pages";
    case Guard::kMprotect:
      return "mprotect";
    case Guard::kCanary:
      break;
  }
  return "canary";
}

void switch_guards(int on) {
  g.stacks.switch_guards(g.count, on != 0);
  switch_helper_guards(on != 0);
}

Proclet* proclet_of_address(const void* address, bool* in_guard) {
  int64_t slot = g.stacks.slot_of(address, in_guard);
  return slot >= 0 ? g.ranks + slot : helper_of_address(address, in_guard);
}

}  // namespace fgmpi::sched
