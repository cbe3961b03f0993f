// Functions of the program that MPI calls: MPI calls one of this file with its own handles, which
// calls the program's with those of the standard ABI.
//
// What a program registers is stored as one object, which MPI passes back. It is deleted where MPI
// says that it is not used any more (operations, error handlers, generalized requests); those of
// attributes' keys and data representations are never deleted, but equal ones are stored once.

#include <mpi.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <tuple>

#include "abi/convert.h"
#include "abi/library.h"
#include "mpi/abi_support.h"

namespace fgmpi::abi {
namespace {

using AnyFunction = void (*)();
template <class Function>
Function* as(AnyFunction function) {
  return reinterpret_cast<Function*>(function);
}

/// Deletes the object of a callback (MPIX_Destructor_function).
template <class Object>
void destroy(void* object) {
  delete static_cast<Object*>(object);
}

// ---- Operations ---------------------------------------------------------------------------------

struct ProgramOperation {
  AnyFunction function;
};

template <class Count>
void call_operation(void* in, void* inout, MPI_Count n, MPI_Datatype type, void* state) {
  Count count = static_cast<Count>(n);
  Handle handle = to_standard(type);
  as<void(void*, void*, Count*, Handle*)>(static_cast<ProgramOperation*>(state)->function)(
      in, inout, &count, &handle);
}

template <class Count>
int create_operation(AnyFunction function, int commute, Handle* op) {
  auto* operation = new ProgramOperation{function};
  const int code =
      mpich().X_Op_create_x(function ? call_operation<Count> : nullptr, destroy<ProgramOperation>,
                            commute, operation, HandleOut<>(op));
  if (code != MPI_SUCCESS) delete operation;
  return code_to_standard(code);
}

// ---- Error handlers -----------------------------------------------------------------------------

struct Handler {
  AnyFunction function;
};

template <class Object>
Handle standard_object(Object object) {
  return to_standard(object);
}
template <>
Handle standard_object(MPI_File file) {
  return to_standard_file(file);
}

template <class Object>
void call_handler(Object object, int* code, void* state) {
  Handle handle = standard_object(object);
  int standard_code = code_to_standard(*code);
  as<void(Handle*, int*, ...)>(static_cast<Handler*>(state)->function)(&handle, &standard_code);
  *code = code_to_mpich(standard_code);
}

template <class Object, class Create>
int create_handler(Create create, AnyFunction function, Handle* errhandler) {
  auto* handler = new Handler{function};
  // fgmpi_abi_pass_address() makes the library pass the code's address.
  using Function = void(Object, int, void*);
  auto* called = reinterpret_cast<Function*>(reinterpret_cast<AnyFunction>(call_handler<Object>));
  const int code =
      create(function ? called : nullptr, destroy<Handler>, handler, HandleOut<>(errhandler));
  if (code == MPI_SUCCESS)
    fgmpi_abi_pass_address(to_mpich(*errhandler));
  else
    delete handler;
  return code_to_standard(code);
}

// ---- Attributes ---------------------------------------------------------------------------------

/// The functions of a key, and what the program wants to be passed to them. The predefined
/// functions are 0 (nothing is copied, nothing is done) and 1 (the value is copied).
struct Key {
  AnyFunction copy, remove;
  void* state;
};

/// The object of a callback, of which there is one for equal contents.
template <class Object>
Object* stored_once(const Object& object, auto... members) {
  static std::mutex mutex;
  static auto& all = *new std::map<decltype(std::tuple(members...)), Object*>;
  const std::lock_guard guard(mutex);
  Object*& found = all[std::tuple(members...)];
  if (!found) found = new Object(object);
  return found;
}

template <class Owner>
int copy_attribute(Owner owner, int keyval, void* state, void* in, void* out, int* flag) {
  const Key& key = *static_cast<Key*>(state);
  const auto predefined = reinterpret_cast<uintptr_t>(key.copy);
  if (predefined > 1)
    return code_to_mpich(as<int(Handle, int, void*, void*, void*, int*)>(key.copy)(
        to_standard(owner), keyval, key.state, in, out, flag));
  *flag = static_cast<int>(predefined);
  if (predefined) std::memcpy(out, &in, sizeof in);
  return MPI_SUCCESS;
}

template <class Owner>
int delete_attribute(Owner owner, int keyval, void* value, void* state) {
  const Key& key = *static_cast<Key*>(state);
  if (!key.remove) return MPI_SUCCESS;
  return code_to_mpich(
      as<int(Handle, int, void*, void*)>(key.remove)(to_standard(owner), keyval, value, key.state));
}

template <class Owner, class Create>
int create_key(Create create, AnyFunction copy, AnyFunction remove, int* keyval, void* state) {
  Key* key = stored_once(Key{copy, remove, state}, reinterpret_cast<void*>(copy),
                         reinterpret_cast<void*>(remove), state);
  return code_to_standard(create(copy_attribute<Owner>, delete_attribute<Owner>, keyval, key));
}

/// Attributes of MPI itself whose values are constants; the program gets their address.
const int* standard_value(int keyval, const void* value) {
  static constexpr int kNowhere = -3, kAnywhere = -1;  // MPI_PROC_NULL, MPI_ANY_SOURCE
  static const int kFlavors[] = {
      family_window_flavor_to_standard(MPI_WIN_FLAVOR_CREATE),
      family_window_flavor_to_standard(MPI_WIN_FLAVOR_ALLOCATE),
      family_window_flavor_to_standard(MPI_WIN_FLAVOR_DYNAMIC),
      family_window_flavor_to_standard(MPI_WIN_FLAVOR_SHARED),
  };
  static const int kModels[] = {family_window_model_to_standard(MPI_WIN_UNIFIED),
                                family_window_model_to_standard(MPI_WIN_SEPARATE)};
  switch (keyval) {
    case MPI_IO:
    case MPI_HOST: {
      const int rank = *static_cast<const int*>(value);
      if (rank >= 0) return static_cast<const int*>(value);
      return rank == MPI_PROC_NULL ? &kNowhere : &kAnywhere;
    }
    case MPI_WIN_CREATE_FLAVOR:
      return std::find(std::begin(kFlavors), std::end(kFlavors),
                       family_window_flavor_to_standard(*static_cast<const int*>(value)));
    case MPI_WIN_MODEL:
      return std::find(std::begin(kModels), std::end(kModels),
                       family_window_model_to_standard(*static_cast<const int*>(value)));
    default:
      return nullptr;
  }
}

template <class Get, class Owner>
int get_attribute(Get get, Owner owner, int keyval, void* value, int* flag) {
  keyval = family_keyval_to_mpich(keyval);
  const int code = get(owner, keyval, value, flag);
  if (code != MPI_SUCCESS || !*flag) return code_to_standard(code);
  void* found;
  std::memcpy(&found, value, sizeof found);
  const int* standard = found ? standard_value(keyval, found) : nullptr;
  if (standard) std::memcpy(value, &standard, sizeof standard);
  return 0;
}

// ---- Generalized requests -----------------------------------------------------------------------

struct ProgramRequest {
  AnyFunction query, free, cancel;
  void* state;
};

int query_request(void* state, MPI_Status* status) {
  const auto& request = *static_cast<ProgramRequest*>(state);
  StandardStatus standard = {};
  store(*status, &standard);
  const int code = as<int(void*, StandardStatus*)>(request.query)(request.state, &standard);
  *status = to_mpich(standard);
  return code_to_mpich(code);
}
int free_request(void* state) {
  auto* request = static_cast<ProgramRequest*>(state);
  const int code = as<int(void*)>(request->free)(request->state);
  delete request;
  return code_to_mpich(code);
}
int cancel_request(void* state, int complete) {
  const auto& request = *static_cast<ProgramRequest*>(state);
  return code_to_mpich(as<int(void*, int)>(request.cancel)(request.state, complete));
}

// ---- Data representations -----------------------------------------------------------------------

struct Representation {
  AnyFunction read, write, extent;
  void* state;
};

template <class Count>
int convert(AnyFunction function, void* user, MPI_Datatype type, Count count, void* file,
            MPI_Offset position, void* state) {
  return code_to_mpich(as<int(void*, Handle, Count, void*, MPI_Offset, void*)>(function)(
      user, to_standard(type), count, file, position, state));
}
template <class Count>
int convert_read(void* user, MPI_Datatype type, Count count, void* file, MPI_Offset position,
                 void* state) {
  const auto& r = *static_cast<Representation*>(state);
  return convert(r.read, user, type, count, file, position, r.state);
}
template <class Count>
int convert_write(void* user, MPI_Datatype type, Count count, void* file, MPI_Offset position,
                  void* state) {
  const auto& r = *static_cast<Representation*>(state);
  return convert(r.write, user, type, count, file, position, r.state);
}
int file_extent(MPI_Datatype type, MPI_Aint* extent, void* state) {
  const auto& r = *static_cast<Representation*>(state);
  return code_to_mpich(
      as<int(Handle, MPI_Aint*, void*)>(r.extent)(to_standard(type), extent, r.state));
}

template <class Count, class Register>
int register_representation(Register call, const char* name, AnyFunction read, AnyFunction write,
                            AnyFunction extent, void* state) {
  Representation* r =
      stored_once(Representation{read, write, extent, state}, reinterpret_cast<void*>(read),
                  reinterpret_cast<void*>(write), reinterpret_cast<void*>(extent), state);
  return code_to_standard(call(name, read ? convert_read<Count> : nullptr,
                               write ? convert_write<Count> : nullptr,
                               extent ? file_extent : nullptr, r));
}

// ---- Events of the tools interface --------------------------------------------------------------

struct EventFunction {
  AnyFunction function;
  void* data;
};
MPI_T_cb_safety safety_to_mpich(int safety) {
  return static_cast<MPI_T_cb_safety>(family_callback_safety_to_mpich(safety));
}

void call_event(MPI_T_event_instance instance, MPI_T_event_registration registration,
                MPI_T_cb_safety safety, void* data) {
  const auto& event = *static_cast<EventFunction*>(data);
  as<void(void*, void*, int, void*)>(event.function)(
      instance, registration, family_callback_safety_to_standard(safety), event.data);
}
void call_freed(MPI_T_event_registration registration, MPI_T_cb_safety safety, void* data) {
  const auto& event = *static_cast<EventFunction*>(data);
  as<void(void*, int, void*)>(event.function)(
      registration, family_callback_safety_to_standard(safety), event.data);
}

/// Functions for dropped events, which get no data of the program: one for each registration.
struct Dropped {
  std::mutex mutex;
  std::map<MPI_T_event_registration, AnyFunction> functions;
};
Dropped& dropped() {
  static auto& all = *new Dropped;
  return all;
}
void call_dropped(MPI_Count count, MPI_T_event_registration registration, int source,
                  MPI_T_cb_safety safety, void* data) {
  AnyFunction function = nullptr;
  {
    const std::lock_guard guard(dropped().mutex);
    function = dropped().functions[registration];
  }
  if (function)
    as<void(MPI_Count, void*, int, int, void*)>(function)(
        count, registration, source, family_callback_safety_to_standard(safety), data);
}

}  // namespace
}  // namespace fgmpi::abi

