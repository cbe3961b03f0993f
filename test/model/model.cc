// The model's memory, threads and kernel. The choices of an execution follow from its number.

#include "model.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/context/detail/fcontext.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

namespace fgmpi::model {
namespace {

namespace ctx = boost::context::detail;

constexpr size_t kLocations = 48, kThreads = 4, kStack = 256 << 10;
constexpr int kMostSteps = 20'000;  ///< of an execution; more: it makes no progress
constexpr unsigned kOrders = 6;
static_assert(static_cast<int>(std::memory_order_seq_cst) == kOrders - 1);

/// What a thread knows: by location, the number of the oldest value that it may read; by thread,
/// the time up to which it has seen that thread's accesses.
struct Knowledge {
  std::array<uint32_t, kLocations> oldest{};
  std::array<uint32_t, kThreads> clock{};

  void learn(const Knowledge& other) {
    learn_values(other);
    for (size_t i = 0; i < kThreads; ++i) clock[i] = std::max(clock[i], other.clock[i]);
  }
  void learn_values(const Knowledge& other) {
    for (size_t i = 0; i < kLocations; ++i) oldest[i] = std::max(oldest[i], other.oldest[i]);
  }
};

struct StoredValue {
  uint64_t value;
  Knowledge published;
};

struct Location {
  std::string name;
  std::vector<StoredValue> values;
};

/// The accesses to four bytes: by thread, the time of the last one.
struct Accesses {
  std::array<uint32_t, kThreads> read{}, written{}, atomic{};
};
enum class Access : uint8_t { kRead, kWrite, kAtomic };
constexpr size_t kWord = 4;

struct ModelThread {
  std::function<void()> body;
  ctx::fcontext_t context = nullptr;
  Knowledge known;
  Knowledge at_acquire_fence;  ///< what relaxed loads have seen
  Knowledge at_release_fence;  ///< what relaxed stores publish
  const void* sleeps_on = nullptr;
  bool ended = false;
};

struct Model {
  std::vector<ModelThread> threads;
  std::unordered_map<uintptr_t, size_t> location_at;
  std::vector<Location> locations;
  std::unordered_map<uintptr_t, Accesses> accesses;  ///< by the address, divided by kWord
  std::unordered_map<uintptr_t, std::string> names;
  Knowledge consistent;  ///< what sequentially consistent operations have passed on
  std::set<Operation> ordered;
  Operation weakened;
  std::string failure;
  ctx::fcontext_t explorer = nullptr;
  uint64_t random = 0;
  int64_t time = 0;
  int steps = 0;
  int running = -1;     ///< index of a thread; -1: the explorer
  bool inside = false;  ///< the model's own code runs
};
/// Thrown by fail() where no thread runs.
struct Failed {};
Model* g_model = nullptr;
char* g_stacks = nullptr;

/// True while the code under test runs; its accesses are the model's.
bool active() { return g_model && g_model->running >= 0 && !g_model->inside; }

/// While it exists, accesses to memory are the model's own.
class Inside {
 public:
  Inside() { g_model->inside = true; }
  ~Inside() { g_model->inside = false; }
};

uint64_t draw(uint64_t below) {
  uint64_t& x = g_model->random;  // xorshift64
  x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return (x >> 11) % below;
}

ModelThread& self() { return g_model->threads[static_cast<size_t>(g_model->running)]; }

bool on_a_stack(uintptr_t address) {
  return address - reinterpret_cast<uintptr_t>(g_stacks) < kThreads * kStack;
}

// ---- Threads ------------------------------------------------------------------------------------

/// Lets the explorer choose who goes on.
void pause() {
  const bool inside = g_model->inside;
  const auto from = ctx::jump_fcontext(g_model->explorer, nullptr);
  g_model->explorer = from.fctx;
  g_model->inside = inside;
}

void run_body(ctx::transfer_t from) {
  g_model->explorer = from.fctx;
  self().body();
  self().ended = true;
  pause();
  std::abort();  // an ended thread runs no more
}

/// Runs one of the threads that can run until its next choice. False: there is none.
bool run_one() {
  std::array<int, kThreads> can{};
  size_t count = 0;
  for (size_t i = 0; i < g_model->threads.size(); ++i)
    if (!g_model->threads[i].ended && !g_model->threads[i].sleeps_on)
      can[count++] = static_cast<int>(i);
  if (count == 0) return false;
  g_model->running = can[draw(count)];
  g_model->inside = false;
  const auto from = ctx::jump_fcontext(self().context, nullptr);
  self().context = from.fctx;
  g_model->running = -1;
  return true;
}

void choose_thread() {
  if (++g_model->steps > kMostSteps) fail("the threads make no progress");
  if (draw(2) == 0) pause();
}

// ---- Memory -------------------------------------------------------------------------------------

uint64_t load_now(const volatile void* at, size_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, const_cast<const void*>(at), bytes);
  return value;
}

/// Records an access, which must not conflict with one of another thread that does not happen
/// before it.
void record_access(const volatile void* at, size_t bytes, Access access) {
  const auto first = reinterpret_cast<uintptr_t>(at);
  if (bytes == 0 || on_a_stack(first)) return;
  const auto me = static_cast<size_t>(g_model->running);
  const Knowledge& known = self().known;
  for (uintptr_t word = first / kWord; word <= (first + bytes - 1) / kWord; ++word) {
    Accesses& before = g_model->accesses[word];
    for (size_t i = 0; i < g_model->threads.size(); ++i) {
      if (i == me) continue;
      if (before.written[i] > known.clock[i] ||
          (access != Access::kAtomic && before.atomic[i] > known.clock[i]) ||
          (access != Access::kRead && before.read[i] > known.clock[i]))
        fail("a data race between threads " + std::to_string(i) + " and " + std::to_string(me));
    }
    // The access counts for operations that come after the thread's last one.
    auto& times = access == Access::kRead    ? before.read
                  : access == Access::kWrite ? before.written
                                             : before.atomic;
    times[me] = known.clock[me] + 1;
  }
}

size_t location_of(const volatile void* at, size_t bytes) {
  record_access(at, bytes, Access::kAtomic);
  const auto address = reinterpret_cast<uintptr_t>(at);
  const auto [found, is_new] = g_model->location_at.try_emplace(address, g_model->locations.size());
  if (is_new) {
    if (g_model->locations.size() == kLocations) fail("too many atomic locations");
    const auto named = g_model->names.find(address);
    g_model->locations.push_back(
        {named == g_model->names.end() ? "unnamed" : named->second, {{load_now(at, bytes), {}}}});
  }
  return found->second;
}

/// The order of an operation, or none where it is the weakened one.
int order_of(const Operation& operation, int order) {
  order %= static_cast<int>(kOrders);
  if (order == static_cast<int>(std::memory_order_relaxed)) return order;
  g_model->ordered.insert(operation);
  return operation == g_model->weakened ? static_cast<int>(std::memory_order_relaxed) : order;
}
bool acquires(int order) {
  const auto o = static_cast<std::memory_order>(order);
  return o != std::memory_order_relaxed && o != std::memory_order_release;
}
bool releases(int order) {
  const auto o = static_cast<std::memory_order>(order);
  return o == std::memory_order_release || o == std::memory_order_acq_rel ||
         o == std::memory_order_seq_cst;
}
bool is_consistent(int order) {
  return static_cast<std::memory_order>(order) == std::memory_order_seq_cst;
}

void read_value(size_t at, size_t number, int order) {
  ModelThread& thread = self();
  const StoredValue& value = g_model->locations[at].values[number];
  thread.known.oldest[at] = std::max(thread.known.oldest[at], static_cast<uint32_t>(number));
  (acquires(order) ? thread.known : thread.at_acquire_fence).learn(value.published);
}

/// A number of a value that the thread may read now.
size_t readable(size_t at, int order) {
  const auto& values = g_model->locations[at].values;
  size_t oldest = self().known.oldest[at];
  if (is_consistent(order)) oldest = std::max<size_t>(oldest, g_model->consistent.oldest[at]);
  const size_t last = values.size() - 1;
  return draw(2) ? last : oldest + draw(last - oldest + 1);
}

void append(size_t at, uint64_t value, int order, const Knowledge* before) {
  ModelThread& thread = self();
  auto& values = g_model->locations[at].values;
  const auto number = static_cast<uint32_t>(values.size());
  thread.known.oldest[at] = number;
  Knowledge published = releases(order) ? thread.known : thread.at_release_fence;
  if (before) published.learn(*before);  // a change continues what the store before has released
  published.oldest[at] = number;
  values.push_back({value, published});
  if (is_consistent(order)) g_model->consistent.oldest[at] = number;
}

/// Begins an operation of the running thread: another thread may go on first.
void begin_operation() {
  choose_thread();
  ++self().known.clock[static_cast<size_t>(g_model->running)];
}

void pass_fence(ModelThread& thread, int order) {
  if (acquires(order)) thread.known.learn(thread.at_acquire_fence);
  if (is_consistent(order)) {
    thread.known.learn_values(g_model->consistent);
    g_model->consistent.learn_values(thread.known);
  }
  if (releases(order)) thread.at_release_fence = thread.known;
}

uint64_t load(const volatile void* at, size_t bytes, int order) {
  begin_operation();
  const size_t location = location_of(at, bytes);
  order = order_of(g_model->locations[location].name + " load", order);
  const size_t number = readable(location, order);
  read_value(location, number, order);
  return g_model->locations[location].values[number].value;
}

void store(volatile void* at, uint64_t value, size_t bytes, int order) {
  begin_operation();
  const size_t location = location_of(at, bytes);
  order = order_of(g_model->locations[location].name + " store", order);
  append(location, value, order, nullptr);
  std::memcpy(const_cast<void*>(at), &value, bytes);
}

/// Changes the last value by `f`, and returns it.
template <class F>
uint64_t change(volatile void* at, size_t bytes, int order, F f) {
  begin_operation();
  const size_t location = location_of(at, bytes);
  order = order_of(g_model->locations[location].name + " change", order);
  const size_t last = g_model->locations[location].values.size() - 1;
  const StoredValue before = g_model->locations[location].values[last];
  read_value(location, last, order);
  const uint64_t after = f(before.value);
  append(location, after, order, &before.published);
  std::memcpy(const_cast<void*>(at), &after, bytes);
  return before.value;
}

bool compare_exchange(volatile void* at, void* expected, uint64_t desired, size_t bytes, int order,
                      int failure_order, bool weak) {
  begin_operation();
  const size_t location = location_of(at, bytes);
  const auto& values = g_model->locations[location].values;
  uint64_t wanted = 0;
  std::memcpy(&wanted, expected, bytes);
  const Operation operation = g_model->locations[location].name + " change";
  order = order_of(operation, order);
  failure_order = order_of(operation, failure_order);
  size_t number = readable(location, failure_order);
  if (values[number].value == wanted) number = values.size() - 1;
  const uint64_t seen = values[number].value;
  if (seen != wanted || (weak && draw(8) == 0)) {
    read_value(location, number, failure_order);
    std::memcpy(expected, &seen, bytes);
    return false;
  }
  const StoredValue before = values[number];
  read_value(location, number, order);
  append(location, desired, order, &before.published);
  std::memcpy(const_cast<void*>(at), &desired, bytes);
  return true;
}

void fence(int order) {
  begin_operation();
  const int kept = order_of("fence", order);
  pass_fence(self(), kept);
}

// ---- The kernel ---------------------------------------------------------------------------------

void sleep_on(const void* word, uint32_t value) {
  begin_operation();
  pass_fence(self(), static_cast<int>(std::memory_order_seq_cst));
  const size_t location = location_of(word, sizeof value);
  if (static_cast<uint32_t>(g_model->locations[location].values.back().value) != value) return;
  self().sleeps_on = word;
  pause();
}

void wake_one(const void* word) {
  begin_operation();
  pass_fence(self(), static_cast<int>(std::memory_order_seq_cst));
  for (ModelThread& thread : g_model->threads) {
    if (thread.sleeps_on != word) continue;
    thread.sleeps_on = nullptr;
    return;
  }
}

void barrier_of_all() {
  begin_operation();
  const int order = order_of("membarrier", static_cast<int>(std::memory_order_seq_cst));
  if (order == static_cast<int>(std::memory_order_relaxed)) return;
  pass_fence(self(), order);
  for (ModelThread& thread : g_model->threads) pass_fence(thread, order);
  pass_fence(self(), order);
}

long system_call(long number, long a, long b, long c) {
  const auto* word = reinterpret_cast<const void*>(a);
  if (number == SYS_futex && (b & FUTEX_CMD_MASK) == FUTEX_WAIT)
    sleep_on(word, static_cast<uint32_t>(c));
  else if (number == SYS_futex)
    wake_one(word);
  else if (number == SYS_membarrier && a != MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED &&
           a != MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED)
    barrier_of_all();
  else if (number == SYS_sched_yield)
    begin_operation();
  return 0;
}

// ---- Executions ---------------------------------------------------------------------------------

/// Runs one execution; its failure is in g_model.
void execute(Scenario& scenario) {
  auto bodies = scenario.threads();
  if (bodies.size() > kThreads) std::abort();
  g_model->threads.resize(bodies.size());
  for (size_t i = 0; i < bodies.size(); ++i) {
    ModelThread& thread = g_model->threads[i];
    thread.body = std::move(bodies[i]);
    thread.context = ctx::make_fcontext(g_stacks + (i + 1) * kStack, kStack, run_body);
  }
  while (g_model->failure.empty() && run_one()) {
  }
  if (!g_model->failure.empty()) return;
  for (size_t i = 0; i < g_model->threads.size(); ++i)
    if (!g_model->threads[i].ended) {
      g_model->failure = "a lost wake-up: thread " + std::to_string(i) + " sleeps for ever";
      return;
    }
  try {
    scenario.check();
  } catch (const Failed&) {
  }
}

}  // namespace

