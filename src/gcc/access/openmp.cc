// Wrappers of the entry points of libgomp, which GCC calls for OpenMP's directives, and of OpenMP's
// locks. mpicc -check links the program's calls to them (ld --wrap), and the checker learns what
// orders the strands of a rank (view.h). check.wraps lists them.
//
// The functions behind __real_ are weak, as versions of libgomp differ in what they have; but one,
// so that the linker does not leave out libgomp.
#include <cstdint>

#include "gcc/access/order.h"

using fgmpi::access::await;
using fgmpi::access::await_region;
using fgmpi::access::has_order;
using fgmpi::access::kHasLimit;
using fgmpi::access::Sync;
using fgmpi::access::tell;

/// The head of __wrap_NAME, after declaring __real_NAME.
#define WRAP_GOMP(result, name, parameters)                 \
  extern "C" [[gnu::weak]] result __real_##name parameters; \
  FGMPI_ENTRY result __wrap_##name parameters

using Body = void (*)(void*);
extern "C" int omp_get_max_threads();
extern "C" [[gnu::weak]] int omp_get_num_threads();
extern "C" [[gnu::weak]] int omp_get_thread_num();
[[gnu::used]] static int (*const g_needed)() = omp_get_max_threads;

// ---- Parallel regions ---------------------------------------------------------------------------
namespace {

/// A parallel region, on the stack of the thread that begins it. libgomp reads the first word of
/// the data of a region with reductions.
struct ParallelRegion {
  void* first;
  Body body;
  void* data;
};

/// The place of the directive. GCC gives the call of GOMP_parallel no line of its own, so it is the
/// begin of the body, as an address to which a call would return.
const void* place_of_region(const ParallelRegion& region) {
  return reinterpret_cast<const char*>(region.body) + 1;
}

void run_member(void* of) {
  const auto* region = static_cast<const ParallelRegion*>(of);
  tell(Sync::kMember, region, reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
  region->body(region->data);
  tell(Sync::kMemberEnds, region);
  if (omp_get_thread_num() == 0)
    await_region(Sync::kAwaitsMembers, region, place_of_region(*region), omp_get_num_threads());
}

ParallelRegion region_of(Body body, void* data) {
  return {data ? *static_cast<void**>(data) : nullptr, body, data};
}

}  // namespace

#define PARALLEL(result, name, parameters, arguments, keep, value)    \
  WRAP_GOMP(result, name, parameters) {                               \
    if (threads == 1 || !has_order()) return __real_##name arguments; \
    ParallelRegion region = region_of(body, data);                    \
    tell(Sync::kParallel, &region, threads);                          \
    body = run_member;                                                \
    data = &region;                                                   \
    keep __real_##name arguments;                                     \
    tell(Sync::kParallelEnds, &region);                               \
    return value;                                                     \
  }
PARALLEL(void, GOMP_parallel, (Body body, void* data, unsigned threads, unsigned flags),
         (body, data, threads, flags), , )
PARALLEL(unsigned, GOMP_parallel_reductions,
         (Body body, void* data, unsigned threads, unsigned flags), (body, data, threads, flags),
         const unsigned result =, result)
PARALLEL(void, GOMP_parallel_sections,
         (Body body, void* data, unsigned threads, unsigned count, unsigned flags),
         (body, data, threads, count, flags), , )
#define PARALLEL_LOOP(name)                                                                       \
  PARALLEL(void, GOMP_parallel_loop_##name,                                                       \
           (Body body, void* data, unsigned threads, long start, long end, long step, long chunk, \
            unsigned flags),                                                                      \
           (body, data, threads, start, end, step, chunk, flags), , )
PARALLEL_LOOP(static)
PARALLEL_LOOP(dynamic)
PARALLEL_LOOP(guided)
PARALLEL_LOOP(nonmonotonic_dynamic)
PARALLEL_LOOP(nonmonotonic_guided)
#define PARALLEL_RUNTIME_LOOP(name)                                                               \
  PARALLEL(                                                                                       \
      void, GOMP_parallel_loop_##name,                                                            \
      (Body body, void* data, unsigned threads, long start, long end, long step, unsigned flags), \
      (body, data, threads, start, end, step, flags), , )
PARALLEL_RUNTIME_LOOP(runtime)
PARALLEL_RUNTIME_LOOP(maybe_nonmonotonic_runtime)

// ---- Barriers -----------------------------------------------------------------------------------
// A thread that is alone in its region is not told of: the checker may not know of the region.
#define BARRIER(result, name, wait, keep, value)   \
  WRAP_GOMP(result, name, ()) {                    \
    tell(Sync::kChunksEnd, nullptr);               \
    const bool alone = omp_get_num_threads() == 1; \
    if (!alone) tell(Sync::kArrive, nullptr);      \
    if (!alone) {                                  \
      wait;                                        \
    }                                              \
    keep __real_##name();                          \
    if (!alone) tell(Sync::kLeave, nullptr);       \
    return value;                                  \
  }
#define AWAITS_TEAM await_region(Sync::kAwaitsTeam, nullptr, FGMPI_PLACE, omp_get_num_threads())
BARRIER(void, GOMP_barrier, AWAITS_TEAM, , )
BARRIER(void, GOMP_loop_end, AWAITS_TEAM, , )
BARRIER(void, GOMP_sections_end, AWAITS_TEAM, , )
// A cancelled region lets threads go on that have not all arrived.
BARRIER(bool, GOMP_barrier_cancel, , const bool cancelled =, cancelled)
BARRIER(bool, GOMP_loop_end_cancel, , const bool cancelled =, cancelled)
BARRIER(bool, GOMP_sections_end_cancel, , const bool cancelled =, cancelled)
#define NO_BARRIER(name)             \
  WRAP_GOMP(void, name, ()) {        \
    tell(Sync::kChunksEnd, nullptr); \
    __real_##name();                 \
  }
NO_BARRIER(GOMP_loop_end_nowait)
NO_BARRIER(GOMP_sections_end_nowait)

// ---- Sections and chunks of loops ---------------------------------------------------------------
/// A function that gives the calling thread its next part of the work; none if it returns 0.
#define CHUNK(result, name, parameters, arguments) \
  WRAP_GOMP(result, name, parameters) {            \
    tell(Sync::kChunkEnds, nullptr);               \
    const result part = __real_##name arguments;   \
    if (part) tell(Sync::kChunk, nullptr);         \
    return part;                                   \
  }
CHUNK(unsigned, GOMP_sections_start, (unsigned count), (count))
CHUNK(unsigned, GOMP_sections2_start, (unsigned count, uintptr_t* reductions, void** memory),
      (count, reductions, memory))
CHUNK(unsigned, GOMP_sections_next, (), ())
#define CHUNKS(of, type) CHUNK(bool, GOMP_##of##_next, (type * from, type * to), (from, to))
#define CHUNKED_LOOP(schedule)                                                               \
  CHUNK(bool, GOMP_loop_##schedule##_start,                                                  \
        (long start, long end, long step, long chunk, long* from, long* to),                 \
        (start, end, step, chunk, from, to))                                                 \
  CHUNK(bool, GOMP_loop_ull_##schedule##_start,                                              \
        (bool up, unsigned long long start, unsigned long long end, unsigned long long step, \
         unsigned long long chunk, unsigned long long* from, unsigned long long* to),        \
        (up, start, end, step, chunk, from, to))                                             \
  CHUNKS(loop_##schedule, long)                                                              \
  CHUNKS(loop_ull_##schedule, unsigned long long)
CHUNKED_LOOP(dynamic)
CHUNKED_LOOP(guided)
CHUNKED_LOOP(nonmonotonic_dynamic)
CHUNKED_LOOP(nonmonotonic_guided)

// ---- Mutual exclusion ---------------------------------------------------------------------------
#define GUARDS(start, end, parameters, arguments, lock)                 \
  WRAP_GOMP(void, start, parameters) {                                  \
    tell(Sync::kWants, lock, reinterpret_cast<uintptr_t>(FGMPI_PLACE)); \
    __real_##start arguments;                                           \
    tell(Sync::kLock, lock);                                            \
  }                                                                     \
  WRAP_GOMP(void, end, parameters) {                                    \
    tell(Sync::kUnlock, lock);                                          \
    __real_##end arguments;                                             \
  }
namespace {
/// Stand for the unnamed critical section, and for what is atomic but for one instruction too
/// large.
const char g_critical = 0, g_atomic = 0;
}  // namespace
GUARDS(GOMP_critical_start, GOMP_critical_end, (), (), &g_critical)
GUARDS(GOMP_critical_name_start, GOMP_critical_name_end, (void** name), (name), name)
GUARDS(GOMP_atomic_start, GOMP_atomic_end, (), (), &g_atomic)

#define OMP_LOCKS(prefix, suffix)                                                                \
  GUARDS(omp_set_##prefix##lock##suffix, omp_unset_##prefix##lock##suffix, (void* lock), (lock), \
         lock)                                                                                   \
  WRAP_GOMP(int, omp_test_##prefix##lock##suffix, (void* lock)) {                                \
    await(Sync::kAwaitsMutex, lock, FGMPI_PLACE, kHasLimit);                                     \
    const int got = __real_omp_test_##prefix##lock##suffix(lock);                                \
    tell(got ? Sync::kLock : Sync::kTimedOut, lock, reinterpret_cast<uintptr_t>(FGMPI_PLACE));   \
    return got;                                                                                  \
  }
OMP_LOCKS(, )
OMP_LOCKS(nest_, )
OMP_LOCKS(, _)
OMP_LOCKS(nest_, _)

// ---- Ordered parts, values of a single --------------------------------------------------------
WRAP_GOMP(void, GOMP_ordered_start, ()) {
  __real_GOMP_ordered_start();
  tell(Sync::kTeamAcquire, nullptr);
}
WRAP_GOMP(void, GOMP_ordered_end, ()) {
  tell(Sync::kTeamRelease, nullptr);
  __real_GOMP_ordered_end();
}
WRAP_GOMP(void, GOMP_doacross_post, (long* counts)) {
  tell(Sync::kTeamRelease, nullptr);
  __real_GOMP_doacross_post(counts);
}
/// The function has as many arguments as the loop nest has loops; those behind them are ignored.
WRAP_GOMP(void, GOMP_doacross_wait,
          (long a, long b, long c, long d, long e, long f, long g, long h)) {
  __real_GOMP_doacross_wait(a, b, c, d, e, f, g, h);
  tell(Sync::kTeamAcquire, nullptr);
}
WRAP_GOMP(void*, GOMP_single_copy_start, ()) {
  void* data = __real_GOMP_single_copy_start();
  if (data) tell(Sync::kTeamAcquire, nullptr);
  return data;
}
WRAP_GOMP(void, GOMP_single_copy_end, (void* data)) {
  tell(Sync::kTeamRelease, nullptr);
  __real_GOMP_single_copy_end(data);
}

// ---- Tasks --------------------------------------------------------------------------------------
namespace {

using Copy = void (*)(void*, void*);

/// Stands in front of the data of a task, at a distance of `offset`. libgomp writes the bounds of
/// each task of a taskloop into the first two words of the data, and reads where its reductions are
/// from the third.
struct TaskHead {
  uint64_t bounds[2];
  void* reductions;
  Body body;
  Copy copy;
  void* data;
  uint64_t number;
  long offset;
};

void copy_task(void* to, void* from) {
  const auto* head = static_cast<TaskHead*>(from);
  __builtin_memcpy(to, head, sizeof *head);
  head->copy(static_cast<char*>(to) + head->offset, head->data);
}

[[gnu::always_inline]] inline void run(const TaskHead* head, void* of) {
  tell(Sync::kTaskBegins, __builtin_frame_address(0), head->number);
  head->body(static_cast<char*>(of) + head->offset);
  tell(Sync::kTaskEnds, nullptr, head->number);
}
void run_task(void* of) { run(static_cast<const TaskHead*>(of), of); }
void run_taskloop(void* of) {
  auto* head = static_cast<TaskHead*>(of);
  __builtin_memcpy(static_cast<char*>(of) + head->offset, head->bounds, sizeof head->bounds);
  run(head, of);
}

/// The data that libgomp gets in place of the program's: a head, and a copy of the data unless the
/// program copies it. REQUIRES: `memory` has room for both.
long prepare(TaskHead* head, long bytes, long alignment) {
  const long step = alignment > 16 ? alignment : 16;
  head->offset = (static_cast<long>(sizeof *head) + step - 1) / step * step;
  return head->offset + bytes;
}

const char g_group = 0;  ///< the object of a wait for a group

constexpr unsigned kFlagDepend = 8;         ///< GOMP_TASK_FLAG_DEPEND
constexpr unsigned kFlagNoGroup = 1 << 11;  ///< GOMP_TASK_FLAG_NOGROUP
constexpr unsigned kFlagDetach = 1 << 13;   ///< GOMP_TASK_FLAG_DETACH: libgomp writes into the data

/// f(address) for each object that a task depends on: {count, written, address...} or
/// {0, count, written, exclusive, read, address...}.
template <class F>
void for_each_need(void** depend, F&& f) {
  const bool is_short = depend[0] != nullptr;
  const auto n = reinterpret_cast<uintptr_t>(depend[is_short ? 0 : 1]);
  for (uintptr_t i = 0; i < n; ++i) f(depend[(is_short ? 2 : 5) + i]);
}

}  // namespace

/// Declares `memory`, the data for libgomp, and `size`, its bytes.
#define PREPARE_TASK(repeats)                                                                 \
  TaskHead head{{},   bytes >= 24 ? static_cast<void**>(data)[2] : nullptr,                   \
                body, copy,                                                                   \
                data, tell(Sync::kTask, nullptr, repeats),                                    \
                0};                                                                           \
  const long size = prepare(&head, bytes, alignment), step = alignment > 16 ? alignment : 16; \
  auto* memory = static_cast<char*>(__builtin_alloca(static_cast<size_t>(size + step)));      \
  memory += (step - static_cast<long>(reinterpret_cast<uintptr_t>(memory) %                   \
                                      static_cast<uintptr_t>(step))) %                        \
            step;                                                                             \
  __builtin_memcpy(memory, &head, sizeof head);                                               \
  if (!copy) __builtin_memcpy(memory + head.offset, data, static_cast<size_t>(bytes));

WRAP_GOMP(void, GOMP_task,
          (Body body, void* data, Copy copy, long bytes, long alignment, bool deferred,
           unsigned flags, void** depend, int priority, void* detach)) {
  if (!has_order() || (flags & kFlagDetach))
    return __real_GOMP_task(body, data, copy, bytes, alignment, deferred, flags, depend, priority,
                            detach);
  PREPARE_TASK(0)
  if (flags & kFlagDepend)
    for_each_need(depend, [&](void* need) { tell(Sync::kTaskNeeds, need, head.number); });
  __real_GOMP_task(run_task, memory, copy ? copy_task : nullptr, size, step, deferred, flags,
                   depend, priority, detach);
  if (!deferred) tell(Sync::kTaskWait, nullptr);
}

#define TASKLOOP(name, type)                                                                       \
  WRAP_GOMP(void, name,                                                                            \
            (Body body, void* data, Copy copy, long bytes, long alignment, unsigned flags,         \
             unsigned long count, int priority, type start, type end, type stride)) {              \
    if (!has_order())                                                                              \
      return __real_##name(body, data, copy, bytes, alignment, flags, count, priority, start, end, \
                           stride);                                                                \
    PREPARE_TASK(1)                                                                                \
    if (!(flags & kFlagNoGroup)) tell(Sync::kGroup, nullptr);                                      \
    __real_##name(run_taskloop, memory, copy ? copy_task : nullptr, size, step, flags, count,      \
                  priority, start, end, stride);                                                   \
    if (!(flags & kFlagNoGroup)) tell(Sync::kGroupEnds, nullptr);                                  \
  }
TASKLOOP(GOMP_taskloop, long)
TASKLOOP(GOMP_taskloop_ull, unsigned long long)

WRAP_GOMP(void, GOMP_taskwait, ()) {
  await_region(Sync::kAwaitsTasks, nullptr, FGMPI_PLACE, 0);
  __real_GOMP_taskwait();
  tell(Sync::kTaskWait, nullptr);
}
WRAP_GOMP(void, GOMP_taskwait_depend, (void** depend)) {
  __real_GOMP_taskwait_depend(depend);
  for_each_need(depend, [](void* need) { tell(Sync::kAcquire, need); });
}
WRAP_GOMP(void, GOMP_taskgroup_start, ()) {
  tell(Sync::kGroup, nullptr);
  __real_GOMP_taskgroup_start();
}
WRAP_GOMP(void, GOMP_taskgroup_end, ()) {
  await_region(Sync::kAwaitsTasks, &g_group, FGMPI_PLACE, 0);
  __real_GOMP_taskgroup_end();
  tell(Sync::kGroupEnds, nullptr);
}
