// Communicators: who is in them, comparing, duplicating, splitting, creating, freeing (MPI-4.0 sections 7.4.1 to 7.4.3).

#include "comm/create.h"
#include "mpi/comm_common.h"

namespace fgmpi::mpi {

int copy_extras(comm::Comm* from, std::unique_ptr<comm::Extras>* to) {
  if (!from->extras) return MPI_SUCCESS;
  auto made = std::make_unique<comm::Extras>();
  if (from->extras->neighbors)
    made->neighbors = std::make_unique<comm::Neighbors>(*from->extras->neighbors);
  int code = comm::copy_attributes(&from->extras->attributes, from->handle, &made->attributes);
  *to = std::move(made);
  return code;
}

namespace {

/// MPI_Comm_dup and its kin. Copy functions run first; a duplicate that one of them forbids is still made, as others
/// wait for it, and freed again.
int dup_with_extras(const char* call, comm::Comm* c, MPI_Info info, MPI_Comm* newcomm) {
  *newcomm = MPI_COMM_NULL;
  std::unique_ptr<comm::Extras> extras;
  comm::Hints hints;
  if (Status read = comm::read_hints(info, &hints); !read.ok()) return bad_info(call, c, read);
  int code = copy_extras(c, &extras);
  comm::Comm* made = nullptr;
  Status status = comm::dup(c, &made, call, comm::strategy_of(hints));
  if (!hints.empty()) {
    if (!extras) extras = std::make_unique<comm::Extras>();
    extras->info = std::move(hints);
  }
  if (status.ok() && code == MPI_SUCCESS) {
    made->extras = std::move(extras);
    *newcomm = made->handle;
    return MPI_SUCCESS;
  }
  if (extras) comm::drop_attributes(&extras->attributes);
  if (made) comm::free(made);
  return status.ok() ? fail_code(call, c, code) : fail(call, c, status);
}

/// Nothing to copy is the usual case: few cache lines of a cold stack.
int dup(const char* call, comm::Comm* c, MPI_Info info, MPI_Comm* newcomm) {
  if (c->extras || info != MPI_INFO_NULL) return dup_with_extras(call, c, info, newcomm);
  comm::Comm* made = nullptr;
  Status status = comm::dup(c, &made, call);
  return give(call, c, status, made, newcomm);
}

int idup(const char* call, comm::Comm* c, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request) {
  *newcomm = MPI_COMM_NULL;
  std::unique_ptr<comm::Extras> extras;
  comm::Hints hints;
  if (Status read = comm::read_hints(info, &hints); !read.ok()) return bad_info(call, c, read);
  if (int code = copy_extras(c, &extras); code != MPI_SUCCESS) {
    if (extras) comm::drop_attributes(&extras->attributes);
    return fail_code(call, c, code);
  }
  if (!hints.empty()) {
    if (!extras) extras = std::make_unique<comm::Extras>();
    extras->info = std::move(hints);
  }
  pt2pt::Request* r = nullptr;
  FGMPI_RETURN_IF(call, c, comm::idup(c, newcomm, std::move(extras), call, &r));
  *request = pt2pt::handle_of(r);
  return MPI_SUCCESS;
}

/// A communicator is made of members of its parent; of an intercommunicator, of those of the own side.
Status check_part(const comm::Comm* c, const RankMap& group) {
  const RankMap& all = c->shared->map;
  if (comm::contains(all, group)) return {};
  int32_t rank = 0;
  while (all.rank_of(group.world_of(rank)) >= 0) ++rank;
  return error(MPI_ERR_GROUP,
               "rank %d of group (rank %d of MPI_COMM_WORLD) is not in the%s group of comm; "
               "allowed are groups of its "
               "members",
               rank, group.world_of(rank), c->shared->inter ? " local" : "");
}

}  // namespace
}  // namespace fgmpi::mpi

using namespace fgmpi;