Exploration explore(const std::function<std::unique_ptr<Scenario>()>& make, int executions,
                    const Operation& weakened) {
  if (!g_stacks)
    g_stacks = static_cast<char*>(mmap(nullptr, kThreads * kStack, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  Exploration result;
  for (int i = 0; i < executions && result.failure.empty(); ++i) {
    Model model;
    model.random = 0x9e3779b97f4a7c15ull * static_cast<uint64_t>(i + 1);
    model.weakened = weakened;
    g_model = &model;
    const std::unique_ptr<Scenario> scenario = make();
    execute(*scenario);
    result.ordered.merge(model.ordered);
    if (!model.failure.empty())
      result.failure = "execution " + std::to_string(i) + ": " + model.failure;
    g_model = nullptr;
  }
  return result;
}

std::string judge(const std::function<std::unique_ptr<Scenario>()>& make, int executions,
                  const std::set<Operation>& not_needed) {
  const Exploration whole = explore(make, executions);
  std::string wrong = whole.failure;
  for (const Operation& operation : whole.ordered) {
    if (not_needed.contains(operation)) continue;
    const Exploration without = explore(make, executions, operation);
    if (without.failure.empty()) wrong += "\nnothing shows that this order is needed: " + operation;
  }
  for (const Operation& operation : not_needed)
    if (!whole.ordered.contains(operation)) wrong += "\nno operation has an order: " + operation;
  return wrong;
}

void name(const volatile void* atomic, const char* name) {
  g_model->names[reinterpret_cast<uintptr_t>(atomic)] = name;
}

void fail(const std::string& why) {
  if (g_model->failure.empty()) g_model->failure = why;
  if (g_model->running >= 0)
    for (;;) pause();
  throw Failed{};
}

void step() {
  if (!active()) return;
  const Inside inside;
  begin_operation();
}

// ---- What the compiler's instrumentation calls --------------------------------------------------

}  // namespace fgmpi::model

namespace model = fgmpi::model;

#define FGMPI_PLAIN(bytes)                                                           \
  extern "C" void __tsan_read##bytes(void* at) {                                     \
    if (model::active()) plain_access(at, bytes, false);                             \
  }                                                                                  \
  extern "C" void __tsan_write##bytes(void* at) {                                    \
    if (model::active()) plain_access(at, bytes, true);                              \
  }                                                                                  \
  extern "C" void __tsan_unaligned_read##bytes(void* at) { __tsan_read##bytes(at); } \
  extern "C" void __tsan_unaligned_write##bytes(void* at) { __tsan_write##bytes(at); }

