// Opened groups of collectives: stored arguments, and the short way of calls that equal them.

#include "mpi/coll/opened.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/hash.h"
#include "comm/extras.h"
#include "datatype/type_handles.h"
#include "fgmpi.h"
#include "multicast/subgroups.h"

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

/// The user may have freed a derived type meanwhile, and its handle may be another type's now.
bool still_is(const datatype::Type& type, MPI_Datatype handle) {
  return type.basic() || datatype::find_derived(handle).type == type.derived();
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

Status OpenedGroup::copy_side(const CollectiveSide& part, size_t n, CopiedSide* out) {
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
      FGMPI_TRY(copy_side(given.both.send, n, &send_));
  }
  if (given.both.recv.buffer == MPI_IN_PLACE)
    recv_ = {true, 0, MPI_DATATYPE_NULL, nullptr, nullptr, nullptr, kInPlace};
  else
    FGMPI_TRY(copy_side(given.both.recv, n, &recv_));
  // The resolved arguments refer to the stored arrays, not to the caller's.
  auto refer = [](const CopiedSide& kept, coll::CollectiveBuffer* side) {
    if (!kept.counts || !side->counts) return;
    side->counts = Counts(kept.counts->data());
    side->displs = Counts(kept.displs->data());
  };
  args_.send.opened = args_.recv.opened = true;
  refer(send_, &args_.send);
  refer(recv_, &args_.recv);
  return {};
}

bool OpenedGroup::same_side(const CopiedSide& kept, const CollectiveSide& part,
                            const coll::CollectiveBuffer& side, size_t n) {
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
  // The checks of the collective find out whether one memory is sent and received.
  if (send_.matters && recv_.matters && given.both.send.buffer == given.both.recv.buffer)
    return false;
  return same_side(send_, given.both.send, args_.send, n) &&
         same_side(recv_, given.both.recv, args_.recv, n);
}

Status OpenedGroup::move(comm::Comm* c, const GivenArguments& given, const char* call) {
  if (__builtin_expect(!args_.status.ok(), 0)) args_.status = Status();
  if (send_.matters && send_.buffer_kind != kInPlace)
    args_.send.address = static_cast<char*>(const_cast<void*>(given.both.send.buffer));
  if (recv_.buffer_kind != kInPlace)
    args_.recv.address = static_cast<char*>(const_cast<void*>(given.both.recv.buffer));
  moving = true;
  Status status = coll::run(c, &args_, kind_, call);
  moving = false;
  return status;
}

namespace {

/// The most groups of a collective that a communicator stores, however many are opened and never
/// closed.
constexpr uint32_t kMostGroups = 16;

/// The opened groups of a rank on a communicator; the one that was used last comes first.
struct OpenedGroups : comm::KeptWithComm {
  std::vector<std::unique_ptr<OpenedGroup>> list;
  /// How often each collective is open.
  uint32_t opens[static_cast<size_t>(CollectiveKind::kLast)] = {};

  uint32_t& opens_of(CollectiveKind kind) { return opens[static_cast<size_t>(kind)]; }
  size_t count(CollectiveKind kind) const {
    return static_cast<size_t>(std::count_if(
        list.begin(), list.end(), [&](const auto& group) { return group->kind() == kind; }));
  }
};

OpenedGroups* groups_of(comm::Comm* c) {
  return c->extras ? static_cast<OpenedGroups*>(c->extras->opened.get()) : nullptr;
}

/// Finds the group with these arguments, and moves it to the front; nullptr: there is none.
OpenedGroup* find(comm::Comm* c, OpenedGroups* groups, const GivenArguments& given) {
  for (auto& group : groups->list)
    if (group->has(c, given)) {
      if (&group != &groups->list.front()) std::swap(group, groups->list.front());
      return groups->list.front().get();
    }
  return nullptr;
}

/// Stores these arguments as one more group, or in place of that group of this collective that was
/// used longest ago. *out: nullptr where all groups that could be replaced are in use.
[[gnu::noinline]] Status keep(comm::Comm* c, OpenedGroups* groups, const GivenArguments& given,
                              OpenedGroup** out) {
  auto fresh = std::make_unique<OpenedGroup>();
  FGMPI_TRY(fresh->open(c, given));
  auto& list = groups->list;
  if (groups->count(given.kind) >= std::min(groups->opens_of(given.kind), kMostGroups)) {
    auto eldest = std::find_if(list.rbegin(), list.rend(), [&](const auto& group) {
      return group->kind() == given.kind && !group->moving;
    });
    if (eldest == list.rend()) return *out = nullptr, Status();
    list.erase(std::next(eldest).base());
  }
  list.insert(list.begin(), std::move(fresh));
  *out = list.front().get();
  return {};
}

/// Drops the group that a close names: the one with its arguments, as far as these can be read, or
/// the one that was used last.
void forget(OpenedGroups* groups, CollectiveKind kind, int root) {
  auto which = groups->list.end();
  for (auto it = groups->list.begin(); it != groups->list.end(); ++it) {
    if ((*it)->kind() != kind || (*it)->moving) continue;
    if (which == groups->list.end()) which = it;
    if ((*it)->root() != root) continue;
    which = it;
    break;
  }
  if (which != groups->list.end()) groups->list.erase(which);
}

int open_group(const char* call, MPI_Comm handle, CollectiveKind kind) try {
  sched::maybe_force_switch();
  comm::Comm* c = comm::find(handle);
  if (!c) {
    FGMPI_TAKE_TURN(call, open_group(call, handle, kind));
    return MPI_SUCCESS;
  }
  if (c->shared->inter) return MPI_SUCCESS;
  comm::Extras& extras = comm::extras(c);
  if (!extras.opened) extras.opened = std::make_unique<OpenedGroups>();
  uint32_t& opens = groups_of(c)->opens_of(kind);
  if (opens < UINT32_MAX) ++opens;
  return MPI_SUCCESS;
} catch (const std::bad_alloc&) {
  return MPI_SUCCESS;  // the movements are plain calls then
}

int close_group(const char* call, MPI_Comm handle, CollectiveKind kind, int root) {
  sched::maybe_force_switch();
  comm::Comm* c = comm::find(handle);
  if (!c) {
    FGMPI_TAKE_TURN(call, close_group(call, handle, kind, root));
    return MPI_SUCCESS;
  }
  OpenedGroups* groups = groups_of(c);
  if (!groups || groups->opens_of(kind) == 0) return MPI_SUCCESS;
  if (groups->count(kind) > --groups->opens_of(kind)) forget(groups, kind, root);
  if (groups->opens_of(CollectiveKind::kScatterv) == 0 &&
      groups->opens_of(CollectiveKind::kAlltoallw) == 0)
    multicast::release_subgroups(c->shared->id);
  return MPI_SUCCESS;
}

CollectiveSide no_part() { return {nullptr, 0, MPI_BYTE}; }

/// True where the arrays are of ints, as those of opened groups are.
bool is_of_ints(const CollectiveSide& part) {
  return !part.array || (part.counts.kind == Counts::kInt && part.displs.kind == Counts::kInt);
}

[[gnu::noinline]] bool run_as_movement(comm::Comm* c, const GivenArguments& given, const char* call,
                                       Status* status) {
  OpenedGroups* groups = groups_of(c);
  if (groups->opens_of(given.kind) == 0 || rma::checking() || c->shared->inter) return false;
  OpenedGroup* group = find(c, groups, given);
  if (!group) *status = keep(c, groups, given, &group);
  if (!status->ok()) return true;
  if (!group || group->moving) return false;
  *status = group->move(c, given, call);
  return true;
}

}  // namespace

