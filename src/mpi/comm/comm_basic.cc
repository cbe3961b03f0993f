// Communicators: who is in them, comparing, duplicating, splitting, creating, freeing (MPI-4.0
// sections 7.4.1 to 7.4.3).

#include "base/strings.h"
#include "comm/create.h"
#include "mpi/calls.h"
#include "mpi/comm/comm_common.h"
#include "mpi/tools/events.h"

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

/// A duplicate that a copy function forbids is still made, as other members wait for it, and freed
/// again.
int duplicate_with_extras(const char* call, comm::Comm* c, MPI_Info info, comm::Comm** newcomm) {
  std::unique_ptr<comm::Extras> extras;
  comm::Hints hints;
  if (Status read = comm::read_hints(info, &hints); !read.ok()) return code_of(call, read);
  int code = copy_extras(c, &extras);
  comm::Comm* made = nullptr;
  Status status = comm::dup(c, &made, call, comm::strategy_of(hints));
  if (!hints.empty()) {
    if (!extras) extras = std::make_unique<comm::Extras>();
    extras->info = std::move(hints);
  }
  if (status.ok() && code == MPI_SUCCESS) {
    made->extras = std::move(extras);
    *newcomm = made;
    return MPI_SUCCESS;
  }
  if (extras) comm::drop_attributes(&extras->attributes);
  if (made) comm::free(made);
  return status.ok() ? code : code_of(call, status);
}

}  // namespace

int duplicate(const char* call, comm::Comm* c, MPI_Info info, comm::Comm** newcomm) {
  // Usually there is nothing to copy: then few cache lines of a cold stack are touched.
  if (c->extras || info != MPI_INFO_NULL) return duplicate_with_extras(call, c, info, newcomm);
  return code_of(call, comm::dup(c, newcomm, call));
}

int idup(const char* call, MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm,
         MPI_Request* request) try {
  if (newcomm) *newcomm = MPI_COMM_NULL;
  FGMPI_ENTER(call, c, comm);
  FGMPI_RETURN_IF(call, c, check_pointer(newcomm, "newcomm"));
  FGMPI_RETURN_IF(call, c, check_pointer(request, "request"));
  std::unique_ptr<comm::Extras> extras;
  comm::Hints hints;
  FGMPI_RETURN_IF(call, c, comm::read_hints(info, &hints));
  if (int code = copy_extras(c, &extras); code != MPI_SUCCESS) {
    if (extras) comm::drop_attributes(&extras->attributes);
    return fail_code(call, c, code);
  }
  if (!hints.empty()) {
    if (!extras) extras = std::make_unique<comm::Extras>();
    extras->info = std::move(hints);
  }
  FGMPI_RETURN_IF(call, c, pt2pt::need_handle());
  pt2pt::Request* r = nullptr;
  FGMPI_RETURN_IF(call, c, comm::idup(c, newcomm, std::move(extras), call, &r));
  events::watch(r, events::kCommMade);
  *request = pt2pt::handle_of(r);
  return MPI_SUCCESS;
}
FGMPI_CATCH_NO_MEMORY(call, comm)

namespace {

/// A communicator is made of members of its parent; where the parent is an intercommunicator, of
/// members of the own side.
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

Status comm_compare(comm::Comm* comm1, comm::Comm* comm2, int* result) {
  *result = comm1 == comm2 ? MPI_IDENT : MPI_UNEQUAL;
  if (comm1 == comm2 || comm1->shared->inter != comm2->shared->inter ||
      comm1->size() != comm2->size())
    return {};
  load_group_map(comm1);
  load_group_map(comm2);
  int comparison = comm::compare(comm1->shared->map, comm2->shared->map);
  if (comm1->shared->inter && comparison != MPI_UNEQUAL) {
    int remote = comm::compare(*comm1->shared->remote, *comm2->shared->remote);
    if (remote != MPI_IDENT) comparison = remote;
  }
  *result = comparison == MPI_IDENT ? MPI_CONGRUENT : comparison;
  return {};
}

Status comm_group(comm::Comm* comm, MPI_Group* group) {
  load_group_map(comm);
  FGMPI_TRY(comm::make_group(comm->shared->map, group, comm->session));
  if (comm::Group* g = comm::find_group(*group)) g->rank = comm->rank;
  return {};
}

Status comm_remote_size(comm::Comm* comm, int* size) {
  FGMPI_TRY(check_inter(comm));
  *size = comm->shared->remote->size();
  return {};
}

Status comm_remote_group(comm::Comm* comm, MPI_Group* group) {
  FGMPI_TRY(check_inter(comm));
  return comm::make_group(*comm->shared->remote, group, comm->session);
}

Status comm_create(comm::Comm* comm, comm::Group* group, comm::Comm** newcomm) {
  Status part = check_part(comm, group->map);
  if (part.ok()) return comm::create(comm, group->map, newcomm);
  // The other side of an intercommunicator may have no error: it waits for this side.
  if (comm->shared->inter) (void)comm::split(comm, MPI_UNDEFINED, 0, newcomm);
  return part;
}

Status comm_create_group(comm::Comm* comm, comm::Group* group, int tag, comm::Comm** newcomm) {
  FGMPI_TRY(check_intra(comm));
  FGMPI_TRY(check_part(comm, group->map));
  return comm::create_group(comm, group->map, tag, newcomm);
}

/// Deletes attributes first, in reverse order (section 7.7.2).
int release_comm(const char* call, comm::Comm* c) {
  if (c->handle == MPI_COMM_WORLD || c->handle == MPI_COMM_SELF)
    return code_of(
        call, error(MPI_ERR_COMM, "comm is %s; allowed is a communicator that the program made",
                    escaped(comm::name_of(c)).c_str()));
  if (c->extras && !c->extras->attributes.empty()) {
    int code = comm::delete_attributes(&c->extras->attributes, c->handle);
    if (code != MPI_SUCCESS) return code;
  }
  comm::free(c);
  return MPI_SUCCESS;
}

}  // namespace fgmpi::mpi