namespace {
void plain_access(const void* at, size_t bytes, bool writes) {
  const model::Inside inside;
  model::record_access(at, bytes, writes ? model::Access::kWrite : model::Access::kRead);
}
}  // namespace

FGMPI_PLAIN(1)
FGMPI_PLAIN(2)
FGMPI_PLAIN(4)
FGMPI_PLAIN(8)
FGMPI_PLAIN(16)
#undef FGMPI_PLAIN

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* at, size_t bytes) {
  if (model::active()) plain_access(at, bytes, false);
}
void __tsan_write_range(void* at, size_t bytes) {
  if (model::active()) plain_access(at, bytes, true);
}

void* __real_memcpy(void* to, const void* from, size_t bytes);
void* __wrap_memcpy(void* to, const void* from, size_t bytes) {
  if (model::active()) {
    plain_access(from, bytes, false);
    plain_access(to, bytes, true);
  }
  return __real_memcpy(to, from, bytes);
}

long fgmpi_model_system_call(long number, long a, long b, long c) {
  if (!model::active()) return 0;
  const model::Inside inside;
  return model::system_call(number, a, b, c);
}
long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
  if (!model::active()) return __real_syscall(number, a, b, c, d, e, f);
  return fgmpi_model_system_call(number, a, b, c);
}
int __real_clock_gettime(clockid_t clock, timespec* t);
int __wrap_clock_gettime(clockid_t clock, timespec* t) {
  if (!model::active()) return __real_clock_gettime(clock, t);
  constexpr int64_t kStep = 1000;  // ns
  const int64_t now = model::g_model->time += kStep;
  *t = {now / 1'000'000'000, now % 1'000'000'000};
  return 0;
}

