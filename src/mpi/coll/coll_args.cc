// The check of each collective signature's arguments, and the coll::Args made of them.

#include "mpi/coll/coll_args.h"

#include "comm/topology.h"

namespace fgmpi::mpi {
namespace {

bool is_neighbor(CollectiveKind kind) { return kind >= CollectiveKind::kNeighborAllgather; }

Status check_in_place(const comm::Comm* c, const char* argument, bool allowed) {
  if (c->shared->inter)
    return error(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE; allowed is a buffer on an intercommunicator",
                 argument);
  if (!allowed)
    return error(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE; allowed is a buffer of this rank", argument);
  return {};
}

/// "sendbuf", "recvcounts": `which` is "send", "recv" or, for a call with one buffer, "".
std::string named(const char* which, const char* what) { return std::string(which) + what; }

/// For basic types: MPI_BOTTOM stands for absolute addresses, which come with derived types or
/// displacements.
Status null_buffer(const char* which, int64_t count) {
  return error(MPI_ERR_BUFFER,
               "%s is a null pointer with count %lld; allowed is null with count 0 only",
               named(which, *which ? "buf" : "buffer").c_str(), static_cast<long long>(count));
}

/// Checks one count and one type; `parts` such buffers lie one behind the other.
Status fill_plain(const char* which, const void* buffer, int64_t count, MPI_Datatype type,
                  coll::CollectiveBuffer* side, int64_t parts = 1) {
  if (__builtin_expect(count < 0, 0))
    return error(MPI_ERR_COUNT, "%s is %lld; allowed is 0 or more", named(which, "count").c_str(),
                 static_cast<long long>(count));
  FGMPI_TRY(datatype::Type::of(type_for(count, type), &side->type));
  FGMPI_TRY(check_volume(count, parts, side->type, named(which, "count").c_str()));
  if (__builtin_expect(!buffer && count > 0 && side->type.basic(), 0))
    return null_buffer(which, count);
  side->address = static_cast<char*>(const_cast<void*>(buffer));
  side->count = count;
  return {};
}

/// *total: the sum of all counts.
Status check_counts(const Counts& counts, const char* which, int64_t n, int64_t* total) {
  if (!counts && n > 0)
    return error(MPI_ERR_ARG, "%scounts is a null pointer; allowed is an array of counts", which);
  *total = 0;
  if (__builtin_expect(counts.kind == Counts::kInt,
                       1)) {  // their sum fits 63 bits: one test for all of them
    const int* values = static_cast<const int*>(counts.data);
    int signs = 0;
    int64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      signs |= values[i];
      sum += values[i];
    }
    if (__builtin_expect(signs >= 0, 1)) {
      *total = sum;
      return {};
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    if (__builtin_expect(counts[i] < 0, 0))
      return error(MPI_ERR_COUNT, "%scounts[%lld] is %lld; allowed is 0 or more", which,
                   static_cast<long long>(i), static_cast<long long>(counts[i]));
    if (__builtin_expect(__builtin_add_overflow(*total, counts[i], total), 0))
      return error(MPI_ERR_COUNT,
                   "%scounts[%lld] is %lld; allowed is at most 2^63 - 1 elements altogether", which,
                   static_cast<long long>(i), static_cast<long long>(counts[i]));
  }
  return {};
}

/// Checks the bytes of a w form whose types are valid: no segment, and no sum of their bytes, needs
/// more than 63 bits.
Status check_volumes(const Counts& counts, int64_t n, const char* which,
                     const coll::CollectiveBuffer& side) {
  int64_t total = 0;
  for (int64_t i = 0; i < n; ++i) {
    const datatype::Type& type = (*side.types)[i];
    Status status = check_volume(counts[i], 1, type, "it");
    if (__builtin_expect(!status.ok(), 0))
      return error(status.error_class(), "%scounts[%lld]: %s", which, static_cast<long long>(i),
                   status.what().c_str());
    if (__builtin_expect(__builtin_add_overflow(total, counts[i] * type.size(), &total), 0))
      return error(MPI_ERR_COUNT,
                   "%scounts[%lld] is %lld; allowed is at most 2^63 - 1 bytes altogether", which,
                   static_cast<long long>(i), static_cast<long long>(counts[i]));
  }
  return {};
}

/// Finds the types of a w form; a type may be null where no data has it.
Status fill_types(const CollectiveSide& part, int64_t n, const char* which,
                  coll::CollectiveBuffer* side) {
  if (!part.types && n > 0)
    return error(MPI_ERR_ARG, "%stypes is a null pointer; allowed is an array of datatypes", which);
  side->types.reset(new coll::Types);
  for (int64_t i = 0; i < n; ++i) {
    Status status = side->types->add(part.types[i], [&](datatype::Type* type) -> Status {
      return part.types[i] == MPI_DATATYPE_NULL ? Status()
                                                : datatype::Type::of(part.types[i], type);
    });
    if (status.ok() && part.types[i] == MPI_DATATYPE_NULL && part.counts[i] > 0) {
      datatype::Type unused;
      status = datatype::Type::of(MPI_DATATYPE_NULL, &unused);
    }
    if (__builtin_expect(!status.ok(), 0))
      return error(status.error_class(), "%stypes[%lld]: %s", which, static_cast<long long>(i),
                   status.what().c_str());
  }
  side->types->finish();
  return {};
}

/// Stands for the counts of a side that is not read, where they must not be a null pointer.
const int kNone[1] = {0};

/// Checks a side of `n` segments.
Status fill_segments(const CollectiveSide& part, int64_t n, const char* which,
                     coll::CollectiveBuffer* side) {
  if (!part.array) return fill_plain(which, part.buffer, part.count, part.type, side, n);
  int64_t total;
  FGMPI_TRY(check_counts(part.counts, which, n, &total));
  if (!part.displs && n > 0)
    return error(MPI_ERR_ARG, "%sdispls is a null pointer; allowed is an array of displacements",
                 which);
  side->address = static_cast<char*>(const_cast<void*>(part.buffer));
  side->counts = n > 0 ? part.counts : Counts(kNone);
  side->displs = n > 0 ? part.displs : Counts(kNone);
  side->segments = static_cast<int32_t>(n);
  FGMPI_TRY(part.typed ? fill_types(part, n, which, side)
                       : datatype::Type::of(part.type, &side->type));
  FGMPI_TRY(part.typed ? check_volumes(part.counts, n, which, *side)
                       : check_volume(total, 1, side->type, "the sum of the counts"));
  for (int64_t i = 0; __builtin_expect(!part.buffer, 0) && i < n; ++i)
    if (part.counts[i] > 0 && part.displs[i] == 0 && side->segment(i).type->basic())
      return null_buffer(which, part.counts[i]);
  return {};
}

/// Checks a side that is one buffer for all members.
Status fill_one_buffer(const CollectiveSide& part, const char* which,
                       coll::CollectiveBuffer* side) {
  FGMPI_TRY(fill_plain(which, part.buffer, part.count, part.type, side));
  side->strided = false;
  return {};
}

Status neighbors(comm::Comm* c, int64_t* in, int64_t* out) {
  if (!c->shared->topology)
    return error(MPI_ERR_TOPOLOGY,
                 "the communicator has no topology; allowed are Cartesian and graph communicators");
  comm::count_neighbors(c, in, out);
  return {};
}

Status same_memory() {
  return error(MPI_ERR_BUFFER,
               "sendbuf and recvbuf are the same memory; allowed are different buffers or "
               "MPI_IN_PLACE");
}

/// Checks that the bytes that a member sends itself do not lie where it receives them. An equal
/// address with another type may be other memory.
Status check_own_segment(const CollectiveSide& one, const CollectiveSide& many,
                         const coll::CollectiveBuffer& one_side,
                         const coll::CollectiveBuffer& many_side, int rank) {
  coll::Segment from = one_side.whole(), to = many_side.segment(rank);
  if (from.address == to.address && one.type == many.type && from.bytes() && to.bytes())
    return same_memory();
  return {};
}

/// As check_own_segment(), for the all-to-all forms, whose arrays may be equal as well.
Status check_all_segments(const CollectiveSide& send, const CollectiveSide& recv,
                          const coll::CollectiveBuffer& side, int64_t n) {
  if (send.buffer != recv.buffer || send.type != recv.type || send.types != recv.types ||
      send.count != recv.count || send.counts.data != recv.counts.data ||
      send.displs.data != recv.displs.data)
    return {};
  for (int64_t i = 0; i < n; ++i)
    if (side.segment(i).bytes()) return same_memory();
  return {};
}

bool is_gather(CollectiveKind kind) {
  return kind == CollectiveKind::kGather || kind == CollectiveKind::kGatherv;
}

}  // namespace

namespace {
/// `parts`: segments of a side without counts.
Status check_side(const char* call, const coll::CollectiveBuffer& side, int64_t parts,
                  bool writes) {
  if (side.counts && (side.displs || side.types)) {
    for (int64_t i = 0; i < side.segments; ++i) {
      const coll::Segment s = side.segment(i);
      if (s.count > 0) FGMPI_TRY(rma::check_local(s.address, s.count, *s.type, writes, call));
    }
    return {};
  }
  const int64_t count = side.count * (side.strided ? parts : 1);
  return count > 0 ? rma::check_local(side.address, count, side.type, writes, call) : Status();
}
}  // namespace

Status check_memory(const char* call, comm::Comm* c, const Args& args) {
  int64_t in = c->shared->peers().size(), out = in;
  if (is_neighbor(args.kind)) FGMPI_TRY(neighbors(c, &in, &out));
  const bool one_each =
      args.kind == CollectiveKind::kBcast ||
      (args.kind >= CollectiveKind::kReduce && args.kind <= CollectiveKind::kExscan);
  if (one_each) in = out = 1;
  const bool reads_only = args.kind == CollectiveKind::kBcast && args.root == c->rank;
  FGMPI_TRY(check_side(call, args.recv, in, !reads_only));
  return args.in_place ? Status() : check_side(call, args.send, out, false);
}

Status BcastArguments::operator()(comm::Comm* c, Args* args) const {
  FGMPI_TRY(check_root(c, root));
  args->root = root;
  if (c->shared->inter && root == MPI_PROC_NULL) return {};
  if (buffer == MPI_IN_PLACE) FGMPI_TRY(check_in_place(c, "buffer", false));
  return fill_plain("", buffer, count, type, &args->recv);
}

Status RootedArguments::operator()(comm::Comm* c, Args* args) const {
  FGMPI_TRY(check_root(c, root));
  args->root = root;
  bool inter = c->shared->inter;
  bool is_root = inter ? root == MPI_ROOT : root == c->rank;
  bool is_leaf = inter ? root >= 0 : true;
  bool gathers = is_gather(args->kind);
  // The many-sided side is the root's, the single one that of all members (for intercommunicators:
  // of the other group).
  const CollectiveSide& many = gathers ? recv : send;
  const CollectiveSide& one = gathers ? send : recv;
  const char* many_name = gathers ? "recv" : "send";
  const char* one_name = gathers ? "send" : "recv";
  coll::CollectiveBuffer* many_side = gathers ? &args->recv : &args->send;
  coll::CollectiveBuffer* one_side = gathers ? &args->send : &args->recv;
  if (is_root) {
    if (many.buffer == MPI_IN_PLACE)
      FGMPI_TRY(check_in_place(c, named(many_name, "buf").c_str(), false));
    FGMPI_TRY(fill_segments(many, c->shared->peers().size(), many_name, many_side));
  }
  if (!is_leaf) return {};
  if (one.buffer == MPI_IN_PLACE) {
    FGMPI_TRY(check_in_place(c, named(one_name, "buf").c_str(), is_root));
    args->in_place = true;
    return {};
  }
  FGMPI_TRY(fill_one_buffer(one, one_name, one_side));
  return is_root ? check_own_segment(one, many, *one_side, *many_side, c->rank) : Status();
}

Status SymmetricArguments::operator()(comm::Comm* c, Args* args) const {
  int64_t in = c->shared->peers().size(), out = in;
  bool one_for_all = false;
  switch (args->kind) {
    case CollectiveKind::kNeighborAllgather:
    case CollectiveKind::kNeighborAllgatherv:
      one_for_all = true;
      [[fallthrough]];
    case CollectiveKind::kNeighborAlltoall:
    case CollectiveKind::kNeighborAlltoallv:
    case CollectiveKind::kNeighborAlltoallw:
      FGMPI_TRY(neighbors(c, &in, &out));
      break;
    case CollectiveKind::kAllgather:
    case CollectiveKind::kAllgatherv:
      one_for_all = true;
      break;
    default:
      break;
  }
  if (recv.buffer == MPI_IN_PLACE) FGMPI_TRY(check_in_place(c, "recvbuf", false));
  FGMPI_TRY(fill_segments(recv, in, "recv", &args->recv));
  if (send.buffer == MPI_IN_PLACE) {
    FGMPI_TRY(check_in_place(c, "sendbuf", !is_neighbor(args->kind)));
    args->in_place = true;
    return {};
  }
  FGMPI_TRY(one_for_all ? fill_one_buffer(send, "send", &args->send)
                        : fill_segments(send, out, "send", &args->send));
  if (c->shared->inter || is_neighbor(args->kind)) return {};
  return one_for_all ? check_own_segment(send, recv, args->send, args->recv, c->rank)
                     : check_all_segments(send, recv, args->send, out);
}

Status ReduceArguments::operator()(comm::Comm* c, Args* args) const {
  bool inter = c->shared->inter;
  bool rooted = args->kind == CollectiveKind::kReduce;
  if (rooted) FGMPI_TRY(check_root(c, root));
  args->root = root;
  args->op = op;
  if (inter && (args->kind == CollectiveKind::kScan || args->kind == CollectiveKind::kExscan))
    return error(MPI_ERR_COMM,
                 "the communicator is an intercommunicator; allowed are intracommunicators");
  if (inter && rooted && root == MPI_PROC_NULL) return {};
  // Data that is only moved may have no type where there is none; a reduction needs its type.
  if (__builtin_expect(type == MPI_DATATYPE_NULL, 0)) {
    datatype::Type none;
    return datatype::Type::of(type, &none);
  }
  bool receives = !rooted || (inter ? root == MPI_ROOT : root == c->rank);
  bool sends = !(inter && rooted && root == MPI_ROOT);

  int64_t total = count;
  if (array) {
    FGMPI_TRY(check_counts(counts, "recv", c->size(), &total));
  } else {
    FGMPI_TRY(check_count(count));
    if (args->kind == CollectiveKind::kReduceScatterBlock &&
        __builtin_mul_overflow(count, c->size(), &total))
      return error(MPI_ERR_COUNT, "recvcount is %lld; allowed is at most %lld on %d ranks",
                   static_cast<long long>(count), INT64_MAX / static_cast<long long>(c->size()),
                   c->size());
  }
  if (receives) {
    if (recv == MPI_IN_PLACE) FGMPI_TRY(check_in_place(c, "recvbuf", false));
    FGMPI_TRY(fill_plain("recv", recv, array ? counts[c->rank] : count, type, &args->recv));
    args->recv.counts = counts;
    args->recv.segments = array ? c->size() : 0;
  }
  args->in_place = send == MPI_IN_PLACE;
  if (args->in_place) FGMPI_TRY(check_in_place(c, "sendbuf", receives));
  if (receives && sends && send == recv && total > 0) return same_memory();
  FGMPI_TRY(fill_plain("send",
                       args->in_place ? recv
                       : sends        ? send
                                      : recv,
                       total, type, &args->send));
  return datatype::check_op(op, total, args->send.type);
}

}  // namespace fgmpi::mpi
