// Procedures with functions of the program: attributes, error handlers, operations, generalized
// requests, data representations.
//
// A function of the program has Fortran's convention: all arguments are addresses. Where that
// agrees with C's (operations, error handlers of objects whose handles are numbers), the function
// is passed on as it is; elsewhere functions here stand between.
//
// Thread rule: any thread. The program's functions may switch.
#include <memory>

#include "host/internal.h"
#include "mpichfort/arguments.h"

using namespace fgmpi::mpichfort;

namespace {

using FortranFunction = void();
using Extra = MPI_Aint;

template <class To>
To as(FortranFunction* function) {
  return reinterpret_cast<To>(function);
}
template <class To>
To as(void* function) {
  return reinterpret_cast<To>(function);
}
void set(int* ierror, int code) {
  if (ierror) *ierror = code;
}

// ---- Attributes (section 7.7)
//
// libmpich calls these with the program's function in front. `extra` is the address of the value
// that the keyval was created with. The address-sized functions are those of MPI-2, the others
// those of MPI-1, whose values are default integers.

using WideCopy = void (*)(int*, int*, Extra*, MPI_Aint*, MPI_Aint*, Logical*, int*);
using WideDelete = void (*)(int*, int*, MPI_Aint*, Extra*, int*);
using PlainCopy = void (*)(int*, int*, int*, int*, int*, Logical*, int*);
using PlainDelete = void (*)(int*, int*, int*, int*, int*);

int copy_wide(void* user, int handle, int keyval, void* extra, int, void* value, void** out,
              int* flag) {
  auto in = reinterpret_cast<MPI_Aint>(value);
  MPI_Aint copied = 0;
  int code = MPI_SUCCESS;
  as<WideCopy>(user)(&handle, &keyval, static_cast<Extra*>(extra), &in, &copied, flag, &code);
  if (*flag) *out = reinterpret_cast<void*>(copied);
  return code;
}
int delete_wide(void* user, int handle, int keyval, int, void* value, void* extra) {
  auto in = reinterpret_cast<MPI_Aint>(value);
  int code = MPI_SUCCESS;
  as<WideDelete>(user)(&handle, &keyval, &in, static_cast<Extra*>(extra), &code);
  return code;
}
int copy_plain(void* user, int handle, int keyval, void* extra, int, void* value, void** out,
               int* flag) {
  auto in = static_cast<int>(reinterpret_cast<intptr_t>(value));
  int copied = 0, code = MPI_SUCCESS;
  as<PlainCopy>(user)(&handle, &keyval, static_cast<int*>(extra), &in, &copied, flag, &code);
  if (*flag) *out = reinterpret_cast<void*>(static_cast<intptr_t>(copied));
  return code;
}
int delete_plain(void* user, int handle, int keyval, int, void* value, void* extra) {
  auto in = static_cast<int>(reinterpret_cast<intptr_t>(value));
  int code = MPI_SUCCESS;
  as<PlainDelete>(user)(&handle, &keyval, &in, static_cast<int*>(extra), &code);
  return code;
}

}  // namespace

#undef MPI_DUP_FN
#undef MPI_NULL_COPY_FN
#undef MPI_NULL_DELETE_FN
#undef MPI_COMM_DUP_FN
#undef MPI_COMM_NULL_COPY_FN
#undef MPI_COMM_NULL_DELETE_FN
#undef MPI_TYPE_DUP_FN
#undef MPI_TYPE_NULL_COPY_FN
#undef MPI_TYPE_NULL_DELETE_FN
#undef MPI_WIN_DUP_FN
#undef MPI_WIN_NULL_COPY_FN
#undef MPI_WIN_NULL_DELETE_FN
#undef MPI_CONVERSION_FN_NULL
#undef MPI_CONVERSION_FN_NULL_C