void __tsan_atomic_thread_fence(int order) {
  if (!model::active()) return;
  const model::Inside inside;
  model::fence(order);
}
void __tsan_atomic_signal_fence(int) {}

}  // extern "C"

#define FGMPI_CHANGE(bits, name, expression)                                            \
  extern "C" uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t* at,   \
                                                         uint##bits##_t v, int order) { \
    auto after = [v](uint64_t x) {                                                      \
      (void)x;                                                                          \
      return static_cast<uint64_t>(static_cast<uint##bits##_t>(expression));            \
    };                                                                                  \
    if (model::active()) {                                                              \
      const model::Inside inside;                                                       \
      return static_cast<uint##bits##_t>(model::change(at, sizeof *at, order, after));  \
    }                                                                                   \
    const uint##bits##_t before = *at;                                                  \
    *at = static_cast<uint##bits##_t>(after(before));                                   \
    return before;                                                                      \
  }

#define FGMPI_EXCHANGE(bits, name, weak)                                                        \
  extern "C" int __tsan_atomic##bits##_compare_exchange_##name(                                 \
      volatile uint##bits##_t* at, uint##bits##_t* expected, uint##bits##_t desired, int order, \
      int failure_order) {                                                                      \
    if (model::active()) {                                                                      \
      const model::Inside inside;                                                               \
      return model::compare_exchange(at, expected, desired, sizeof *at, order, failure_order,   \
                                     weak);                                                     \
    }                                                                                           \
    const bool same = *at == *expected;                                                         \
    *(same ? at : expected) = same ? desired : *at;                                             \
    return same;                                                                                \
  }

