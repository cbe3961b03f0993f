#include "mpi/opened.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/hash.h"
#include "comm/extras.h"
#include "fgmpi.h"

namespace fgmpi::mpi {

static_assert(sizeof(MPI_Datatype) == sizeof(int));

SharedInts share_ints(const int* values, size_t n) {
  static auto& known =
      *new std::unordered_multimap<uint64_t, std::weak_ptr<const std::vector<int>>>;
  const uint64_t hash = hash_bytes(values, n * sizeof *values);
  for (auto [it, end] = known.equal_range(hash); it != end;) {
    SharedInts ints = it->second.lock();
    if (!ints) {
      it = known.erase(it);
      continue;
    }
    if (ints->size() == n && std::equal(ints->begin(), ints->end(), values)) return ints;
    ++it;
  }
  auto made = std::make_shared<const std::vector<int>>(values, values + n);
  known.emplace(hash, made);
  return made;
}

namespace {

enum BufferKind { kNull, kInPlace, kMemory };
BufferKind kind_of(const void* buffer) {
  return buffer == nullptr ? kNull : buffer == MPI_IN_PLACE ? kInPlace : kMemory;
}

const int* ints_of(const Counts& counts) { return static_cast<const int*>(counts.data); }

bool same_ints(const SharedInts& kept, const void* given) {
  return kept->empty() ||
         (given && std::memcmp(kept->data(), given, kept->size() * sizeof(int)) == 0);
}

/// A derived type that the user has freed meanwhile may have given its handle to another one.
bool still_is(const host::Type& type, MPI_Datatype handle) {
  return type.basic() || type.host_handle() == handle;
}

bool is_rooted(CollectiveKind kind) {
  return kind == CollectiveKind::kScatter || kind == CollectiveKind::kScatterv;
}

}  // namespace

Status GivenArguments::fill(comm::Comm* c, Args* args) const {
  args->kind = kind;
  if (kind == CollectiveKind::kBcast)
    return BcastArguments{const_cast<void*>(both.recv.buffer), both.recv.count, both.recv.type,
                          both.root}(c, args);
  if (is_rooted(kind)) return both(c, args);
  return SymmetricArguments{both.send, both.recv}(c, args);
}

Status OpenedGroup::keep_side(const Part& part, size_t n, KeptSide* out) {
  out->matters = true;
  out->count = part.count;
  out->type = part.type;
  out->buffer_kind = kind_of(part.buffer);
  if (!part.array) return {};
  out->counts = share_ints(ints_of(part.counts), n);
  out->displs = share_ints(ints_of(part.displs), n);
  if (part.typed) out->types = share_ints(reinterpret_cast<const int*>(part.types), n);
  return {};
}

Status OpenedGroup::open(comm::Comm* c, const GivenArguments& given) {
  FGMPI_TRY(given.fill(c, &args_));
  kind_ = given.kind;
  root_ = given.both.root;
  send_ = recv_ = {};
  const auto n = static_cast<size_t>(c->shared->peers().size());
  const bool rooted = is_rooted(kind_), bcast = kind_ == CollectiveKind::kBcast;
  if (!bcast && (!rooted || c->rank == root_)) {
    if (given.both.send.buffer == MPI_IN_PLACE)
      send_ = {true, 0, MPI_DATATYPE_NULL, nullptr, nullptr, nullptr, kInPlace};
    else
      FGMPI_TRY(keep_side(given.both.send, n, &send_));
  }
  if (given.both.recv.buffer == MPI_IN_PLACE)
    recv_ = {true, 0, MPI_DATATYPE_NULL, nullptr, nullptr, nullptr, kInPlace};
  else
    FGMPI_TRY(keep_side(given.both.recv, n, &recv_));
  // The resolved arguments refer to what is kept, not to the caller's arrays.
  auto refer = [](const KeptSide& kept, coll::Side* side) {
    if (!kept.counts || !side->counts) return;
    side->counts = Counts(kept.counts->data());
    side->displs = Counts(kept.displs->data());
  };
  args_.send.opened = args_.recv.opened = true;
  refer(send_, &args_.send);
  refer(recv_, &args_.recv);
  return {};
}

bool OpenedGroup::same_side(const KeptSide& kept, const Part& part, const coll::Side& side,
                            size_t n) {
  if (!kept.matters) return true;
  if (kept.buffer_kind != kind_of(part.buffer)) return false;
  if (kept.buffer_kind == kInPlace) return true;
  if (!kept.counts)
    return kept.count == part.count && kept.type == part.type && still_is(side.type, part.type);
  if (!same_ints(kept.counts, part.counts.data) || !same_ints(kept.displs, part.displs.data))
    return false;
  if (!kept.types) return kept.type == part.type && still_is(side.type, part.type);
  if (!same_ints(kept.types, part.types)) return false;
  for (size_t i = 0; i < n; ++i)
    if (!still_is((*side.types)[static_cast<int64_t>(i)], part.types[i])) return false;
  return true;
}

bool OpenedGroup::has(const comm::Comm* c, const GivenArguments& given) const {
  if (kind_ != given.kind || root_ != given.both.root) return false;
  const auto n = static_cast<size_t>(c->shared->peers().size());
  // Whether the same memory is sent and received is looked at by the checks of the collective.
  if (send_.matters && recv_.matters && given.both.send.buffer == given.both.recv.buffer)
    return false;
  return same_side(send_, given.both.send, args_.send, n) &&
         same_side(recv_, given.both.recv, args_.recv, n);
}

Status OpenedGroup::move(comm::Comm* c, const GivenArguments& given, const char* call) {
  args_.status = Status();
  if (send_.matters && send_.buffer_kind != kInPlace)
    args_.send.address = static_cast<char*>(const_cast<void*>(given.both.send.buffer));
  if (recv_.buffer_kind != kInPlace)
    args_.recv.address = static_cast<char*>(const_cast<void*>(given.both.recv.buffer));
  return coll::run(c, &args_, kind_, call);
}

namespace {

/// Of a rank on a communicator; the one that was used last comes first.
struct OpenedGroups : comm::KeptWithComm {
  std::vector<std::unique_ptr<OpenedGroup>> list;
};

OpenedGroups* groups_of(comm::Comm* c) {
  return c->extras ? static_cast<OpenedGroups*>(c->extras->opened.get()) : nullptr;
}

/// The one with these arguments; else nullptr, and *same_kind is one of this collective, if any.
OpenedGroup* find(comm::Comm* c, const GivenArguments& given, OpenedGroup** same_kind) {
  *same_kind = nullptr;
  OpenedGroups* groups = groups_of(c);
  if (!groups) return nullptr;
  for (auto& group : groups->list) {
    if (group->kind() != given.kind) continue;
    if (group->has(c, given)) {
      std::swap(group, groups->list.front());
      return groups->list.front().get();
    }
    if (!*same_kind) *same_kind = group.get();
  }
  return nullptr;
}

int open_group(const char* call, MPI_Comm handle, const GivenArguments& given) try {
  FGMPI_ENTER_FAST(call, c, handle, open_group(call, handle, given));
  if (c->shared->inter)
    FGMPI_RETURN_IF(call, c,
                    error(MPI_ERR_COMM,
                          "the communicator is an intercommunicator; allowed are "
                          "intracommunicators"));
  OpenedGroup* same_kind;
  if (OpenedGroup* known = find(c, given, &same_kind)) {
    ++known->opens;
    return MPI_SUCCESS;
  }
  auto opened = std::make_unique<OpenedGroup>();
  FGMPI_RETURN_IF(call, c, opened->open(c, given));
  comm::Extras& extras = comm::extras(c);
  if (!extras.opened) extras.opened = std::make_unique<OpenedGroups>();
  auto& list = groups_of(c)->list;
  list.insert(list.begin(), std::move(opened));
  return MPI_SUCCESS;
}
FGMPI_CATCH_NO_MEMORY(call, handle)

int move_data(const char* call, MPI_Comm handle, const GivenArguments& given) try {
  FGMPI_ENTER_FAST(call, c, handle, move_data(call, handle, given));
  OpenedGroup* group;
  if (OpenedGroup* known = find(c, given, &group)) {
    group = known;
  } else if (group) {
    auto fresh = std::make_unique<OpenedGroup>();
    FGMPI_RETURN_IF(call, c, fresh->open(c, given));
    fresh->opens = group->opens;
    for (auto& g : groups_of(c)->list)
      if (g.get() == group) g = std::move(fresh), group = g.get();
  }
  if (group && !rma::checking()) return done(call, c, group->move(c, given, call));
  Args args;
  FGMPI_RETURN_IF(call, c, given.fill(c, &args));
  if (rma::checking()) FGMPI_RETURN_IF(call, c, check_memory(call, c, args));
  return done(call, c, coll::run(c, &args, given.kind, call));
}
FGMPI_CATCH_NO_MEMORY(call, handle)

int close_group(const char* call, MPI_Comm handle, const GivenArguments& given) {
  FGMPI_ENTER_FAST(call, c, handle, close_group(call, handle, given));
  OpenedGroup* group;
  if (OpenedGroup* known = find(c, given, &group)) group = known;
  if (!group)
    FGMPI_RETURN_IF(call, c,
                    error(MPI_ERR_OTHER,
                          "no group is open; allowed is one that this rank has "
                          "opened on this communicator"));
  if (--group->opens == 0)
    std::erase_if(groups_of(c)->list, [&](const auto& g) { return g.get() == group; });
  return MPI_SUCCESS;
}

Part no_part() { return {nullptr, 0, MPI_BYTE}; }

}  // namespace
}  // namespace fgmpi::mpi

