// How objects are made where a rank runs, and how they follow those at home.
#include "checkpoint/here.h"

#include <vector>

#include "checkpoint/deputy.h"
#include "checkpoint/describe.h"
#include "checkpoint/moves.h"
#include "checkpoint/wrappers.h"

namespace fgmpi::checkpoint {

int (*g_real_here)(const LayerRank&, Object, int) = real_of;

namespace {

/// While it lives, the rank itself makes all calls of MPI.
class CallsOfRank {
 public:
  CallsOfRank() : rank_(current_rank()), before_(rank_->has_deputy) { rank_->has_deputy = false; }
  ~CallsOfRank() { rank_->has_deputy = before_; }
  CallsOfRank(const CallsOfRank&) = delete;
  CallsOfRank& operator=(const CallsOfRank&) = delete;

 private:
  LayerRank* rank_;
  bool before_;
};

}  // namespace

CallsAtHome::CallsAtHome() {
  LayerRank* rank = g_moves ? current_rank() : nullptr;
  if (!rank || !rank->has_deputy || !is_home(*rank)) return;
  rank_ = rank;
  rank_->has_deputy = false;
}
CallsAtHome::~CallsAtHome() {
  if (rank_) rank_->has_deputy = true;
}

namespace {

/// Gives a communicator here the error handler that it has at home.
void copy_errhandler(const VirtualComm& comm) {
  const MPI_Errhandler at_home = by_deputy("a move", fgmpi_own_errhandler, comm.real);
  if (at_home == MPI_ERRHANDLER_NULL) return fgmpi_set_own_errhandler(comm.here, at_home);
  if (!is_made(Object::kErrhandler, at_home)) {
    g_mpi.MPI_Comm_set_errhandler(comm.here, at_home);
    return;
  }
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  g_mpi.MPI_Comm_create_errhandler(comm_error_function(), &handler);
  g_mpi.MPI_Comm_set_errhandler(comm.here, handler);
  g_mpi.MPI_Errhandler_free(&handler);
}

}  // namespace

void copy_predefined_errhandlers() {
  for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    VirtualComm predefined;
    predefined.real = predefined.here = comm;
    copy_errhandler(predefined);
  }
}

namespace {

void copy_name(const VirtualComm& comm) {
  char name[MPI_MAX_OBJECT_NAME] = {};
  int length = 0;
  g_next.MPI_Comm_get_name(comm.real, name, &length);
  if (length > 0) g_mpi.MPI_Comm_set_name(comm.here, name);
}

void make_here(VirtualComm* comm) {
  std::vector<char> description(256);
  size_t bytes = description.size();
  for (bool fits = false; !fits; fits = bytes <= description.size()) {
    description.resize(bytes);
    bytes = by_deputy("a move", fgmpi_describe_comm, comm->real, description.data(),
                      description.size());
  }
  // A rank with communicators that cannot be visited does not move.
  const MPI_Comm made = bytes > 0 ? fgmpi_visit_comm(description.data(), bytes) : MPI_COMM_NULL;
  comm->visits = made != MPI_COMM_NULL;
  comm->here = comm->visits ? made : comm->real;
  if (!comm->visits) return;
  copy_name(*comm);
  copy_errhandler(*comm);
}

void make_here(VirtualType* type) {
  const TypeDescription::Node constructor = constructor_of(type->real);
  char name[MPI_MAX_OBJECT_NAME] = {};
  int length = 0;
  g_next.MPI_Type_get_name(type->real, name, &length);
  const CallsOfRank calls;
  type->here = type_of(constructor);
  if (type->committed) g_mpi.MPI_Type_commit(&type->here);
  if (length > 0 && !type->permanent) g_mpi.MPI_Type_set_name(type->here, name);
}

int real_here(const LayerRank& rank, Object kind, int handle) {
  if (!is_virtual(handle) || !rank.has_deputy) return real_of(rank, kind, handle);
  if (kind == Object::kComm) {
    VirtualComm* comm = rank.comms.find(handle);
    if (comm && comm->here == 0) make_here(comm);
    if (comm) return comm->here;
  }
  if (kind == Object::kDatatype) {
    VirtualType* type = rank.types.find(handle);
    if (type && type->here == 0) make_here(type);
    if (type) return type->here;
  }
  return real_of(rank, kind, handle);
}

// ---- What is called in place of functions that change objects at home

/// Calls action(entry) for the communicator with this handle of MPI's, if it has an object here.
template <class Table, class Action>
void with_object_here(const Table& table, int real, Action&& action) {
  auto* found = table.find(table.handle_of_real(real));
  if (found && found->here != 0) action(found);
}

/// Communicators that are made later have the handler of their parent.
void copy_errhandlers(const LayerRank& rank) {
  if (g_moves) copy_predefined_errhandlers();
  rank.comms.for_each([](MPI_Comm, const VirtualComm* comm) {
    if (comm->visits) copy_errhandler(*comm);
  });
}

int set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
  const int code =
      by_deputy("MPI_Comm_set_errhandler", g_mpi.MPI_Comm_set_errhandler, comm, handler);
  if (code == MPI_SUCCESS && has_deputy()) copy_errhandlers(*current_rank());
  return code;
}