#define FGMPI_ATOMIC(bits)                                                                   \
  extern "C" uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t* at,    \
                                                       int order) {                          \
    if (!model::active()) return *at;                                                        \
    const model::Inside inside;                                                              \
    return static_cast<uint##bits##_t>(model::load(at, sizeof *at, order));                  \
  }                                                                                          \
  extern "C" void __tsan_atomic##bits##_store(volatile uint##bits##_t* at, uint##bits##_t v, \
                                              int order) {                                   \
    if (!model::active()) {                                                                  \
      *at = v;                                                                               \
      return;                                                                                \
    }                                                                                        \
    const model::Inside inside;                                                              \
    model::store(at, v, sizeof *at, order);                                                  \
  }                                                                                          \
  FGMPI_CHANGE(bits, exchange, v)                                                            \
  FGMPI_CHANGE(bits, fetch_add, x + v)                                                       \
  FGMPI_CHANGE(bits, fetch_sub, x - v)                                                       \
  FGMPI_CHANGE(bits, fetch_and, x& v)                                                        \
  FGMPI_CHANGE(bits, fetch_or, x | v)                                                        \
  FGMPI_EXCHANGE(bits, strong, false)                                                        \
  FGMPI_EXCHANGE(bits, weak, true)

FGMPI_ATOMIC(8)
FGMPI_ATOMIC(16)
FGMPI_ATOMIC(32)
FGMPI_ATOMIC(64)
