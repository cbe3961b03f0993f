#include "mpi/coll_args.h"

#include "comm/topology.h"

namespace fgmpi::mpi {
namespace {

bool is_neighbor(What what) { return what >= What::kNeighborAllgather; }

Status check_in_place(const comm::Comm* c, const char* argument, bool allowed) {
  if (c->shared->inter)
    return error(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE; allowed is a buffer on an intercommunicator",
                 argument);
  if (!allowed)
    return error(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE, which is not allowed here", argument);
  return {};
}

/// One count, one type.
Status fill_plain(const void* buffer, int64_t count, MPI_Datatype type, coll::Side* side) {
  pt2pt::Buffer checked;
  FGMPI_TRY(make_buffer(buffer, count, type, &checked));
  side->address = static_cast<char*>(checked.address);
  side->count = count;
  side->type = std::move(checked.type);
  return {};
}

Status check_counts(const Counts& counts, const char* argument, int64_t n) {
  if (!counts && n > 0)
    return error(MPI_ERR_ARG, "%s is a null pointer; allowed is an array of counts", argument);
  for (int64_t i = 0; i < n; ++i)
    if (counts[i] < 0)
      return error(MPI_ERR_COUNT, "%s[%lld] is %lld; allowed is 0 or more", argument,
                   static_cast<long long>(i), static_cast<long long>(counts[i]));
  return {};
}

/// Where counts of a side that nobody looks at must still not be a null pointer.
const int kNone[1] = {0};

/// `n` segments.
Status fill_part(const Part& part, int64_t n, const char* which, coll::Side* side) {
  if (!part.array) return fill_plain(part.buffer, part.count, part.type, side);
  std::string name = std::string(which) + "counts";
  FGMPI_TRY(check_counts(part.counts, name.c_str(), n));
  if (!part.displs && n > 0)
    return error(MPI_ERR_ARG, "%sdispls is a null pointer; allowed is an array of displacements",
                 which);
  side->address = static_cast<char*>(const_cast<void*>(part.buffer));
  side->counts = n > 0 ? part.counts : Counts(kNone);
  side->displs = n > 0 ? part.displs : Counts(kNone);
  if (!part.typed) return host::Type::of(part.type, &side->type);
  if (!part.types && n > 0)
    return error(MPI_ERR_ARG, "%stypes is a null pointer; allowed is an array of datatypes", which);
  side->types.resize(static_cast<size_t>(std::max<int64_t>(n, 1)));
  for (int64_t i = 0; i < n; ++i)
    FGMPI_TRY(host::Type::of(part.types[i], &side->types[static_cast<size_t>(i)]));
  return {};
}

/// A side that is one buffer for everybody.
Status fill_whole(const Part& part, coll::Side* side) {
  FGMPI_TRY(fill_plain(part.buffer, part.count, part.type, side));
  side->strided = false;
  return {};
}

Status neighbors(comm::Comm* c, int64_t* in, int64_t* out) {
  if (!c->shared->topology)
    return error(MPI_ERR_TOPOLOGY,
                 "the communicator has no topology; allowed are Cartesian and graph communicators");
  std::vector<int32_t> sources, destinations;
  comm::neighbors_of(c, &sources, &destinations);
  *in = static_cast<int64_t>(sources.size());
  *out = static_cast<int64_t>(destinations.size());
  return {};
}

bool is_gather(What what) { return what == What::kGather || what == What::kGatherv; }

}  // namespace

Status BcastArguments::operator()(comm::Comm* c, Args* args) const {
  FGMPI_TRY(check_root(c, root));
  args->root = root;
  if (c->shared->inter && root == MPI_PROC_NULL) return {};
  if (buffer == MPI_IN_PLACE) FGMPI_TRY(check_in_place(c, "buffer", false));
  return fill_plain(buffer, count, type, &args->recv);
}

Status RootedArguments::operator()(comm::Comm* c, Args* args) const {
  FGMPI_TRY(check_root(c, root));
  args->root = root;
  bool inter = c->shared->inter;
  bool is_root = inter ? root == MPI_ROOT : root == c->rank;
  bool is_leaf = inter ? root >= 0 : true;
  bool gathers = is_gather(args->what);
  // The many-sided part is the root's, the single one everybody's (intercommunicators: the other
  // group's).
  const Part& many = gathers ? recv : send;
  const Part& one = gathers ? send : recv;
  const char* one_name = gathers ? "sendbuf" : "recvbuf";
  coll::Side* many_side = gathers ? &args->recv : &args->send;
  coll::Side* one_side = gathers ? &args->send : &args->recv;
  if (is_root) {
    if (many.buffer == MPI_IN_PLACE)
      FGMPI_TRY(check_in_place(c, gathers ? "recvbuf" : "sendbuf", false));
    FGMPI_TRY(fill_part(many, c->shared->peers().size(), gathers ? "recv" : "send", many_side));
  }
  if (!is_leaf) return {};
  if (one.buffer == MPI_IN_PLACE) {
    FGMPI_TRY(check_in_place(c, one_name, is_root));
    args->in_place = true;
    return {};
  }
  return fill_whole(one, one_side);
}

Status SymmetricArguments::operator()(comm::Comm* c, Args* args) const {
  int64_t in = c->shared->peers().size(), out = in;
  bool one_for_all = false;
  switch (args->what) {
    case What::kNeighborAllgather:
    case What::kNeighborAllgatherv:
      one_for_all = true;
      [[fallthrough]];
    case What::kNeighborAlltoall:
    case What::kNeighborAlltoallv:
    case What::kNeighborAlltoallw:
      FGMPI_TRY(neighbors(c, &in, &out));
      break;
    case What::kAllgather:
    case What::kAllgatherv:
      one_for_all = true;
      break;
    default:
      break;
  }
  if (recv.buffer == MPI_IN_PLACE) FGMPI_TRY(check_in_place(c, "recvbuf", false));
  FGMPI_TRY(fill_part(recv, in, "recv", &args->recv));
  if (send.buffer == MPI_IN_PLACE) {
    FGMPI_TRY(check_in_place(c, "sendbuf", !is_neighbor(args->what)));
    args->in_place = true;
    return {};
  }
  return one_for_all ? fill_whole(send, &args->send) : fill_part(send, out, "send", &args->send);
}

Status ReduceArguments::operator()(comm::Comm* c, Args* args) const {
  bool inter = c->shared->inter;
  bool rooted = args->what == What::kReduce;
  if (rooted) FGMPI_TRY(check_root(c, root));
  args->root = root;
  args->op = op;
  if (inter && (args->what == What::kScan || args->what == What::kExscan))
    return error(MPI_ERR_COMM,
                 "the communicator is an intercommunicator; allowed are intracommunicators");
  if (inter && rooted && root == MPI_PROC_NULL) return {};
  bool receives = !rooted || (inter ? root == MPI_ROOT : root == c->rank);
  bool sends = !(inter && rooted && root == MPI_ROOT);

  int64_t total = count;
  if (array) {
    FGMPI_TRY(check_counts(counts, "recvcounts", c->size()));
    total = 0;
    for (int64_t i = 0; i < c->size(); ++i) total += counts[i];
  } else if (args->what == What::kReduceScatterBlock) {
    FGMPI_TRY(check_count(count));
    total = count * c->size();
  }
  if (receives) {
    if (recv == MPI_IN_PLACE) FGMPI_TRY(check_in_place(c, "recvbuf", false));
    FGMPI_TRY(fill_plain(recv, array ? counts[c->rank] : count, type, &args->recv));
    args->recv.counts = counts;
  }
  args->in_place = send == MPI_IN_PLACE;
  if (args->in_place) FGMPI_TRY(check_in_place(c, "sendbuf", receives));
  if (receives && sends && send == recv && total > 0)
    return error(MPI_ERR_BUFFER,
                 "sendbuf and recvbuf are the same memory; allowed are different buffers or "
                 "MPI_IN_PLACE as sendbuf");
  FGMPI_TRY(fill_plain(args->in_place ? recv : sends ? send : recv, total, type, &args->send));
  return host::check_op(op, args->send.type);
}

}  // namespace fgmpi::mpi