FGMPI_EXPORT(MPI_Comm_size);
int PMPI_Comm_size(MPI_Comm comm, int* size) {
  FGMPI_ENTER("MPI_Comm_size", c, comm);
  FGMPI_RETURN_IF("MPI_Comm_size", c, mpi::check_pointer(size, "size"));
  *size = c->size();
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Comm_rank);
int PMPI_Comm_rank(MPI_Comm comm, int* rank) {
  FGMPI_ENTER("MPI_Comm_rank", c, comm);
  FGMPI_RETURN_IF("MPI_Comm_rank", c, mpi::check_pointer(rank, "rank"));
  *rank = c->rank;
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Comm_test_inter);
int PMPI_Comm_test_inter(MPI_Comm comm, int* flag) {
  FGMPI_ENTER("MPI_Comm_test_inter", c, comm);
  FGMPI_RETURN_IF("MPI_Comm_test_inter", c, mpi::check_pointer(flag, "flag"));
  *flag = c->shared->inter;
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Comm_compare);
int PMPI_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int* result) {
  constexpr const char* kCall = "MPI_Comm_compare";
  FGMPI_ENTER(kCall, a, comm1);
  FGMPI_RETURN_IF(kCall, a, mpi::check_pointer(result, "result"));
  comm::Comm* b = comm::find(comm2);
  if (!b) return mpi::bad_comm(kCall, comm2);
  if (a == b) {
    *result = MPI_IDENT;
    return MPI_SUCCESS;
  }
  *result = MPI_UNEQUAL;
  if (a->shared->inter != b->shared->inter) return MPI_SUCCESS;
  int verdict = comm::compare(a->shared->map, b->shared->map);
  if (a->shared->inter && verdict != MPI_UNEQUAL) {
    int remote = comm::compare(*a->shared->remote, *b->shared->remote);
    if (remote != MPI_IDENT) verdict = remote;
  }
  *result = verdict == MPI_IDENT ? MPI_CONGRUENT : verdict;
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Comm_group);
int PMPI_Comm_group(MPI_Comm comm, MPI_Group* group) {
  if (group) *group = MPI_GROUP_NULL;
  constexpr const char* kCall = "MPI_Comm_group";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(group, "group"));
  FGMPI_RETURN_IF(kCall, c, comm::make_group(c->shared->map, group));
  if (comm::Group* g = comm::find_group(*group)) g->rank = c->rank;
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Comm_remote_size);
int PMPI_Comm_remote_size(MPI_Comm comm, int* size) {
  constexpr const char* kCall = "MPI_Comm_remote_size";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(size, "size"));
  FGMPI_RETURN_IF(kCall, c, mpi::check_inter(c));
  *size = c->shared->remote->size();
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Comm_remote_group);
int PMPI_Comm_remote_group(MPI_Comm comm, MPI_Group* group) {
  if (group) *group = MPI_GROUP_NULL;
  constexpr const char* kCall = "MPI_Comm_remote_group";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(group, "group"));
  FGMPI_RETURN_IF(kCall, c, mpi::check_inter(c));
  return mpi::done(kCall, c, comm::make_group(*c->shared->remote, group));
}

FGMPI_EXPORT(MPI_Comm_dup);
int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm* newcomm) {
  if (newcomm) *newcomm = MPI_COMM_NULL;
  FGMPI_ENTER("MPI_Comm_dup", c, comm);
  FGMPI_RETURN_IF("MPI_Comm_dup", c, mpi::check_pointer(newcomm, "newcomm"));
  return mpi::dup("MPI_Comm_dup", c, MPI_INFO_NULL, newcomm);
}

FGMPI_EXPORT(MPI_Comm_dup_with_info);
int PMPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm) {
  if (newcomm) *newcomm = MPI_COMM_NULL;
  FGMPI_ENTER("MPI_Comm_dup_with_info", c, comm);
  FGMPI_RETURN_IF("MPI_Comm_dup_with_info", c, mpi::check_pointer(newcomm, "newcomm"));
  return mpi::dup("MPI_Comm_dup_with_info", c, info, newcomm);
}

FGMPI_EXPORT(MPI_Comm_idup);
int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request) {
  if (newcomm) *newcomm = MPI_COMM_NULL;
  FGMPI_ENTER("MPI_Comm_idup", c, comm);
  FGMPI_RETURN_IF("MPI_Comm_idup", c, mpi::check_pointer(newcomm, "newcomm"));
  FGMPI_RETURN_IF("MPI_Comm_idup", c, mpi::check_pointer(request, "request"));
  return mpi::idup("MPI_Comm_idup", c, MPI_INFO_NULL, newcomm, request);
}

