// The simulated processors of board_lines.h.

#include "board_lines.h"

#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <vector>

namespace fgmpi::lines {
namespace {

constexpr size_t kLine = 64, kStack = 256 << 10;

struct Line {
  uint64_t holders = 0;  ///< a bit a processor
  bool alone = false;    ///< the only holder may write
  double free_at = 0;    ///< the line has been moved to its last writer
};

struct Processor {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  double clock = 0, stored_at = 0;  ///< stored_at: its own stores can be seen
  bool ended = false;
  size_t read = 0, waits_for = 0;  ///< lines + 1; waits_for 0: it runs
  uint64_t version = 0;            ///< of that line
  bool at_once = false;            ///< loads are under way at the same time
  double loaded_at = 0;            ///< when these will have ended
};

char* g_memory;
size_t g_bytes;
std::unordered_map<size_t, Line> g_lines;
std::unordered_map<size_t, uint64_t> g_versions;
std::vector<Processor> g_processors;
Processor* g_running;
ucontext_t g_scheduler;
const std::function<void(uint32_t)>* g_body;

uint64_t bit() { return uint64_t{1} << (g_running - g_processors.data()); }

void enter(unsigned i) {
  (*g_body)(i);
  g_processors[i].ended = true;
  swapcontext(&g_processors[i].context, &g_scheduler);
}

/// Lets processors whose clocks show less go first.
void take_turn() { swapcontext(&g_running->context, &g_scheduler); }

enum class Kind : uint8_t { kLoad, kStore, kChange };

void move_line(size_t number, Kind kind) {
  Processor& p = *g_running;
  if (kind == Kind::kChange) p.clock = std::max(p.clock, p.stored_at);
  take_turn();
  Line& line = g_lines[number];
  if (kind == Kind::kLoad) {
    p.read = number + 1;
    p.version = g_versions[number];
    if (line.holders & bit()) return;
    const double end = std::max(p.clock, line.free_at) + 1;
    (p.at_once ? p.loaded_at : p.clock) = p.at_once ? std::max(p.loaded_at, end) : end;
    line.holders |= bit();
    line.alone = false;
    return;
  }
  if (p.at_once) p.clock = std::max(p.clock, p.loaded_at);
  if (!(line.alone && line.holders == bit())) {
    line.free_at = std::max(p.clock, line.free_at) + 1;
    line.holders = bit();
    line.alone = true;
  }
  if (kind == Kind::kChange)
    p.clock = std::max(p.clock, line.free_at);
  else
    p.stored_at = std::max({p.stored_at, p.clock, line.free_at});
  line.free_at = std::max(line.free_at, kind == Kind::kStore ? p.stored_at : p.clock);
  ++g_versions[number];
  for (Processor& other : g_processors)
    if (other.waits_for == number + 1) {
      other.waits_for = 0;
      other.clock = std::max(other.clock, line.free_at);
    }
}

}  // namespace

void access(const volatile void* at, size_t bytes, Kind kind);
void access(const volatile void* at, size_t bytes, Kind kind) {
  const auto* from = static_cast<const volatile char*>(at);
  if (!g_running || bytes == 0 || from < g_memory || from >= g_memory + g_bytes) return;
  const auto first = static_cast<size_t>(from - g_memory);
  for (size_t line = first / kLine; line <= (first + bytes - 1) / kLine; ++line)
    move_line(line, kind);
}

double run(uint32_t count, char* memory, size_t bytes, const std::function<double(uint32_t)>& start,
           const std::function<void(uint32_t)>& body) {
  g_memory = memory;
  g_bytes = bytes;
  g_body = &body;
  for (auto& [number, line] : g_lines) line.free_at = 0;
  g_processors = std::vector<Processor>(count);
  for (uint32_t i = 0; i < count; ++i) {
    Processor& p = g_processors[i];
    p.clock = p.stored_at = start(i);
    p.stack = std::make_unique<char[]>(kStack);
    getcontext(&p.context);
    p.context.uc_stack.ss_sp = p.stack.get();
    p.context.uc_stack.ss_size = kStack;
    makecontext(&p.context, reinterpret_cast<void (*)()>(enter), 1, i);
  }
  double last = 0;
  for (;;) {
    Processor* next = nullptr;
    for (Processor& p : g_processors)
      if (!p.ended && p.waits_for == 0 && (!next || p.clock < next->clock)) next = &p;
    if (!next) break;
    g_running = next;
    swapcontext(&g_scheduler, &next->context);
    g_running = nullptr;
    if (next->ended) last = std::max(last, next->clock);
  }
  return last;
}

void wait() {
  Processor& p = *g_running;
  if (g_versions[p.read - 1] != p.version) return;
  p.waits_for = p.read;
  take_turn();
}

void at_once(const std::function<void()>& f) {
  Processor& p = *g_running;
  p.at_once = true;
  p.loaded_at = p.clock;
  f();
  p.at_once = false;
  p.clock = std::max(p.clock, p.loaded_at);
}

void forget() { g_lines.clear(); }

}  // namespace fgmpi::lines

// ---- What the compiler calls --------------------------------------------------------------------
using fgmpi::lines::access;
using Kind = fgmpi::lines::Kind;

#define ACCESSES(bytes)                                                           \
  void __tsan_read##bytes(void* at) { access(at, bytes, Kind::kLoad); }           \
  void __tsan_write##bytes(void* at) { access(at, bytes, Kind::kStore); }         \
  void __tsan_unaligned_read##bytes(void* at) { access(at, bytes, Kind::kLoad); } \
  void __tsan_unaligned_write##bytes(void* at) { access(at, bytes, Kind::kStore); }
#define CHANGE(bits, name)                                                                       \
  uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t* at, uint##bits##_t value, \
                                              int) {                                             \
    access(at, sizeof value, Kind::kChange);                                                     \
    return __atomic_##name(at, value, __ATOMIC_SEQ_CST);                                         \
  }
#define EXCHANGE(bits, strength)                                                               \
  int __tsan_atomic##bits##_compare_exchange_##strength(                                       \
      volatile uint##bits##_t* at, uint##bits##_t* expected, uint##bits##_t value, int, int) { \
    access(at, sizeof value, Kind::kChange);                                                   \
    return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST,           \
                                       __ATOMIC_SEQ_CST);                                      \
  }
#define ATOMICS(bits)                                                                              \
  uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t* at, int) {              \
    access(at, sizeof *at, Kind::kLoad);                                                           \
    return *at;                                                                                    \
  }                                                                                                \
  void __tsan_atomic##bits##_store(volatile uint##bits##_t* at, uint##bits##_t value, int order) { \
    access(at, sizeof value, order == __ATOMIC_SEQ_CST ? Kind::kChange : Kind::kStore);            \
    *at = value;                                                                                   \
  }                                                                                                \
  EXCHANGE(bits, strong) EXCHANGE(bits, weak) CHANGE(bits, fetch_add) CHANGE(bits, fetch_or)
extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_read_range(void* at, size_t bytes) { access(at, bytes, Kind::kLoad); }
void __tsan_write_range(void* at, size_t bytes) { access(at, bytes, Kind::kStore); }
void* __real_memcpy(void* to, const void* from, size_t bytes);
void* __wrap_memcpy(void* to, const void* from, size_t bytes) {
  access(from, bytes, Kind::kLoad);
  access(to, bytes, Kind::kStore);
  return __real_memcpy(to, from, bytes);
}
// clang-format off
ACCESSES(1) ACCESSES(2) ACCESSES(4) ACCESSES(8) ACCESSES(16)
ATOMICS(32) ATOMICS(64)
// clang-format on
}