int set_old_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
  const int code = by_deputy("MPI_Errhandler_set", g_mpi.MPI_Errhandler_set, comm, handler);
  if (code == MPI_SUCCESS && has_deputy()) copy_errhandlers(*current_rank());
  return code;
}

int set_name(MPI_Comm comm, const char* name) {
  const int code = by_deputy("MPI_Comm_set_name", g_mpi.MPI_Comm_set_name, comm, name);
  if (code == MPI_SUCCESS && has_deputy())
    with_object_here(current_rank()->comms, comm, [](VirtualComm* found) {
      if (found->visits) copy_name(*found);
    });
  return code;
}

int commit(MPI_Datatype* type) {
  const int code = by_deputy("MPI_Type_commit", g_mpi.MPI_Type_commit, type);
  if (code == MPI_SUCCESS && has_deputy())
    with_object_here(current_rank()->types, *type,
                     [](VirtualType* found) { g_mpi.MPI_Type_commit(&found->here); });
  return code;
}

int free_type_at_home(MPI_Datatype* type) {
  if (type && has_deputy())
    with_object_here(current_rank()->types, *type, [](VirtualType* found) { drop_here(found); });
  return by_deputy("MPI_Type_free", g_mpi.MPI_Type_free, type);
}

}  // namespace

void drop_here(VirtualComm* comm) {
  if (comm->visits) fgmpi_leave_comm(comm->here);
  comm->here = 0;
  comm->visits = false;
}

void drop_here(VirtualType* type) {
  if (type->here != 0 && !type->permanent) g_mpi.MPI_Type_free(&type->here);
  type->here = 0;
}

void drop_objects_here(LayerRank& rank) {
  rank.comms.for_each([](MPI_Comm, VirtualComm* comm) { drop_here(comm); });
  rank.types.for_each([](MPI_Datatype, VirtualType* type) { drop_here(type); });
}

void leave_home(LayerRank& rank) { rank.has_deputy = g_deputies; }

void come_home(LayerRank& rank) {
  drop_objects_here(rank);
  rank.has_deputy = false;
}

MPI_Comm comm_at_home(const LayerRank& rank, MPI_Comm real) {
  MPI_Comm home = real;
  if (!rank.has_deputy) return home;
  rank.comms.for_each([&](MPI_Comm, const VirtualComm* comm) {
    if (comm->here == real) home = comm->real;
  });
  return home;
}

void follow_objects_at_home(Next* next) {
  next->MPI_Comm_set_errhandler = set_errhandler;
  next->MPI_Errhandler_set = set_old_errhandler;
  next->MPI_Comm_set_name = set_name;
  next->MPI_Type_commit = commit;
  next->MPI_Type_free = free_type_at_home;
  g_real_here = real_here;
}

}  // namespace fgmpi::checkpoint

using namespace fgmpi::checkpoint;

// Error classes and codes that the program has added are known at home.
namespace {
bool has_own_errors_at_home() {
  const LayerRank* rank = current_rank();
  return rank && rank->has_deputy && rank->own_errors;
}
}  // namespace

FGMPI_BOTH(MPI_Error_class, (int errorcode, int* errorclass),
           (has_own_errors_at_home() ? g_next : g_mpi).MPI_Error_class(errorcode, errorclass))
FGMPI_BOTH(
    MPI_Error_string, (int errorcode, char* string, int* resultlen),
    (has_own_errors_at_home() ? g_next : g_mpi).MPI_Error_string(errorcode, string, resultlen))
FGMPI_BOTH(MPI_Remove_error_class, (int errorclass), g_next.MPI_Remove_error_class(errorclass))
FGMPI_BOTH(MPI_Remove_error_code, (int errorcode), g_next.MPI_Remove_error_code(errorcode))
FGMPI_BOTH(MPI_Remove_error_string, (int errorcode), g_next.MPI_Remove_error_string(errorcode))