bool move_if_open(comm::Comm* c, CollectiveKind kind, const BcastArguments& a, const char* call,
                  Status* status) {
  return run_as_movement(c, {kind, {no_part(), {a.buffer, a.count, a.type}, a.root}}, call, status);
}
bool move_if_open(comm::Comm* c, CollectiveKind kind, const RootedArguments& a, const char* call,
                  Status* status) {
  return is_of_ints(a.send) && is_of_ints(a.recv) && run_as_movement(c, {kind, a}, call, status);
}
bool move_if_open(comm::Comm* c, CollectiveKind kind, const SymmetricArguments& a, const char* call,
                  Status* status) {
  return is_of_ints(a.send) && is_of_ints(a.recv) &&
         run_as_movement(c, {kind, {a.send, a.recv, 0}}, call, status);
}

}  // namespace fgmpi::mpi

using namespace fgmpi::mpi;

// The three calls of each collective have its parameters. Opening reads none of them, and a
// movement is the plain call.
#define FGMPI_OPENED(NAME, PARAMETERS, ROOT, MOVEMENT)                                     \
  FGMPI_EXTENSION int MPIX_##NAME##_open_group PARAMETERS {                                \
    return open_group("MPIX_" #NAME "_open_group", comm, CollectiveKind::k##NAME);         \
  }                                                                                        \
  FGMPI_EXTENSION int MPIX_##NAME##_data_movement PARAMETERS {                             \
    const char* const call = "MPIX_" #NAME "_data_movement";                               \
    return MOVEMENT;                                                                       \
  }                                                                                        \
  FGMPI_EXTENSION int MPIX_##NAME##_close_group PARAMETERS {                               \
    return close_group("MPIX_" #NAME "_close_group", comm, CollectiveKind::k##NAME, ROOT); \
  }

#pragma GCC diagnostic ignored "-Wunused-parameter"
FGMPI_OPENED(Bcast, (void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm), root,
             broadcasting(call, comm, {buffer, count, datatype, root}))
FGMPI_OPENED(Scatter,
             (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
              int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm),
             root,
             rooted<fgmpi::coll::rooted_scatter>(call, comm, CollectiveKind::kScatter, recvbuf,
                                                 recvcount, recvtype, root, [&] {
                                                   return RootedArguments{
                                                       {sendbuf, sendcount, sendtype},
                                                       {recvbuf, recvcount, recvtype},
                                                       root};
                                                 }))
FGMPI_OPENED(Scatterv,
             (const void* sendbuf, const int sendcounts[], const int displs[],
              MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype, int root,
              MPI_Comm comm),
             root,
             rooted<fgmpi::coll::rooted_scatter>(call, comm, CollectiveKind::kScatterv, recvbuf,
                                                 recvcount, recvtype, root, [&] {
                                                   return RootedArguments{
                                                       {sendbuf, sendcounts, displs, sendtype},
                                                       {recvbuf, recvcount, recvtype},
                                                       root};
                                                 }))
FGMPI_OPENED(Allgatherv,
             (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
              const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm),
             0,
             blocking(call, comm, CollectiveKind::kAllgatherv,
                      SymmetricArguments{{sendbuf, sendcount, sendtype},
                                         {recvbuf, recvcounts, displs, recvtype}}))
FGMPI_OPENED(Alltoallw,
             (const void* sendbuf, const int sendcounts[], const int sdispls[],
              const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
              const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm),
             0,
             blocking(call, comm, CollectiveKind::kAlltoallw,
                      SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtypes},
                                         {recvbuf, recvcounts, rdispls, recvtypes}}))
