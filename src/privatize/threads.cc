// Threads that ranks start: thread-local variables begin as in the rank's image.
//
// The C library initialises them from image 0, and there a pointer to a variable of the program leads
// to image 0's. A thread that a rank with another image starts gets what its image has, before it runs
// anything of the program; and so do the threads that this one starts.
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <threads.h>

#include <memory>
#include <new>

#include "privatize/images.h"
#include "privatize/internal.h"
#include "privatize/swap.h"

namespace fgmpi::privatize {
namespace {

/// In a thread that is not the scheduler's: the image of the rank that started it, directly or through other threads.
[[gnu::tls_model("initial-exec")]] thread_local uint32_t t_image = 0;

uint32_t image_of_caller() {
  if (!on_scheduler_thread()) return t_image;
  const sched::Proclet* p = sched::current();
  return p && p->image ? static_cast<const Image*>(p->image)->index : 0;
}

template <class Function>
struct Start {
  Function* function;
  void* argument;
  uint32_t image;
};

template <class Function>
auto run(void* data) -> decltype(static_cast<Function*>(nullptr)(nullptr)) {
  std::unique_ptr<Start<Function>> start(static_cast<Start<Function>*>(data));
  auto [function, argument, image] = *start;
  start.reset();
  t_image = image;
  for (size_t m = 0; m < g_images.modules().size(); ++m) {
    const ElfModule& module = g_images.modules()[m];
    void* live = module.tls() ? thread_local_block(module) : nullptr;
    if (!live) continue;
    auto* initial =
        reinterpret_cast<const void*>(g_images.base_of(m, image) + module.tls()->p_vaddr);
    memcpy(live, initial, module.tls()->p_filesz);
  }
  return function(argument);
}

/// Calls create(function, argument) with what the new thread is to run.
template <class Function, class Create>
int create_in_image(Function* function, void* argument, int no_memory, Create create) {
  uint32_t image = g_mode == Mode::kImages ? image_of_caller() : 0;
  if (image == 0) return create(function, argument);
  auto* start = new (std::nothrow) Start<Function>{function, argument, image};
  if (!start) return no_memory;
  int result = create(&run<Function>, start);
  if (result != 0) delete start;
  return result;
}

}  // namespace
}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

FGMPI_INTERPOSE int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                   void* (*function)(void*), void* argument) noexcept {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto* real = next_symbol<Create>("pthread_create");
  return create_in_image(function, argument, EAGAIN, [&](void* (*f)(void*), void* data) {
    return real(thread, attributes, f, data);
  });
}

FGMPI_INTERPOSE int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  using Create = int(thrd_t*, thrd_start_t, void*);
  static auto* real = next_symbol<Create>("thrd_create");
  return create_in_image(function, argument, thrd_nomem,
                         [&](thrd_start_t f, void* data) { return real(thread, f, data); });
}
