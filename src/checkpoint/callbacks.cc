// Functions of the program that MPI calls: operations, attribute functions, error handlers.
//
// MPI gets functions of the layer in their place, which find the program's and call them with
// virtual handles. An operation and a keyval carry a pointer to the program's functions
// (Callbacks). An error handler cannot; it is found by asking MPI for the handler of the object
// that has the error.
#include <climits>
#include <cstring>
#include <utility>

#include "checkpoint/deputy.h"
#include "checkpoint/describe.h"
#include "checkpoint/here.h"
#include "checkpoint/stop.h"
#include "checkpoint/wrappers.h"
#include "host/internal.h"
#include "watch/places.h"

#pragma weak MPII_Keyval_set_proxy
#pragma weak MPII_Op_set_cxx
#pragma weak MPII_Errhandler_set_cxx

namespace fgmpi::checkpoint {
namespace {

using Form = Callbacks::Form;
using AnyFunction = void (*)();

template <class Function>
Function* as(void* function) {
  return reinterpret_cast<Function*>(function);
}
template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

// ---- Operations (section 6.9.5)

using CxxOperation = void(const void*, void*, int, MPI_Datatype, AnyFunction);

void operate(const Callbacks& op, void* in, void* inout, MPI_Count count, MPI_Datatype type) {
  const ProgramRuns runs(current_rank());
  MPI_Datatype datatype = virtual_of(*op.owner, Object::kDatatype, type);
  if (op.form == Form::kLargeOp) {
    as<MPI_User_function_c>(op.function)(in, inout, &count, &datatype);
    return;
  }
  if (op.form == Form::kStateOp) {
    as<MPIX_User_function_x>(op.function)(in, inout, count, datatype, op.extra);
    return;
  }
  MPI_Count lower = 0, extent = 0;
  if (count > INT_MAX) g_home.MPI_Type_get_extent_c(type, &lower, &extent);
  for (MPI_Count done = 0; done < count || done == 0;) {
    int n = static_cast<int>(count - done > INT_MAX ? INT_MAX : count - done);
    char* const from = static_cast<char*>(in) + done * extent;
    char* const to = static_cast<char*>(inout) + done * extent;
    if (op.cxx)
      as<CxxOperation>(op.cxx)(from, to, n, datatype, as<void()>(op.function));
    else
      as<MPI_User_function>(op.function)(from, to, &n, &datatype);
    done += n;
    if (done >= count) break;
  }
}

void run_operation(void* in, void* inout, MPI_Count count, MPI_Datatype type, void* state) {
  by_rank([&] { operate(*static_cast<const Callbacks*>(state), in, inout, count, type); });
}

void destroy_operation(void* state) {
  auto* op = static_cast<Callbacks*>(state);
  if (op->owner->quiet) return;
  by_rank([&] {
    const ProgramRuns runs(current_rank());
    if (op->destructor) as<MPIX_Destructor_function>(op->destructor)(op->extra);
    delete op;
  });
}

int create_operation(Callbacks calls, MPI_Op* op) {
  LayerRank* rank = current_rank();
  auto* kept = new Callbacks(calls);
  kept->owner = rank;
  MPI_Op real = MPI_OP_NULL;
  const int code = make_operation(kept, &real);
  if (code != MPI_SUCCESS) {
    delete kept;
    return code;
  }
  VirtualCallbacks* made = nullptr;
  *op = rank->ops.add(&made);
  made->real = real;
  made->calls = kept;
  return code;
}

int free_operation(MPI_Op* op) {
  LayerRank* rank = current_rank();
  VirtualCallbacks* found = rank && op ? rank->ops.find(*op) : nullptr;
  if (!found) return g_next.MPI_Op_free(op);
  const int code = g_next.MPI_Op_free(&found->real);
  if (code != MPI_SUCCESS) return code;
  rank->ops.remove(*op);
  *op = MPI_OP_NULL;
  return code;
}

// ---- Attributes (section 7.7)

int handle_for_program(const Callbacks& k, int handle) {
  return virtual_of(*k.owner,
                    k.form == Form::kType  ? Object::kDatatype
                    : k.form == Form::kWin ? Object::kWin
                                           : Object::kComm,
                    handle);
}

constexpr int kPointer = 0;  ///< the kind of an attribute that a program in C has set

int copy_by_program(const Callbacks& k, int handle, int keyval, int kind, void* value, void** out,
                    int* flag) {
  const ProgramRuns runs(current_rank());
  handle = handle_for_program(k, handle);
  keyval = virtual_of(*k.owner, Object::kKeyval, keyval);
  if (k.copy_proxy)
    return k.copy_proxy(k.function, handle, keyval, k.extra, kind, value, out, flag);
  // A function in C gets the address of an integer, and may pass that on.
  void* in = kind == kPointer ? value : &value;
  void* copied = nullptr;
  const int code =
      as<MPI_Comm_copy_attr_function>(k.function)(handle, keyval, k.extra, in, &copied, flag);
  if (*flag) *out = copied == in ? value : copied;
  return code;
}

int copy_attribute(void*, int handle, int keyval, void* extra, int kind, void* value, void** out,
                   int* flag) {
  const auto& k = *static_cast<const Callbacks*>(extra);
  *flag = 0;
  int code = MPI_SUCCESS;
  if (k.owner->quiet || !k.function) return code;
  by_rank([&] { code = copy_by_program(k, handle, keyval, kind, value, out, flag); });
  return code;
}

int delete_by_program(const Callbacks& k, int handle, int keyval, int kind, void* value) {
  keyval = virtual_of(*k.owner, Object::kKeyval, keyval);
  if (k.owner->quiet) {
    if (k.owner->found) k.owner->found->push_back({keyval, kind, value});
    return MPI_SUCCESS;
  }
  if (!k.remove) return MPI_SUCCESS;
  const ProgramRuns runs(current_rank());
  handle = handle_for_program(k, handle);
  if (k.remove_proxy) return k.remove_proxy(k.remove, handle, keyval, kind, value, k.extra);
  void* in = kind == kPointer ? value : &value;
  return as<MPI_Comm_delete_attr_function>(k.remove)(handle, keyval, in, k.extra);
}

int delete_attribute(void*, int handle, int keyval, int kind, void* value, void* extra) {
  const auto& k = *static_cast<const Callbacks*>(extra);
  int code = MPI_SUCCESS;
  by_rank([&] { code = delete_by_program(k, handle, keyval, kind, value); });
  return code;
}

/// MPI calls the proxies above in place of these, which say that there is something to call.
int copies(MPI_Comm, int, void*, void*, void*, int*) { return MPI_SUCCESS; }
int removes(MPI_Comm, int, void*, void*) { return MPI_SUCCESS; }

int create_keyval(Form form, void* copy, void* remove, void* extra, int* keyval) {
  LayerRank* rank = current_rank();
  Callbacks calls;
  calls.form = form;
  calls.owner = rank;
  calls.function = copy;
  calls.remove = remove;
  calls.extra = extra;
  auto* kept = new Callbacks(calls);
  int real = MPI_KEYVAL_INVALID;
  const int code = make_keyval(kept, &real);
  if (code != MPI_SUCCESS) {
    delete kept;
    return code;
  }
  VirtualCallbacks* made = nullptr;
  *keyval = rank->keyvals.add(&made);
  made->real = real;
  made->calls = kept;
  return code;
}

/// Has a communicator, window or type an attribute with this keyval?
bool is_used(const LayerRank& rank, const VirtualCallbacks& keyval) {
  void* value = nullptr;
  int flag = 0;
  bool used = false;
  const auto see = [&](MPI_Comm comm) {
    used |= g_next.MPI_Comm_get_attr(comm, keyval.real, &value, &flag) == MPI_SUCCESS && flag;
  };
  if (keyval.calls->form == Form::kWin) {
    rank.windows.for_each([&](MPI_Win, const VirtualWin* win) {
      used |= g_next.MPI_Win_get_attr(win->real, keyval.real, &value, &flag) == MPI_SUCCESS && flag;
    });
    return used;
  }
  if (keyval.calls->form == Form::kType) {
    rank.types.for_each([&](MPI_Datatype, const VirtualType* type) {
      used |=
          g_next.MPI_Type_get_attr(type->real, keyval.real, &value, &flag) == MPI_SUCCESS && flag;
    });
    return used;
  }
  see(MPI_COMM_WORLD);
  see(MPI_COMM_SELF);
  rank.comms.for_each([&](MPI_Comm, const VirtualComm* comm) { see(comm->real); });
  return used;
}

/// Attributes keep a keyval in use after the program has freed it, so the layer does not free it.
int free_keyval(int* keyval, int (*next)(int*)) {
  LayerRank* rank = current_rank();
  VirtualCallbacks* found = rank && keyval ? rank->keyvals.find(*keyval) : nullptr;
  if (!found) return next(keyval);
  if (found->freed && !is_used(*rank, *found)) {
    int unknown = MPI_KEYVAL_INVALID;
    return next(&unknown);  // an error
  }
  found->freed = true;
  *keyval = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}

// ---- Error handlers (section 9.3)

using CxxHandler = void(int kind, void* handle, int* code, AnyFunction);

int get_errhandler(Form form, int object, MPI_Errhandler* real) {
  return form == Form::kWin       ? g_next.MPI_Win_get_errhandler(object, real)
         : form == Form::kSession ? g_next.MPI_Session_get_errhandler(object, real)
                                  : g_next.MPI_Comm_get_errhandler(object, real);
}
int get_errhandler(Form, MPI_File object, MPI_Errhandler* real) {
  return g_next.MPI_File_get_errhandler(object, real);
}

int handle_for_handler(const LayerRank& rank, Form form, int real) {
  return virtual_of(rank,
                    form == Form::kWin       ? Object::kWin
                    : form == Form::kSession ? Object::kSession
                                             : Object::kComm,
                    real);
}
MPI_File handle_for_handler(const LayerRank& rank, Form, MPI_File real) {
  return virtual_file(rank, real);
}

/// The kinds of handles, as the binding of C++ numbers them.
constexpr int cxx_kind(Form form) {
  return form == Form::kFile ? 1 : form == Form::kWin ? 2 : form == Form::kSession ? 3 : 0;
}

/// The handle at home of an object with an error, which may be a communicator where the rank is.
/// MPI_COMM_WORLD answers for one without a handler.
template <Form form, class Handle>
Handle object_at_home(const LayerRank& rank, Handle object) {
  if constexpr (form == Form::kComm) {
    const MPI_Comm home = comm_at_home(rank, object);
    return by_deputy("an error", fgmpi_own_errhandler, home) == MPI_ERRHANDLER_NULL ? MPI_COMM_WORLD
                                                                                    : home;
  }
  return object;
}

template <Form form, class Handle>
void handle_by_program(Handle* object, int* code) {
  LayerRank* rank = current_rank();
  if (!rank) return;
  const Handle home = object_at_home<form>(*rank, *object);
  MPI_Errhandler real = MPI_ERRHANDLER_NULL;
  if (get_errhandler(form, home, &real) != MPI_SUCCESS) return;
  const VirtualCallbacks* found =
      rank->errhandlers.find(virtual_of(*rank, Object::kErrhandler, real));
  g_next.MPI_Errhandler_free(&real);
  if (!found) return;
  const Callbacks& handler = *found->calls;
  const ProgramRuns runs(rank);
  Handle handle = handle_for_handler(*rank, form, home);
  if (handler.with_state) {  // of a communicator where the rank is
    ++rank->errors_handled;
    as<void(Handle, int, void*)>(handler.function)(handle, *code, handler.extra);
    *code = MPI_SUCCESS;
    return;
  }
  if (handler.cxx) {
    as<CxxHandler>(handler.cxx)(cxx_kind(form), &handle, code, as<void()>(handler.function));
    *code = MPI_SUCCESS;
  } else {
    as<void(Handle*, int*, ...)>(handler.function)(&handle, code);
  }
  if (*code == MPI_SUCCESS) ++rank->errors_handled;
}

/// The error handler of every object whose program has set one. Variadic as MPI's type is.
template <Form form, class Handle>
void handle_error(Handle* object, int* code, ...) {
  by_rank([&] { handle_by_program<form>(object, code); });
}

/// Handles an error by a handler with a state (MPIX_Comm_create_errhandler_x and its like), which
/// is the layer's own.
template <Form form, class Handle>
void handle_error_x(Handle object, int code, void* state) {
  by_rank([&] {
    const auto& handler = *static_cast<const Callbacks*>(state);
    object = handle_for_handler(*handler.owner, form, object);
    ++handler.owner->errors_handled;
    const ProgramRuns runs(current_rank());
    as<void(Handle, int, void*)>(handler.function)(object, code, handler.extra);
  });
}

void destroy_by_program(Callbacks* handler) {
  LayerRank& rank = *handler->owner;
  const ProgramRuns runs(current_rank());
  if (handler->destructor) as<MPIX_Destructor_function>(handler->destructor)(handler->extra);
  MPI_Errhandler handle = MPI_ERRHANDLER_NULL;
  rank.errhandlers.for_each([&](MPI_Errhandler each, const VirtualCallbacks* entry) {
    if (entry->calls == handler) handle = each;
  });
  if (handle != MPI_ERRHANDLER_NULL) rank.errhandlers.remove(handle);
  delete handler;
}

/// Nothing uses such a handler any more.
void destroy_errhandler(void* state) {
  auto* handler = static_cast<Callbacks*>(state);
  if (!handler->owner->quiet) by_rank([&] { destroy_by_program(handler); });
}

int create_errhandler(Form form, void* function, void* destructor, void* extra, bool with_state,
                      MPI_Errhandler* errhandler) {
  LayerRank* rank = current_rank();
  auto* kept = new Callbacks;
  kept->form = form;
  kept->owner = rank;
  kept->function = function;
  kept->destructor = destructor;
  kept->extra = extra;
  kept->with_state = with_state;
  MPI_Errhandler real = MPI_ERRHANDLER_NULL;
  const int code = make_errhandler(kept, &real);
  if (code != MPI_SUCCESS) {
    delete kept;
    return code;
  }
  VirtualCallbacks* made = nullptr;
  *errhandler = rank->errhandlers.add(&made);
  made->real = real;
  made->calls = kept;
  made->uses = 1;
  return code;
}

/// MPI_Comm_get_errhandler and its like have returned a handle: the program gets the one it knows.
int got_errhandler(int code, MPI_Errhandler* errhandler) {
  LayerRank* rank = current_rank();
  if (code != MPI_SUCCESS || !rank) return code;
  const MPI_Errhandler handle = virtual_of(*rank, Object::kErrhandler, *errhandler);
  VirtualCallbacks* found = rank->errhandlers.find(handle);
  if (!found) return code;
  g_next.MPI_Errhandler_free(errhandler);
  ++found->uses;
  found->freed = false;
  *errhandler = handle;
  return code;
}

/// Objects may use the handler on, and are asked for it when they are made anew: the layer
/// keeps it, or the one with a state as long as MPI does.
int free_errhandler(MPI_Errhandler* errhandler) {
  LayerRank* rank = current_rank();
  VirtualCallbacks* found = rank && errhandler ? rank->errhandlers.find(*errhandler) : nullptr;
  if (!found || found->uses == 0) return g_next.MPI_Errhandler_free(errhandler);
  found->freed = --found->uses == 0;
  *errhandler = MPI_ERRHANDLER_NULL;
  if (!found->freed || !found->calls->with_state) return MPI_SUCCESS;
  MPI_Errhandler real = found->real;  // destroy_errhandler() may remove the entry
  return g_next.MPI_Errhandler_free(&real);
}

}  // namespace

MPI_Comm_errhandler_function* comm_error_function() { return handle_error<Form::kComm, MPI_Comm>; }

int make_operation(Callbacks* calls, MPI_Op* real) {
  return g_next.MPIX_Op_create_x(run_operation, destroy_operation, calls->commutes, calls, real);
}

int make_keyval(Callbacks* calls, int* real) {
  auto* copy = calls->function ? copies : nullptr;
  int code = MPI_SUCCESS;
  switch (calls->form) {
    case Form::kType:
      code = g_next.MPI_Type_create_keyval(copy, removes, real, calls);
      break;
    case Form::kWin:
      code = g_next.MPI_Win_create_keyval(copy, removes, real, calls);
      break;
    default:
      code = g_next.MPI_Comm_create_keyval(copy, removes, real, calls);
  }
  if (code == MPI_SUCCESS)
    next_internal().keyval_set_proxy(*real, as<fgmpi_copy_proxy>(address(copy_attribute)),
                                     as<fgmpi_delete_proxy>(address(delete_attribute)));
  return code;
}

int make_errhandler(Callbacks* calls, MPI_Errhandler* real) {
#define FGMPI_MAKE_HANDLER(Object)                                                                 \
  return calls->with_state                                                                         \
             ? g_next.MPIX_##Object##_create_errhandler_x(                                         \
                   handle_error_x<Form::k##Object, MPI_##Object>, destroy_errhandler, calls, real) \
             : g_next.MPI_##Object##_create_errhandler(                                            \
                   handle_error<Form::k##Object, MPI_##Object>, real)
  switch (calls->form) {
    case Form::kWin:
      FGMPI_MAKE_HANDLER(Win);
    case Form::kFile:
      FGMPI_MAKE_HANDLER(File);
    case Form::kSession:
      FGMPI_MAKE_HANDLER(Session);
    default:
      FGMPI_MAKE_HANDLER(Comm);
  }
#undef FGMPI_MAKE_HANDLER
}

namespace {

void set_keyval_proxies(int keyval, void* copy, void* remove) {
  LayerRank* rank = current_rank();
  VirtualCallbacks* found = rank ? rank->keyvals.find(keyval) : nullptr;
  if (!found) return;
  Callbacks& k = *found->calls;
  // The binding of Fortran has passed the address of the caller's argument, that of C++ the value.
  if (findings::from_fortran(remove) && k.extra) {
    const bool wide = reinterpret_cast<uintptr_t>(k.extra) % sizeof k.fortran_extra == 0;
    std::memcpy(&k.fortran_extra, k.extra, wide ? sizeof k.fortran_extra : sizeof(MPI_Fint));
    k.extra = &k.fortran_extra;
  }
  k.copy_proxy = reinterpret_cast<CopyProxy>(copy);
  k.remove_proxy = reinterpret_cast<DeleteProxy>(remove);
}

Callbacks operation(Form form, void* function, bool commutes) {
  Callbacks calls;
  calls.form = form;
  calls.function = function;
  calls.commutes = commutes;
  return calls;
}

int create_op(MPI_User_function* function, int commute, MPI_Op* op) {
  if (!current_rank() || !function || !op) return g_next.MPI_Op_create(function, commute, op);
  return create_operation(operation(Form::kOp, address(function), commute), op);
}
int create_large_op(MPI_User_function_c* function, int commute, MPI_Op* op) {
  if (!current_rank() || !function || !op) return g_next.MPI_Op_create_c(function, commute, op);
  return create_operation(operation(Form::kLargeOp, address(function), commute), op);
}
int create_state_op(MPIX_User_function_x* function, MPIX_Destructor_function* destructor,
                    int commute, void* extra, MPI_Op* op) {
  if (!current_rank() || !function || !op)
    return g_next.MPIX_Op_create_x(function, destructor, commute, extra, op);
  Callbacks calls = operation(Form::kStateOp, address(function), commute);
  calls.destructor = address(destructor);
  calls.extra = extra;
  return create_operation(calls, op);
}

}  // namespace
}  // namespace fgmpi::checkpoint

