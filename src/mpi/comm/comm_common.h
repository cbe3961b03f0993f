// What the bindings of chapters 7 and 8 share.
#pragma once

#include <string>

#include "comm/attr.h"
#include "comm/errhandler.h"
#include "comm/extras.h"
#include "comm/group.h"
#include "comm/hints.h"
#include "comm/partial_group.h"
#include "host/internal.h"
#include "mpi/binding.h"
#include "mpi/tools/events.h"

namespace fgmpi::mpi {

/// Ends a call that creates a communicator: fills *newcomm. An error while the group agreed is an
/// error at every member.
inline int give(const char* call, comm::Comm* parent, const Status& status, comm::Comm* made,
                MPI_Comm* newcomm) {
  *newcomm = made && status.ok() ? made->handle : MPI_COMM_NULL;
  if (*newcomm != MPI_COMM_NULL) events::raise_comm_created(made);
  return done(call, parent, status);
}

/// Called before a call uses the map of a communicator for more than single ranks. For a
/// system-ranked communicator the process requests the map. May switch, the first time.
inline void load_group_map(comm::Comm* c) {
  if (__builtin_expect(c->shared->tree != nullptr, 0)) comm::materialise_map(c->shared);
}

/// Errors: MPI_ERR_COMM, naming what `comm` must be.
inline Status check_intra(const comm::Comm* c) {
  if (!c->shared->inter) return {};
  return error(MPI_ERR_COMM, "comm is an intercommunicator; allowed is an intracommunicator");
}
inline Status check_inter(const comm::Comm* c) {
  if (c->shared->inter) return {};
  return error(MPI_ERR_COMM, "comm is an intracommunicator; allowed is an intercommunicator");
}

/// The group behind a handle. Errors: MPI_ERR_GROUP.
inline Status find_group(MPI_Group handle, const char* argument, comm::Group** out) {
  *out = comm::find_group(handle);
  if (*out) return {};
  return error(MPI_ERR_GROUP, "%s is %s; allowed is a valid group", argument,
               handle == MPI_GROUP_NULL ? "MPI_GROUP_NULL" : "not a group or was freed");
}

/// MPI_Comm_create_errhandler and its like.
template <class F>
Status make_errhandler(comm::HandlerOf of, F* function, MPI_Errhandler* out) {
  return comm::create_errhandler(of, reinterpret_cast<void (*)(void*, int*, ...)>(function), out);
}

/// MPIX_Comm_create_errhandler_x and its like.
template <class F>
Status make_errhandler(comm::HandlerOf of, F* function, void (*destructor)(void*), void* state,
                       MPI_Errhandler* out) {
  return comm::create_errhandler(of, reinterpret_cast<void (*)()>(function), {state, destructor},
                                 out);
}

/// Attributes on communicators, from C or Fortran. Setting and deleting may switch (delete
/// functions) and return an error code.
Status get_comm_attribute(comm::Comm* comm, int keyval, comm::AttrKind kind, void* value,
                          int* flag);
int set_comm_attribute(const char* call, comm::Comm* comm, int keyval, void* value,
                       comm::AttrKind kind);
int delete_comm_attribute(const char* call, comm::Comm* comm, int keyval);
/// Attributes on datatypes, and the calls that run the functions of these attributes: MPI_Type_dup
/// and MPI_Type_free. May switch.
Status get_type_attribute(MPI_Datatype type, int keyval, comm::AttrKind kind, void* value,
                          int* flag);
int set_type_attribute(const char* call, MPI_Datatype type, int keyval, void* value,
                       comm::AttrKind kind);
int delete_type_attribute(const char* call, MPI_Datatype type, int keyval);
int duplicate_type(MPI_Datatype from, MPI_Datatype* to);
int free_type(MPI_Datatype* type);
/// A user's function in the type in which src/comm/attr.h stores it.
template <class F>
void* erase_type(F* function) {
  return reinterpret_cast<void*>(function);
}
inline comm::AttrKind attr_kind(fgmpi_attr_kind kind) { return static_cast<comm::AttrKind>(kind); }

/// The result of a call with a handle that is not a group's.
inline int bad_group(const char* call, MPI_Group handle, const char* argument) {
  comm::Group* none;
  return fail(call, nullptr, find_group(handle, argument, &none));
}

/// For calls without a communicator: the rank must be between MPI_Init and MPI_Finalize (or have a
/// session).
inline bool usable() { return comm::rank_state() != nullptr; }

/// Copies the attributes and neighbours that a duplicate inherits; no hints, since MPI-4.0 (section
/// 7.4.2). May switch (copy functions). Returns a copy function's failing code, else MPI_SUCCESS.
int copy_extras(comm::Comm* from, std::unique_ptr<comm::Extras>* to);

// The following functions are named by rows of calls.table. Those that return an error code leave
// the call of the error handler to the binding.

/// MPI_Comm_dup and its like: copy functions run first. May switch.
int duplicate(const char* call, comm::Comm* comm, MPI_Info info, comm::Comm** newcomm);
/// Does all of MPI_Comm_idup. May switch (copy functions).
int idup(const char* call, MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request);
/// MPI_Comm_get_name, also of MPI_COMM_NULL (MPI-4.1 section 7.8).
int name_of_comm(const char* call, MPI_Comm comm, char* comm_name, int* resultlen);
/// MPIX_Comm_iagree and MPIX_Comm_ishrink. Never switch.
Status comm_iagree(const char* call, comm::Comm* comm, int* flag, MPI_Request* request);
int comm_ishrink(const char* call, MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request);
/// Frees or disconnects a communicator. May switch (delete functions).
int release_comm(const char* call, comm::Comm* comm);

/// Stores the hints that a creation was given, and applies the strategy among them in this process.
inline void apply_hints(comm::Comm* made, comm::Hints hints) {
  if (auto strategy = comm::strategy_of(hints)) comm::store_as(made, *strategy);
  comm::extras(made).info = std::move(hints);
}

}  // namespace fgmpi::mpi

/// Stands before all else in calls that have no communicator.
#define FGMPI_NEED_INIT(call)                       \
  if (__builtin_expect(!::fgmpi::mpi::usable(), 0)) \
  return ::fgmpi::mpi::bad_comm(call, MPI_COMM_SELF)