FGMPI_EXPORT(MPI_Comm_idup_with_info);
int PMPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm,
                             MPI_Request* request) {
  if (newcomm) *newcomm = MPI_COMM_NULL;
  FGMPI_ENTER("MPI_Comm_idup_with_info", c, comm);
  FGMPI_RETURN_IF("MPI_Comm_idup_with_info", c, mpi::check_pointer(newcomm, "newcomm"));
  FGMPI_RETURN_IF("MPI_Comm_idup_with_info", c, mpi::check_pointer(request, "request"));
  return mpi::idup("MPI_Comm_idup_with_info", c, info, newcomm, request);
}

FGMPI_EXPORT(MPI_Comm_split);
int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm) {
  if (newcomm) *newcomm = MPI_COMM_NULL;
  constexpr const char* kCall = "MPI_Comm_split";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(newcomm, "newcomm"));
  if (color < 0 && color != MPI_UNDEFINED) {
    return mpi::fail(
        kCall, c, error(MPI_ERR_ARG, "color is %d; allowed is 0 or more, or MPI_UNDEFINED", color));
  }
  comm::Comm* made = nullptr;
  Status status = comm::split(c, color, key, &made);
  return mpi::give(kCall, c, status, made, newcomm);
}

FGMPI_EXPORT(MPI_Comm_create);
int PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm) {
  if (newcomm) *newcomm = MPI_COMM_NULL;
  constexpr const char* kCall = "MPI_Comm_create";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(newcomm, "newcomm"));
  comm::Group* g;
  FGMPI_RETURN_IF(kCall, nullptr, mpi::find_group(group, "group", &g));
  comm::Comm* made = nullptr;
  Status status = mpi::check_part(c, g->map);
  if (status.ok())
    status = comm::create(c, g->map, &made);
  else if (c->shared->inter)  // the other side need not have made this error: it waits for this one
    (void)comm::split(c, MPI_UNDEFINED, 0, &made);
  return mpi::give(kCall, c, status, made, newcomm);
}

FGMPI_EXPORT(MPI_Comm_create_group);
int PMPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm) {
  if (newcomm) *newcomm = MPI_COMM_NULL;
  constexpr const char* kCall = "MPI_Comm_create_group";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(newcomm, "newcomm"));
  comm::Group* g;
  FGMPI_RETURN_IF(kCall, nullptr, mpi::find_group(group, "group", &g));
  FGMPI_RETURN_IF(kCall, c, mpi::check_intra(c));
  FGMPI_RETURN_IF(kCall, c, mpi::check_tag(tag, false));
  FGMPI_RETURN_IF(kCall, c, mpi::check_part(c, g->map));
  comm::Comm* made = nullptr;
  Status status = comm::create_group(c, g->map, tag, &made);
  return mpi::give(kCall, c, status, made, newcomm);
}

namespace {

/// Free and disconnect: attributes go first, in reverse order (section 7.7.2).
int release(const char* call, comm::Comm* c, MPI_Comm* comm) {
  if (c->handle == MPI_COMM_WORLD || c->handle == MPI_COMM_SELF)
    return mpi::fail(
        call, c,
        error(MPI_ERR_COMM, "comm is %s; allowed is a communicator that the program made",
              comm::name_of(c).c_str()));
  if (c->extras && !c->extras->attributes.empty()) {
    int code = comm::delete_attributes(&c->extras->attributes, c->handle);
    if (code != MPI_SUCCESS) return mpi::fail_code(call, c, code);
  }
  comm::free(c);
  *comm = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

}  // namespace

FGMPI_EXPORT(MPI_Comm_free);
int PMPI_Comm_free(MPI_Comm* comm) {
  constexpr const char* kCall = "MPI_Comm_free";
  FGMPI_RETURN_IF(kCall, nullptr, mpi::check_pointer(comm, "comm"));
  FGMPI_ENTER(kCall, c, *comm);
  return release(kCall, c, comm);
}