FGMPI_PROCEDURE void f_dup_wide(int*, int*, Extra*, MPI_Aint* in, MPI_Aint* out, Logical* flag,
                                int* ierror) {
  *out = *in;
  *flag = 1;
  *ierror = MPI_SUCCESS;
}
FGMPI_PROCEDURE void f_dup_plain(int*, int*, int*, int* in, int* out, Logical* flag, int* ierror) {
  *out = *in;
  *flag = 1;
  *ierror = MPI_SUCCESS;
}
FGMPI_PROCEDURE void f_null_copy(int*, int*, void*, void*, void*, Logical* flag, int* ierror) {
  *flag = 0;
  *ierror = MPI_SUCCESS;
}
FGMPI_PROCEDURE void f_null_delete(int*, int*, void*, void*, int* ierror) { *ierror = MPI_SUCCESS; }
FGMPI_PROCEDURE void f_conversion_null(void*, int*, void*, void*, MPI_Offset*, Extra*, int*) {}
#define FGMPI_FUNCTION(procedure, lower, UPPER)       \
  FGMPI_SPELLINGS(procedure, mpi, MPI, lower, UPPER); \
  FGMPI_SPELLINGS(procedure, pmpi, PMPI, lower, UPPER)
#define FGMPI_MODULE_FUNCTION(procedure, lower, UPPER) \
  FGMPI_FUNCTION(procedure, lower, UPPER);             \
  FGMPI_NAME(procedure, __mpi_f08_callbacks_MOD_mpi_##lower)
FGMPI_FUNCTION(f_dup_plain, dup_fn, DUP_FN);
FGMPI_FUNCTION(f_null_copy, null_copy_fn, NULL_COPY_FN);
FGMPI_FUNCTION(f_null_delete, null_delete_fn, NULL_DELETE_FN);
FGMPI_MODULE_FUNCTION(f_dup_wide, comm_dup_fn, COMM_DUP_FN);
FGMPI_MODULE_FUNCTION(f_null_copy, comm_null_copy_fn, COMM_NULL_COPY_FN);
FGMPI_MODULE_FUNCTION(f_null_delete, comm_null_delete_fn, COMM_NULL_DELETE_FN);
FGMPI_MODULE_FUNCTION(f_dup_wide, type_dup_fn, TYPE_DUP_FN);
FGMPI_MODULE_FUNCTION(f_null_copy, type_null_copy_fn, TYPE_NULL_COPY_FN);
FGMPI_MODULE_FUNCTION(f_null_delete, type_null_delete_fn, TYPE_NULL_DELETE_FN);
FGMPI_MODULE_FUNCTION(f_dup_wide, win_dup_fn, WIN_DUP_FN);
FGMPI_MODULE_FUNCTION(f_null_copy, win_null_copy_fn, WIN_NULL_COPY_FN);
FGMPI_MODULE_FUNCTION(f_null_delete, win_null_delete_fn, WIN_NULL_DELETE_FN);
FGMPI_MODULE_FUNCTION(f_conversion_null, conversion_fn_null, CONVERSION_FN_NULL);
FGMPI_MODULE_FUNCTION(f_conversion_null, conversion_fn_null_c, CONVERSION_FN_NULL_C);

namespace {

/// Makes libmpich call the functions of a new keyval as Fortran's. A null function of MPI's is
/// called like one of the program's.
int as_fortran(int code, const int* keyval, bool plain) {
  void* copy = plain ? reinterpret_cast<void*>(copy_plain) : reinterpret_cast<void*>(copy_wide);
  void* remove =
      plain ? reinterpret_cast<void*>(delete_plain) : reinterpret_cast<void*>(delete_wide);
  if (code == MPI_SUCCESS)
    MPII_Keyval_set_proxy(*keyval, as<fgmpi_copy_proxy*>(copy), as<fgmpi_delete_proxy*>(remove));
  return code;
}

}  // namespace

#define FGMPI_KEYVAL_PROCEDURE(procedure, call, Object)                                       \
  FGMPI_PROCEDURE void procedure(FortranFunction* copy, FortranFunction* remove, int* keyval, \
                                 void* extra, int* ierror) {                                  \
    set(ierror, as_fortran(call(as<Object##_copy_attr_function*>(copy),                       \
                                as<Object##_delete_attr_function*>(remove), keyval, extra),   \
                           keyval, false));                                                   \
  }
#define FGMPI_CALLBACK_BOTH(lower, UPPER)             \
  FGMPI_SPELLINGS(f_##lower, mpi, MPI, lower, UPPER); \
  FGMPI_SPELLINGS(pf_##lower, pmpi, PMPI, lower, UPPER)
#define FGMPI_F08(lower)                       \
  FGMPI_NAME(f_##lower, mpi_##lower##_f08_);   \
  FGMPI_NAME(pf_##lower, pmpi_##lower##_f08_); \
  FGMPI_NAME(pf_##lower, pmpir_##lower##_f08_)
#define FGMPI_CALLBACK_ALL(lower, UPPER) \
  FGMPI_CALLBACK_BOTH(lower, UPPER);     \
  FGMPI_F08(lower)

FGMPI_KEYVAL_PROCEDURE(f_comm_create_keyval, MPI_Comm_create_keyval, MPI_Comm)
FGMPI_KEYVAL_PROCEDURE(pf_comm_create_keyval, PMPI_Comm_create_keyval, MPI_Comm)
FGMPI_CALLBACK_ALL(comm_create_keyval, COMM_CREATE_KEYVAL);
FGMPI_KEYVAL_PROCEDURE(f_type_create_keyval, MPI_Type_create_keyval, MPI_Type)
FGMPI_KEYVAL_PROCEDURE(pf_type_create_keyval, PMPI_Type_create_keyval, MPI_Type)
FGMPI_CALLBACK_ALL(type_create_keyval, TYPE_CREATE_KEYVAL);
FGMPI_KEYVAL_PROCEDURE(f_win_create_keyval, MPI_Win_create_keyval, MPI_Win)
FGMPI_KEYVAL_PROCEDURE(pf_win_create_keyval, PMPI_Win_create_keyval, MPI_Win)
FGMPI_CALLBACK_ALL(win_create_keyval, WIN_CREATE_KEYVAL);

#define FGMPI_PLAIN_KEYVAL(procedure, call)                                                     \
  FGMPI_PROCEDURE void procedure(FortranFunction* copy, FortranFunction* remove, int* keyval,   \
                                 void* extra, int* ierror) {                                    \
    set(ierror, as_fortran(call(as<MPI_Copy_function*>(copy), as<MPI_Delete_function*>(remove), \
                                keyval, extra),                                                 \
                           keyval, true));                                                      \
  }
FGMPI_PLAIN_KEYVAL(f_keyval_create, MPI_Keyval_create)
FGMPI_PLAIN_KEYVAL(pf_keyval_create, PMPI_Keyval_create)
FGMPI_CALLBACK_BOTH(keyval_create, KEYVAL_CREATE);

// Values of attributes. libmpich's internal functions take them as Fortran's; they have one name.
namespace {
constexpr auto kAint = static_cast<fgmpi_attr_kind>(1), kInt = static_cast<fgmpi_attr_kind>(3);
}
#define FGMPI_ATTRIBUTES(object, Object, Handle)                                             \
  FGMPI_PROCEDURE void f_##object##_get_attr(const Handle* handle, const int* keyval,        \
                                             MPI_Aint* value, Logical* flag, int* ierror) {  \
    MPI_Aint found = 0;                                                                      \
    set(ierror, MPII_##Object##_get_attr(*handle, *keyval, &found, flag, kAint));            \
    make_logical(flag);                                                                      \
    if (*flag) *value = found;                                                               \
  }                                                                                          \
  FGMPI_PROCEDURE void f_##object##_set_attr(const Handle* handle, const int* keyval,        \
                                             const MPI_Aint* value, int* ierror) {           \
    set(ierror,                                                                              \
        MPII_##Object##_set_attr(*handle, *keyval, reinterpret_cast<void*>(*value), kAint)); \
  }                                                                                          \
  extern "C" __attribute__((                                                                 \
      alias("f_" #object "_get_attr"),                                                       \
      visibility("hidden"))) decltype(f_##object##_get_attr) pf_##object##_get_attr;         \
  extern "C"                                                                                 \
      __attribute__((alias("f_" #object "_set_attr"),                                        \
                     visibility("hidden"))) decltype(f_##object##_set_attr) pf_##object##_set_attr
FGMPI_ATTRIBUTES(comm, Comm, MPI_Comm);
FGMPI_CALLBACK_ALL(comm_get_attr, COMM_GET_ATTR);
FGMPI_CALLBACK_ALL(comm_set_attr, COMM_SET_ATTR);
FGMPI_ATTRIBUTES(type, Type, MPI_Datatype);
FGMPI_CALLBACK_ALL(type_get_attr, TYPE_GET_ATTR);
FGMPI_CALLBACK_ALL(type_set_attr, TYPE_SET_ATTR);
FGMPI_ATTRIBUTES(win, Win, MPI_Win);
FGMPI_CALLBACK_ALL(win_get_attr, WIN_GET_ATTR);
FGMPI_CALLBACK_ALL(win_set_attr, WIN_SET_ATTR);

FGMPI_PROCEDURE void f_attr_get(const MPI_Comm* comm, const int* keyval, int* value, Logical* flag,
                                int* ierror) {
  MPI_Aint found = 0;
  set(ierror, MPII_Comm_get_attr(*comm, *keyval, &found, flag, kInt));
  make_logical(flag);
  if (*flag) *value = static_cast<int>(found);
}
FGMPI_PROCEDURE void f_attr_put(const MPI_Comm* comm, const int* keyval, const int* value,
                                int* ierror) {
  set(ierror, MPII_Comm_set_attr(*comm, *keyval,
                                 reinterpret_cast<void*>(static_cast<intptr_t>(*value)), kInt));
}
FGMPI_FUNCTION(f_attr_get, attr_get, ATTR_GET);
FGMPI_FUNCTION(f_attr_put, attr_put, ATTR_PUT);

// ---- Error handlers (section 9.3): subroutines of a handle and a code, which C's functions get by
// address, too.
#define FGMPI_HANDLER(procedure, call, Type)                                            \
  FGMPI_PROCEDURE void procedure(FortranFunction* function, MPI_Errhandler* errhandler, \
                                 int* ierror) {                                         \
    set(ierror, call(as<Type*>(function), errhandler));                                 \
  }
#define FGMPI_HANDLERS(lower, Name, Type)    \
  FGMPI_HANDLER(f_##lower, MPI_##Name, Type) \
  FGMPI_HANDLER(pf_##lower, PMPI_##Name, Type)
FGMPI_HANDLERS(comm_create_errhandler, Comm_create_errhandler, MPI_Comm_errhandler_function)
FGMPI_CALLBACK_ALL(comm_create_errhandler, COMM_CREATE_ERRHANDLER);
FGMPI_HANDLERS(win_create_errhandler, Win_create_errhandler, MPI_Win_errhandler_function)
FGMPI_CALLBACK_ALL(win_create_errhandler, WIN_CREATE_ERRHANDLER);
FGMPI_HANDLERS(session_create_errhandler, Session_create_errhandler,
               MPI_Session_errhandler_function)
FGMPI_CALLBACK_ALL(session_create_errhandler, SESSION_CREATE_ERRHANDLER);
FGMPI_HANDLERS(errhandler_create, Errhandler_create, MPI_Handler_function)
FGMPI_CALLBACK_BOTH(errhandler_create, ERRHANDLER_CREATE);

namespace {

/// A file's handle is a pointer in C, so this function stands between.
void call_file_handler(MPI_File file, int code, void* function) {
  MPI_Fint handle = MPI_File_c2f(file);
  as<void (*)(MPI_Fint*, int*)>(function)(&handle, &code);
}

}  // namespace

extern "C" int MPIX_File_create_errhandler_x(MPIX_File_errhandler_function_x*,
                                             MPIX_Destructor_function*, void*, MPI_Errhandler*);
FGMPI_PROCEDURE void f_file_create_errhandler(FortranFunction* function, MPI_Errhandler* errhandler,
                                              int* ierror) {
  set(ierror, MPIX_File_create_errhandler_x(call_file_handler, nullptr,
                                            reinterpret_cast<void*>(function), errhandler));
}
FGMPI_FUNCTION(f_file_create_errhandler, file_create_errhandler, FILE_CREATE_ERRHANDLER);
FGMPI_NAME(f_file_create_errhandler, mpi_file_create_errhandler_f08_);
FGMPI_NAME(f_file_create_errhandler, pmpi_file_create_errhandler_f08_);
FGMPI_NAME(f_file_create_errhandler, pmpir_file_create_errhandler_f08_);

// ---- Operations (section 6.9.5): Fortran's functions have C's arguments, also those that are
// BIND(C).
#define FGMPI_OPERATION(procedure, call, Type)                                                  \
  FGMPI_PROCEDURE void procedure(FortranFunction* function, const Logical* commute, MPI_Op* op, \
                                 int* ierror) {                                                 \
    set(ierror, call(as<Type*>(function), *commute, op));                                       \
  }
FGMPI_OPERATION(f_op_create, MPI_Op_create, MPI_User_function)
FGMPI_OPERATION(pf_op_create, PMPI_Op_create, MPI_User_function)
FGMPI_CALLBACK_ALL(op_create, OP_CREATE);
FGMPI_OPERATION(f_op_create_c, MPI_Op_create_c, MPI_User_function_c)
FGMPI_OPERATION(pf_op_create_c, PMPI_Op_create_c, MPI_User_function_c)
FGMPI_F08(op_create_c);

// ---- Generalized requests (section 13.2)
#define FGMPI_GREQUEST(procedure, call)                                                         \
  FGMPI_PROCEDURE void procedure(FortranFunction* query, FortranFunction* release,              \
                                 FortranFunction* cancel, void* extra, MPI_Request* request,    \
                                 int* ierror) {                                                 \
    const int code =                                                                            \
        call(as<MPI_Grequest_query_function*>(query), as<MPI_Grequest_free_function*>(release), \
             as<MPI_Grequest_cancel_function*>(cancel), extra, request);                        \
    if (code == MPI_SUCCESS) MPII_Grequest_set_lang_f77(*request);                              \
    set(ierror, code);                                                                          \
  }
FGMPI_GREQUEST(f_grequest_start, MPI_Grequest_start)
FGMPI_GREQUEST(pf_grequest_start, PMPI_Grequest_start)
FGMPI_CALLBACK_ALL(grequest_start, GREQUEST_START);

// ---- Data representations (section 14.5.3)
namespace {

/// The functions of a representation, and its extra state. Representations live as long as their
/// rank.
struct FortranDatarep {
  FortranFunction *read, *write, *extent;
  Extra* extra;
};

template <class Count>
using Convert = void (*)(void*, MPI_Datatype*, Count*, void*, MPI_Offset*, Extra*, int*);

template <class Count>
int convert(FortranFunction* function, void* user, MPI_Datatype type, Count count, void* file,
            MPI_Offset position, const FortranDatarep* representation) {
  int code = MPI_SUCCESS;
  as<Convert<Count>>(function)(user, &type, &count, file, &position, representation->extra, &code);
  return code;
}
template <class Count>
int read_data(void* user, MPI_Datatype type, Count count, void* file, MPI_Offset position,
              void* state) {
  auto* r = static_cast<FortranDatarep*>(state);
  return convert(r->read, user, type, count, file, position, r);
}
template <class Count>
int write_data(void* user, MPI_Datatype type, Count count, void* file, MPI_Offset position,
               void* state) {
  auto* r = static_cast<FortranDatarep*>(state);
  return convert(r->write, user, type, count, file, position, r);
}
int find_extent(MPI_Datatype type, MPI_Aint* extent, void* state) {
  auto* r = static_cast<FortranDatarep*>(state);
  int code = MPI_SUCCESS;
  as<void (*)(MPI_Datatype*, MPI_Aint*, Extra*, int*)>(r->extent)(&type, extent, r->extra, &code);
  return code;
}
bool is_null(FortranFunction* function) {
  return reinterpret_cast<void*>(function) == reinterpret_cast<void*>(&f_conversion_null);
}

}  // namespace

#define FGMPI_DATAREP(procedure, call, Count)                                                     \
  FGMPI_PROCEDURE void procedure(const char* name, FortranFunction* read, FortranFunction* write, \
                                 FortranFunction* extent, Extra* extra, int* ierror,              \
                                 size_t length) {                                                 \
    auto state = std::make_unique<FortranDatarep>(FortranDatarep{read, write, extent, extra});    \
    const int code =                                                                              \
        call(trimmed(name, length).c_str(), is_null(read) ? nullptr : read_data<Count>,           \
             is_null(write) ? nullptr : write_data<Count>, find_extent, state.get());             \
    if (code == MPI_SUCCESS) state.release(); /* the representation has it */                     \
    set(ierror, code);                                                                            \
  }
FGMPI_DATAREP(f_register_datarep, MPI_Register_datarep, int)
FGMPI_DATAREP(pf_register_datarep, PMPI_Register_datarep, int)
FGMPI_CALLBACK_ALL(register_datarep, REGISTER_DATAREP);
FGMPI_DATAREP(f_register_datarep_c, MPI_Register_datarep_c, MPI_Count)
FGMPI_DATAREP(pf_register_datarep_c, PMPI_Register_datarep_c, MPI_Count)
FGMPI_F08(register_datarep_c);
FGMPI_NAME(f_op_create_c, mpi_op_create_f08_large_);
FGMPI_NAME(f_register_datarep_c, mpi_register_datarep_f08_large_);