using namespace fgmpi::abi;

FGMPI_STANDARD(MPI_Op_create, int, Op_create, (AnyFunction user_fn, int commute, Handle* op))
extern "C" int standard_Op_create(AnyFunction user_fn, int commute, Handle* op) {
  return create_operation<int>(user_fn, commute, op);
}
FGMPI_STANDARD(MPI_Op_create_c, int, Op_create_c, (AnyFunction user_fn, int commute, Handle* op))
extern "C" int standard_Op_create_c(AnyFunction user_fn, int commute, Handle* op) {
  return create_operation<MPI_Count>(user_fn, commute, op);
}

#define FGMPI_HANDLER(kind, type)                                                                \
  FGMPI_STANDARD(MPI_##kind##_create_errhandler, int, kind##_create_errhandler,                  \
                 (AnyFunction function, Handle * errhandler))                                    \
  extern "C" int standard_##kind##_create_errhandler(AnyFunction function, Handle* errhandler) { \
    return create_handler<type>(mpich().X_##kind##_create_errhandler_x, function, errhandler);   \
  }

FGMPI_HANDLER(Comm, MPI_Comm)
FGMPI_HANDLER(Win, MPI_Win)
FGMPI_HANDLER(File, MPI_File)
FGMPI_HANDLER(Session, MPI_Session)

