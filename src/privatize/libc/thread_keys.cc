// Thread-specific values: pthread_key_create and its relatives, and C11's tss_*.
//
// Ranks share a thread, and the C library has 1,024 keys for the whole process, which the images of
// a library that makes keys would use up. So this file answers for the keys that the program or a
// private library makes: numbers above the C library's, never used twice. Each rank, and every
// other thread, has values of its own. Keys that other code makes stay the C library's.
//
// A key belongs to an image when the key's variable or the caller lies there. Both are asked:
// a tail call from an initialiser of pthread_once hides the caller, a key on the heap hides
// the variable.
//
// As in any process, the end of a thread destroys its values (for a rank that is pthread_exit in
// main), and exit does not.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>

#include <atomic>
#include <new>
#include <utility>

#include "privatize/image/images.h"
#include "privatize/image/slot_record.h"
#include "privatize/image/swap.h"
#include "privatize/internal.h"
#include "privatize/load/guests.h"
#include "proclet-sched/coroutine/annotate.h"

namespace fgmpi::privatize {

namespace {

using Destructor = ThreadKeys::Destructor;

/// A function of the C library, looked up at its first call. A static variable with a guard could
/// deadlock here: the look-up may allocate, and an allocator may itself call these functions.
template <class F>
struct FoundFunction {
  const char* name;
  std::atomic<F*> found{nullptr};
  F* get() {
    F* f = found.load(std::memory_order_relaxed);
    if (!f) [[unlikely]]
      found.store(f = next_symbol<F>(name), std::memory_order_relaxed);
    return f;
  }
};
constinit FoundFunction<int(pthread_key_t*, Destructor*)> g_create{"pthread_key_create"};
constinit FoundFunction<int(pthread_key_t)> g_delete{"pthread_key_delete"};
constinit FoundFunction<void*(pthread_key_t)> g_get{"pthread_getspecific"};
constinit FoundFunction<int(pthread_key_t, const void*)> g_set{"pthread_setspecific"};

/// The values of a thread on which no rank with an image runs; also those of the only rank of
/// a process.
[[gnu::tls_model("initial-exec")]] thread_local ThreadValues* t_values = nullptr;

/// Runs destructors until no value with one is left, at most PTHREAD_DESTRUCTOR_ITERATIONS times,
/// as POSIX has it.
void destroy(ThreadValues* values);

void end_of_thread(void*) {
  destroy(t_values);
  delete std::exchange(t_values, nullptr);
}

/// Makes the ends of threads destroy their values. Never destroyed: threads may end after static
/// objects have been destroyed.
class EndsOfThreads {
 public:
  EndsOfThreads() { ok_ = g_create.get()(&key_, end_of_thread) == 0; }
  /// Returns 0 or an error number.
  int destroy_values_of_caller() { return ok_ ? g_set.get()(key_, this) : ENOMEM; }

 private:
  pthread_key_t key_ = 0;  ///< a key of the C library: its destructor runs ours
  bool ok_ = false;
};

EndsOfThreads& ends_of_threads() {
  static EndsOfThreads& ends = *new EndsOfThreads;
  return ends;
}

/// The keys of the calling thread's rank.
ThreadKeys& keys_of_caller() {
  static ThreadKeys& of_process = *new ThreadKeys;
  const sched::Proclet* rank = sched::rank_of_thread();
  const auto* image = rank ? static_cast<const Image*>(rank->image) : nullptr;
  return image && image->record ? image->record->keys : of_process;
}

void destroy(ThreadValues* values) {
  if (!values) return;
  for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS; ++round) {
    bool any = false;
    Destructor* destructor = nullptr;
    auto wanted = [&](pthread_key_t key) { return (destructor = values->keys().destructor(key)); };
    for (uint32_t at = 0; void* value = values->take(&at, wanted); ++at) {
      destructor(value);
      any = true;
    }
    if (!any) return;
  }
}

}  // namespace

void visit_thread_values(const Image& image, const std::function<void(void* const* value)>& see) {
  if (image.values) image.values->visit(see);
}

void forget_thread_values(Image* image) { delete std::exchange(image->values, nullptr); }

namespace {

/// Where the pointer to the caller's values lies: in the running rank's image, else in the
/// thread's variable.
ThreadValues** place_of_values() {
  if (on_scheduler_thread()) {
    sched::Proclet* p = sched::running();
    if (p && p->image) return &static_cast<Image*>(p->image)->values;
  }
  return &t_values;
}

bool in_image(const void* address) {
  Images::ImageLocation where;
  return g_images.locate(reinterpret_cast<uintptr_t>(address), &where);
}

int create(pthread_key_t* key, Destructor* destructor, const void* caller) {
  bool own_globals = g_mode == ImageMode::kImages || g_mode == ImageMode::kSingle;
  if ((own_globals && (in_image(key) || in_image(caller))) ||
      (is_guest(sched::running()) && (in_program(key) || in_program(caller))))
    return keys_of_caller().add(key, destructor) ? 0 : EAGAIN;
  return g_create.get()(key, destructor);
}

int set(pthread_key_t key, void* value) {
  ThreadValues** values = place_of_values();
  if (!*values) {
    if (!value) return 0;
    if (values == &t_values && ends_of_threads().destroy_values_of_caller() != 0) return ENOMEM;
    *values = new (std::nothrow) ThreadValues(&keys_of_caller());
    if (!*values) return ENOMEM;
  }
  return (*values)->set(key, value) ? 0 : ENOMEM;
}

}  // namespace

void destroy_thread_values() { destroy(*place_of_values()); }

void move_rank_values_to_thread() { t_values = *place_of_values(); }

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

FGMPI_INTERPOSE int pthread_key_create(pthread_key_t* key, void (*destructor)(void*)) noexcept {
  return create(key, destructor, __builtin_return_address(0));
}

FGMPI_INTERPOSE int pthread_key_delete(pthread_key_t key) noexcept {
  if (key < ThreadKeys::kFirst) return g_delete.get()(key);
  if (!keys_of_caller().remove(key)) return EINVAL;
  // POSIX leaves freeing the value to the program. libgfortran does not free it, which leak
  // checkers need to know.
  fgmpi::sched::annotate::forgotten(pthread_getspecific(key));
  return set(key, nullptr);
}

FGMPI_INTERPOSE void* pthread_getspecific(pthread_key_t key) noexcept {
  if (key < ThreadKeys::kFirst) return g_get.get()(key);
  const ThreadValues* values = *place_of_values();
  return values ? values->get(key) : nullptr;
}

FGMPI_INTERPOSE int pthread_setspecific(pthread_key_t key, const void* value) noexcept {
  if (key < ThreadKeys::kFirst) return g_set.get()(key, value);
  return set(key, const_cast<void*>(value));
}

// C11's keys are those of pthread_key_create.

FGMPI_INTERPOSE int tss_create(tss_t* key, tss_dtor_t destructor) {
  return create(key, destructor, __builtin_return_address(0)) == 0 ? thrd_success : thrd_error;
}

FGMPI_INTERPOSE void tss_delete(tss_t key) { pthread_key_delete(key); }

FGMPI_INTERPOSE void* tss_get(tss_t key) { return pthread_getspecific(key); }

FGMPI_INTERPOSE int tss_set(tss_t key, void* value) {
  return pthread_setspecific(key, value) == 0 ? thrd_success : thrd_error;
}