using namespace fgmpi::mpi;

// The three calls of each collective take its arguments.
#define FGMPI_OPENED(NAME, PARAMETERS, GIVEN)                      \
  FGMPI_EXTENSION int MPIX_##NAME##_open_group PARAMETERS {        \
    return open_group("MPIX_" #NAME "_open_group", comm, GIVEN);   \
  }                                                                \
  FGMPI_EXTENSION int MPIX_##NAME##_data_movement PARAMETERS {     \
    return move_data("MPIX_" #NAME "_data_movement", comm, GIVEN); \
  }                                                                \
  FGMPI_EXTENSION int MPIX_##NAME##_close_group PARAMETERS {       \
    return close_group("MPIX_" #NAME "_close_group", comm, GIVEN); \
  }

#define FGMPI_GIVEN(KIND, ...) (GivenArguments{CollectiveKind::KIND, {__VA_ARGS__}})

FGMPI_OPENED(Bcast, (void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm),
             FGMPI_GIVEN(kBcast, no_part(), {buffer, count, datatype}, root))
FGMPI_OPENED(Scatter,
             (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
              int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm),
             FGMPI_GIVEN(kScatter, {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype},
                         root))
FGMPI_OPENED(Scatterv,
             (const void* sendbuf, const int sendcounts[], const int displs[],
              MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype, int root,
              MPI_Comm comm),
             FGMPI_GIVEN(kScatterv, {sendbuf, sendcounts, displs, sendtype},
                         {recvbuf, recvcount, recvtype}, root))
FGMPI_OPENED(Allgatherv,
             (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
              const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm),
             FGMPI_GIVEN(kAllgatherv, {sendbuf, sendcount, sendtype},
                         {recvbuf, recvcounts, displs, recvtype}, 0))
FGMPI_OPENED(Alltoallw,
             (const void* sendbuf, const int sendcounts[], const int sdispls[],
              const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
              const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm),
             FGMPI_GIVEN(kAlltoallw, {sendbuf, sendcounts, sdispls, sendtypes},
                         {recvbuf, recvcounts, rdispls, recvtypes}, 0))