FGMPI_STANDARD(MPI_Comm_create_keyval, int, Comm_create_keyval,
               (AnyFunction copy, AnyFunction remove, int* keyval, void* state))
extern "C" int standard_Comm_create_keyval(AnyFunction copy, AnyFunction remove, int* keyval,
                                           void* state) {
  return create_key<MPI_Comm>(mpich().Comm_create_keyval, copy, remove, keyval, state);
}
FGMPI_STANDARD(MPI_Keyval_create, int, Keyval_create,
               (AnyFunction copy, AnyFunction remove, int* keyval, void* state))
extern "C" int standard_Keyval_create(AnyFunction copy, AnyFunction remove, int* keyval,
                                      void* state) {
  return create_key<MPI_Comm>(mpich().Keyval_create, copy, remove, keyval, state);
}
FGMPI_STANDARD(MPI_Type_create_keyval, int, Type_create_keyval,
               (AnyFunction copy, AnyFunction remove, int* keyval, void* state))
extern "C" int standard_Type_create_keyval(AnyFunction copy, AnyFunction remove, int* keyval,
                                           void* state) {
  return create_key<MPI_Datatype>(mpich().Type_create_keyval, copy, remove, keyval, state);
}
FGMPI_STANDARD(MPI_Win_create_keyval, int, Win_create_keyval,
               (AnyFunction copy, AnyFunction remove, int* keyval, void* state))
extern "C" int standard_Win_create_keyval(AnyFunction copy, AnyFunction remove, int* keyval,
                                          void* state) {
  return create_key<MPI_Win>(mpich().Win_create_keyval, copy, remove, keyval, state);
}

