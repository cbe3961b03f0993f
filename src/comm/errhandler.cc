// The table of error handlers that programs have made, and the calls of their functions.

#include "comm/errhandler.h"

#include <mutex>
#include <optional>

#include "base/plain_mutex.h"
#include "base/slab.h"
#include "host/handle_bits.h"
#include "proclet-sched/threads/threads.h"

namespace fgmpi::comm {
namespace {

/// MPI 4.1 has a class of its own for wrong error handlers, which mpi.h defines from MPICH 4.2 on.
#if MPICH_NUMVERSION >= 40200000
constexpr int kErrErrhandler = MPI_ERR_ERRHANDLER;
#else
constexpr int kErrErrhandler = MPI_ERR_ARG;
#endif

PlainMutex g_handlers_mutex;  ///< protects g_handlers and its objects
Slab<Errhandler> g_handlers;

using Guard = std::lock_guard<PlainMutex>;

Errhandler* find_errhandler(MPI_Errhandler handler) {
  uint32_t bits = static_cast<uint32_t>(handler);
  if ((bits & host::kHandleTypeMask) != detail::kErrhandlerBase) return nullptr;
  return g_handlers.get(host::handle_index(handler));
}

/// Counts holders. Returns the state of a handler that has lost its last one, for destroy(), which
/// may not be called under the mutex.
HandlerState count(MPI_Errhandler handler, Errhandler* e, int by) {
  e->references += static_cast<uint32_t>(by);
  if (e->references > 0) return {};
  const HandlerState ended = e->state;
  g_handlers.destroy(host::handle_index(handler));
  return ended;
}

void destroy(const HandlerState& state) {
  if (!state.destructor) return;
  std::optional<sched::UserCallback> in_callback;
  if (!sched::is_unattached_thread()) in_callback.emplace();
  state.destructor(state.pointer);
}

template <class Handle, class Code>
void call_with_state(const Errhandler& e, const void* object, Code code) {
  using Function = void(Handle, Code, void*);
  auto* function = reinterpret_cast<Function*>(reinterpret_cast<void (*)()>(e.function));
  function(*static_cast<const Handle*>(object), code, e.state.pointer);
}

bool predefined(MPI_Errhandler handler) {
  return handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_ABORT || returns_codes(handler);
}

}  // namespace

Status create_errhandler(HandlerOf of, void (*function)(void*, int*, ...), MPI_Errhandler* out) {
  if (!function) return error(MPI_ERR_ARG, "the error handler function is a null pointer");
  const Guard guard(g_handlers_mutex);
  int64_t index = g_handlers.create();
  if (index < 0)
    return error(MPI_ERR_OTHER,
                 "this process has %u error handlers in use, the most that are allowed",
                 g_handlers.live());
  Errhandler* e = g_handlers.get(static_cast<uint32_t>(index));
  e->function = function;
  e->of = of;
  *out = static_cast<MPI_Errhandler>(detail::kErrhandlerBase | static_cast<uint32_t>(index));
  return {};
}

Status create_errhandler(HandlerOf of, void (*function)(), HandlerState state,
                         MPI_Errhandler* out) {
  FGMPI_TRY(create_errhandler(of, reinterpret_cast<void (*)(void*, int*, ...)>(function), out));
  const Guard guard(g_handlers_mutex);
  Errhandler* e = find_errhandler(*out);
  e->state = state;
  e->takes_state = true;
  return {};
}

void set_cxx_caller(MPI_Errhandler handler, CxxHandlerCaller caller) {
  const Guard guard(g_handlers_mutex);
  if (Errhandler* e = find_errhandler(handler)) e->caller = caller;
}

void pass_address_of_code(MPI_Errhandler handler) {
  const Guard guard(g_handlers_mutex);
  if (Errhandler* e = find_errhandler(handler)) e->takes_address = true;
}

Status check_errhandler(HandlerOf of, MPI_Errhandler handler) {
  constexpr const char* kNames[] = {"communicators", "windows", "files", "sessions"};
  if (predefined(handler)) return {};
  const Guard guard(g_handlers_mutex);
  Errhandler* e = find_errhandler(handler);
  const char* what = kNames[static_cast<int>(of)];
  if (handler == MPI_ERRHANDLER_NULL || !e)
    return error(kErrErrhandler,
                 "errhandler is 0x%08x; allowed is a predefined one or one made for %s",
                 static_cast<unsigned>(handler), what);
  if (e->of != of)
    return error(kErrErrhandler, "errhandler 0x%08x was made for %s; allowed is one for %s",
                 static_cast<unsigned>(handler), kNames[static_cast<int>(e->of)], what);
  return {};
}

Status free_errhandler(MPI_Errhandler handler) {
  // MPI_Comm_get_errhandler gives a handle that the program frees, even where it is predefined
  // (section 9.3.4).
  if (predefined(handler)) return {};
  HandlerState ended;
  {
    const Guard guard(g_handlers_mutex);
    Errhandler* e = find_errhandler(handler);
    if (!e || e->references == 0)
      return error(kErrErrhandler,
                   "errhandler is 0x%08x; allowed is an error handler that was not freed",
                   static_cast<unsigned>(handler));
    ended = count(handler, e, -1);
  }
  destroy(ended);
  return {};
}

void detail::count_errhandler(MPI_Errhandler handler, int by) {
  HandlerState ended;
  {
    const Guard guard(g_handlers_mutex);
    if (Errhandler* e = find_errhandler(handler)) ended = count(handler, e, by);
  }
  destroy(ended);
}

bool call_errhandler(MPI_Errhandler handler, void* object, int* code) {
  Errhandler called;
  {
    const Guard guard(g_handlers_mutex);
    Errhandler* e = find_errhandler(handler);
    if (!e) return false;
    count(handler, e, 1);
    called = *e;
  }
  std::optional<sched::UserCallback> in_callback;
  if (!sched::is_unattached_thread()) in_callback.emplace();
  if (called.caller) {
    constexpr int kKinds[] = {0, 2, 1, 3};
    called.caller(kKinds[static_cast<int>(called.of)], static_cast<int*>(object), code,
                  reinterpret_cast<void (*)()>(called.function));
    // The error is handled: for a code the binding would call the handler once more.
    *code = MPI_SUCCESS;
  } else if (called.takes_state) {
    if (called.takes_address && called.of == HandlerOf::kFile)
      call_with_state<MPI_File>(called, object, code);
    else if (called.takes_address)
      call_with_state<int>(called, object, code);
    else if (called.of == HandlerOf::kFile)
      call_with_state<MPI_File>(called, object, *code);
    else
      call_with_state<int>(called, object, *code);   // all other handles
    if (!called.takes_address) *code = MPI_SUCCESS;  // as above
  } else {
    called.function(object, code);
  }
  release_errhandler(handler);
  return true;
}

uint32_t errhandler_count() {
  const Guard guard(g_handlers_mutex);
  return g_handlers.live();
}

}  // namespace fgmpi::comm
