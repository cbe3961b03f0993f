// Threads that ranks start: they belong to their rank, and their thread-local variables begin as in
// the rank's image.
//
// A thread that a rank, or a thread of a rank, starts belongs to that rank, also when a library
// starts it for the program. A thread that this library or the hosted MPICH starts for itself, on
// the host stack, belongs to no rank.
//
// The C library initialises the thread-local variables of a thread from image 0, where a pointer to
// a variable of the program leads to image 0's variable. A thread of a rank with another image is
// given the initial values of that image before it runs code of the program. So are the threads
// that it starts in turn.
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <threads.h>

#include <memory>
#include <new>

#include "privatize/image/images.h"
#include "privatize/image/swap.h"
#include "privatize/internal.h"
#include "privatize/load/guests.h"
#include "privatize/load/plugins.h"
#include "privatize/load/rank_heaps.h"
#include "privatize/load/visitors.h"
#include "proclet-sched/coroutine/packing.h"

namespace fgmpi::privatize {
namespace {

/// The rank to which a thread that the caller starts will belong, or nullptr.
sched::Proclet* rank_of_starter() {
  if (g_mode == ImageMode::kForeign || (on_scheduler_thread() && !on_proclet())) return nullptr;
  sched::Proclet* p = sched::rank_of_thread();
  if (!p || p->kind == sched::ProcletKind::kRank) return p;
  return p->image ? sched::rank_proclet(static_cast<const Image*>(p->image)->index) : nullptr;
}

template <class Function>
struct Start {
  Function* function;
  void* argument;
  sched::ThreadOfRank* thread;
  uint32_t image;
};

/// Registers the thread as its rank's while it lives. The destructor also runs when the thread ends
/// by pthread_exit or is cancelled: both unwind its stack.
struct Adopted {
  sched::ThreadOfRank* thread;
  explicit Adopted(sched::ThreadOfRank* t) : thread(t) { sched::adopt_thread(t); }
  ~Adopted() { sched::end_thread(thread); }
  Adopted(const Adopted&) = delete;
  Adopted& operator=(const Adopted&) = delete;
};

void load_thread_locals(uint32_t image) {
  if (!g_images.has(image)) return init_thread_locals_of_guest(image);
  for (size_t m = 0; m < g_images.modules().size(); ++m) {
    const ElfModule& module = g_images.modules()[m];
    void* live = module.tls() ? thread_local_block(module) : nullptr;
    if (!live) continue;
    auto* initial =
        reinterpret_cast<const void*>(g_images.base_of(m, image) + module.tls()->p_vaddr);
    memcpy(live, initial, module.tls()->p_filesz);
  }
}

template <class Function>
auto run(void* data) -> decltype(static_cast<Function*>(nullptr)(nullptr)) {
  std::unique_ptr<Start<Function>> start(static_cast<Start<Function>*>(data));
  auto [function, argument, thread, image] = *start;
  start.reset();
  if (!g_images.is_loaded(image)) load_thread_locals(image);
  plugins::init_thread_locals(image);
  Adopted adopted(thread);
  return function(argument);
}

/// Starts a thread by create(f, data, &handle), where f(data) adopts the thread for the caller's
/// rank and then calls function(argument). Returns `no_memory` when out of memory.
template <class Function, class Create>
int create_for_rank(Function* function, void* argument, int no_memory, Create create) {
  sched::Proclet* rank = rank_of_starter();
  pthread_t ignored;
  if (!rank) return create(function, argument, &ignored);
  sched::keep_unpacked(rank);
  begin_threads_of_heaps();
  std::unique_ptr<Start<Function>> start(new (std::nothrow) Start<Function>);
  sched::ThreadOfRank* thread = start ? sched::make_thread(rank) : nullptr;
  if (!thread) return no_memory;
  *start = {function, argument, thread,
            rank->image ? static_cast<const Image*>(rank->image)->index : 0};
  const uint64_t number = sched::number_of(thread);
  pthread_t handle;
  int result = create(&run<Function>, start.get(), &handle);
  if (result != 0) {
    sched::drop_thread(thread);
    return result;
  }
  (void)start.release();  // the new thread owns and deletes it
  sched::name_thread(number, handle);
  begin_time_slices();
  return result;
}

}  // namespace
}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

FGMPI_INTERPOSE int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                   void* (*function)(void*), void* argument) noexcept {
  try_to_bring_home();  // variables of this library are those of the home from here on
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto* real = next_symbol<Create>("pthread_create");
  return create_for_rank(function, argument, EAGAIN,
                         [&](void* (*f)(void*), void* data, pthread_t* handle) {
                           int result = real(thread, attributes, f, data);
                           if (result == 0) *handle = *thread;
                           return result;
                         });
}

FGMPI_INTERPOSE int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  try_to_bring_home();  // variables of this library are those of the home from here on
  using Create = int(thrd_t*, thrd_start_t, void*);
  static auto* real = next_symbol<Create>("thrd_create");
  return create_for_rank(function, argument, thrd_nomem,
                         [&](thrd_start_t f, void* data, pthread_t* handle) {
                           int result = real(thread, f, data);
                           if (result == thrd_success) *handle = *thread;
                           return result;
                         });
}

namespace {
/// Called before a rank joins a thread: lets other ranks of the process run until the thread has
/// ended. The only rank of a process need not, unless a tool watches. May switch.
void let_others_run_until_end_of(pthread_t thread) {
  if (fgmpi::sched::rank_count() < 2 && !fgmpi::sched::g_joins_are_watched) return;
  if (!on_proclet()) return;
  fgmpi::sched::SwitchingCall inside;
  fgmpi::sched::wait_for_end_of(thread);
}
}  // namespace

FGMPI_INTERPOSE int pthread_join(pthread_t thread, void** result) {
  static auto* real = next_symbol<int(pthread_t, void**)>("pthread_join");
  let_others_run_until_end_of(thread);
  return real(thread, result);
}

FGMPI_INTERPOSE int thrd_join(thrd_t thread, int* result) {
  static auto* real = next_symbol<int(thrd_t, int*)>("thrd_join");
  let_others_run_until_end_of(thread);
  return real(thread, result);
}