FGMPI_STANDARD(MPI_Attr_get, int, Attr_get, (Handle comm, int keyval, void* value, int* flag))
extern "C" int standard_Attr_get(Handle comm, int keyval, void* value, int* flag) {
  return get_attribute(mpich().Attr_get, to_mpich(comm), keyval, value, flag);
}
FGMPI_STANDARD(MPI_Comm_get_attr, int, Comm_get_attr,
               (Handle comm, int keyval, void* value, int* flag))
extern "C" int standard_Comm_get_attr(Handle comm, int keyval, void* value, int* flag) {
  return get_attribute(mpich().Comm_get_attr, to_mpich(comm), keyval, value, flag);
}
FGMPI_STANDARD(MPI_Type_get_attr, int, Type_get_attr,
               (Handle type, int keyval, void* value, int* flag))
extern "C" int standard_Type_get_attr(Handle type, int keyval, void* value, int* flag) {
  return get_attribute(mpich().Type_get_attr, to_mpich(type), keyval, value, flag);
}
FGMPI_STANDARD(MPI_Win_get_attr, int, Win_get_attr,
               (Handle win, int keyval, void* value, int* flag))
extern "C" int standard_Win_get_attr(Handle win, int keyval, void* value, int* flag) {
  return get_attribute(mpich().Win_get_attr, to_mpich(win), keyval, value, flag);
}

FGMPI_STANDARD(MPI_Grequest_start, int, Grequest_start,
               (AnyFunction query, AnyFunction free, AnyFunction cancel, void* state,
                Handle* request))
extern "C" int standard_Grequest_start(AnyFunction query, AnyFunction free, AnyFunction cancel,
                                       void* state, Handle* request) {
  auto* made = new ProgramRequest{query, free, cancel, state};
  const int code =
      mpich().Grequest_start(query ? query_request : nullptr, free ? free_request : nullptr,
                             cancel ? cancel_request : nullptr, made, HandleOut<>(request));
  if (code != MPI_SUCCESS) delete made;
  return code_to_standard(code);
}

FGMPI_STANDARD(MPI_Register_datarep, int, Register_datarep,
               (const char* name, AnyFunction read, AnyFunction write, AnyFunction extent,
                void* state))
extern "C" int standard_Register_datarep(const char* name, AnyFunction read, AnyFunction write,
                                         AnyFunction extent, void* state) {
  return register_representation<int>(mpich().Register_datarep, name, read, write, extent, state);
}
FGMPI_STANDARD(MPI_Register_datarep_c, int, Register_datarep_c,
               (const char* name, AnyFunction read, AnyFunction write, AnyFunction extent,
                void* state))
extern "C" int standard_Register_datarep_c(const char* name, AnyFunction read, AnyFunction write,
                                           AnyFunction extent, void* state) {
  return register_representation<MPI_Count>(mpich().Register_datarep_c, name, read, write, extent,
                                            state);
}

// A registration may be freed while its function is still called, and no call says when that ends:
// the objects of events are never deleted.
FGMPI_STANDARD(MPI_T_event_register_callback, int, T_event_register_callback,
               (void* registration, int safety, Handle info, void* data, AnyFunction function))
extern "C" int standard_T_event_register_callback(void* registration, int safety, Handle info,
                                                  void* data, AnyFunction function) {
  EventFunction* event =
      stored_once(EventFunction{function, data}, reinterpret_cast<void*>(function), data);
  return code_to_standard(mpich().T_event_register_callback(
      static_cast<MPI_T_event_registration>(registration), safety_to_mpich(safety), to_mpich(info),
      event, function ? call_event : nullptr));
}
FGMPI_STANDARD(MPI_T_event_handle_free, int, T_event_handle_free,
               (void* registration, void* data, AnyFunction function))
extern "C" int standard_T_event_handle_free(void* registration, void* data, AnyFunction function) {
  EventFunction* event =
      stored_once(EventFunction{function, data}, reinterpret_cast<void*>(function), data);
  {
    const std::lock_guard guard(dropped().mutex);
    dropped().functions.erase(static_cast<MPI_T_event_registration>(registration));
  }
  return code_to_standard(mpich().T_event_handle_free(
      static_cast<MPI_T_event_registration>(registration), event, function ? call_freed : nullptr));
}
FGMPI_STANDARD(MPI_T_event_set_dropped_handler, int, T_event_set_dropped_handler,
               (void* registration, AnyFunction function))
extern "C" int standard_T_event_set_dropped_handler(void* registration, AnyFunction function) {
  const auto handle = static_cast<MPI_T_event_registration>(registration);
  {
    const std::lock_guard guard(dropped().mutex);
    dropped().functions[handle] = function;
  }
  return code_to_standard(
      mpich().T_event_set_dropped_handler(handle, function ? call_dropped : nullptr));
}