using namespace fgmpi::checkpoint;

FGMPI_BOTH(MPI_Op_create, (MPI_User_function * function, int commute, MPI_Op* op),
           create_op(function, commute, op))
FGMPI_BOTH(MPI_Op_create_c, (MPI_User_function_c * function, int commute, MPI_Op* op),
           create_large_op(function, commute, op))
FGMPI_BOTH(MPIX_Op_create_x,
           (MPIX_User_function_x * function, MPIX_Destructor_function* destructor, int commute,
            void* extra, MPI_Op* op),
           create_state_op(function, destructor, commute, extra, op))
FGMPI_BOTH(MPI_Op_free, (MPI_Op * op), free_operation(op))

#define FGMPI_KEYVALS(Object, create, free)                                                 \
  FGMPI_BOTH(MPI_##create,                                                                  \
             (MPI_##Object##_copy_attr_function * copy,                                     \
              MPI_##Object##_delete_attr_function * remove, int* keyval, void* extra),      \
             !current_rank() || !keyval                                                     \
                 ? g_next.MPI_##create(copy, remove, keyval, extra)                         \
                 : create_keyval(Callbacks::Form::k##Object, reinterpret_cast<void*>(copy), \
                                 reinterpret_cast<void*>(remove), extra, keyval))           \
  FGMPI_BOTH(MPI_##free, (int* keyval), free_keyval(keyval, g_next.MPI_##free))
FGMPI_KEYVALS(Comm, Comm_create_keyval, Comm_free_keyval)
FGMPI_KEYVALS(Type, Type_create_keyval, Type_free_keyval)
FGMPI_KEYVALS(Win, Win_create_keyval, Win_free_keyval)
FGMPI_KEYVALS(Comm, Keyval_create, Keyval_free)

#define FGMPI_HANDLERS(Object, create)                                                            \
  FGMPI_BOTH(                                                                                     \
      MPI_##create, (MPI_##Object##_errhandler_function * function, MPI_Errhandler * errhandler), \
      !current_rank() || !function || !errhandler                                                 \
          ? g_next.MPI_##create(function, errhandler)                                             \
          : create_errhandler(Callbacks::Form::k##Object, reinterpret_cast<void*>(function),      \
                              nullptr, nullptr, false, errhandler))
#define FGMPI_STATE_HANDLERS(Object)                                                            \
  FGMPI_BOTH(                                                                                   \
      MPIX_##Object##_create_errhandler_x,                                                      \
      (MPIX_##Object##_errhandler_function_x * function, MPIX_Destructor_function * destructor, \
       void* extra, MPI_Errhandler* errhandler),                                                \
      !current_rank() || !function || !errhandler                                               \
          ? g_next.MPIX_##Object##_create_errhandler_x(function, destructor, extra, errhandler) \
          : create_errhandler(Callbacks::Form::k##Object, reinterpret_cast<void*>(function),    \
                              reinterpret_cast<void*>(destructor), extra, true, errhandler))
FGMPI_HANDLERS(Comm, Comm_create_errhandler)
FGMPI_HANDLERS(Comm, Errhandler_create)
FGMPI_HANDLERS(Win, Win_create_errhandler)
FGMPI_HANDLERS(File, File_create_errhandler)
FGMPI_HANDLERS(Session, Session_create_errhandler)
FGMPI_STATE_HANDLERS(Comm)
FGMPI_STATE_HANDLERS(Win)
FGMPI_STATE_HANDLERS(File)
FGMPI_STATE_HANDLERS(Session)

static MPI_Comm real_comm(MPI_Comm comm) {
  LayerRank* rank = current_rank();
  return rank ? real_of(*rank, Object::kComm, comm) : comm;
}
static MPI_Win real_win(MPI_Win win) {
  LayerRank* rank = current_rank();
  return rank ? real_of(*rank, Object::kWin, win) : win;
}
static MPI_File real_file_of(MPI_File file) {
  LayerRank* rank = current_rank();
  return rank ? real_file(*rank, file) : file;
}
static MPI_Session real_session(MPI_Session session) {
  LayerRank* rank = current_rank();
  return rank ? real_of(*rank, Object::kSession, session) : session;
}
FGMPI_BOTH(MPI_Comm_get_errhandler, (MPI_Comm comm, MPI_Errhandler* errhandler),
           got_errhandler(g_next.MPI_Comm_get_errhandler(real_comm(comm), errhandler), errhandler))
FGMPI_BOTH(MPI_Errhandler_get, (MPI_Comm comm, MPI_Errhandler* errhandler),
           got_errhandler(g_next.MPI_Errhandler_get(real_comm(comm), errhandler), errhandler))
FGMPI_BOTH(MPI_Win_get_errhandler, (MPI_Win win, MPI_Errhandler* errhandler),
           got_errhandler(g_next.MPI_Win_get_errhandler(real_win(win), errhandler), errhandler))
FGMPI_BOTH(MPI_File_get_errhandler, (MPI_File file, MPI_Errhandler* errhandler),
           got_errhandler(g_next.MPI_File_get_errhandler(real_file_of(file), errhandler),
                          errhandler))
FGMPI_BOTH(MPI_Session_get_errhandler, (MPI_Session session, MPI_Errhandler* errhandler),
           got_errhandler(g_next.MPI_Session_get_errhandler(real_session(session), errhandler),
                          errhandler))
FGMPI_BOTH(MPI_Errhandler_free, (MPI_Errhandler * errhandler), free_errhandler(errhandler))

// ---- What the bindings of Fortran and C++ call (host/internal.h)

EXPORT void MPII_Keyval_set_proxy(int keyval, fgmpi_copy_proxy* copy, fgmpi_delete_proxy* remove) {
  set_keyval_proxies(keyval, reinterpret_cast<void*>(copy), reinterpret_cast<void*>(remove));
}
EXPORT void MPII_Op_set_cxx(MPI_Op op, fgmpi_cxx_caller* caller) {
  LayerRank* rank = current_rank();
  if (VirtualCallbacks* found = rank ? rank->ops.find(op) : nullptr)
    found->calls->cxx = reinterpret_cast<void*>(caller);
}
EXPORT void MPII_Errhandler_set_cxx(MPI_Errhandler handler, fgmpi_cxx_caller* caller) {
  LayerRank* rank = current_rank();
  VirtualCallbacks* found = rank ? rank->errhandlers.find(handler) : nullptr;
  if (found)
    found->calls->cxx = reinterpret_cast<void*>(caller);
  else
    next_internal().errhandler_set_cxx(handler, caller);
}
EXPORT void MPII_Grequest_set_lang_f77(MPI_Request request) {
  LayerRank* rank = current_rank();
  next_internal().grequest_set_lang_f77(rank ? real_of(*rank, Object::kRequest, request) : request);
}

#define FGMPI_ATTRIBUTES(name, Handle, Kind, get, set)                                       \
  EXPORT int MPII_##name##_get_attr(Handle object, int keyval, void* value, int* flag,       \
                                    fgmpi_attr_kind kind) {                                  \
    LayerRank* rank = current_rank();                                                        \
    if (rank) keyval = real_of(*rank, Object::kKeyval, keyval);                              \
    return next_internal().get(rank ? real_of(*rank, Object::Kind, object) : object, keyval, \
                               value, flag, kind);                                           \
  }                                                                                          \
  EXPORT int MPII_##name##_set_attr(Handle object, int keyval, void* value,                  \
                                    fgmpi_attr_kind kind) {                                  \
    LayerRank* rank = current_rank();                                                        \
    if (rank) keyval = real_of(*rank, Object::kKeyval, keyval);                              \
    return next_internal().set(rank ? real_of(*rank, Object::Kind, object) : object, keyval, \
                               value, kind);                                                 \
  }
FGMPI_ATTRIBUTES(Comm, MPI_Comm, kComm, comm_get_attr, comm_set_attr)
FGMPI_ATTRIBUTES(Type, MPI_Datatype, kDatatype, type_get_attr, type_set_attr)
