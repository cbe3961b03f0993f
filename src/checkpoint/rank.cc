// The tables of a rank.
#include "checkpoint/rank.h"

#include "base/hash.h"
#include "checkpoint/deputy.h"
#include "checkpoint/describe.h"
#include "checkpoint/here.h"
#include "checkpoint/wrappers.h"
#include "fgmpi.h"

namespace fgmpi::checkpoint {

LayerRank* begin_rank(void** word) {
  auto* rank = new LayerRank;
  *word = rank;
  return rank;
}

namespace {

/// A handle of this kind that no object of MPI has.
int unknown_handle(Object kind) {
  return static_cast<int>(0x80000000u | static_cast<uint32_t>(kind) << 26 | kIndexMask);
}

template <class Table>
int real_in(const Table& table, Object kind, int handle) {
  const auto* found = table.find(handle);
  return found ? found->real : unknown_handle(kind);
}

template <class Table>
int add_to(Table& table, int real) {
  typename std::remove_reference_t<decltype(*table.find(0))>* made = nullptr;
  const int handle = table.add(&made);
  made->real = real;
  return handle;
}

}  // namespace

/// Types for reductions of pairs have such handles in MPICH, too.
bool is_made(Object kind, int real) {
  if ((static_cast<uint32_t>(real) & kVirtualBase) != 0x80000000u) return false;
  if (kind != Object::kDatatype) return true;
  constexpr int kPairs[] = {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_SHORT_INT,
                            MPI_LONG_DOUBLE_INT};
  for (int pair : kPairs)
    if (pair == real) return false;
  return true;
}

int real_of(const LayerRank& rank, Object kind, int handle) {
  if (__builtin_expect(!is_virtual(handle), 0)) return handle;
  switch (kind) {
    case Object::kComm:
      return real_in(rank.comms, kind, handle);
    case Object::kGroup:
      return real_in(rank.groups, kind, handle);
    case Object::kDatatype:
      return real_in(rank.types, kind, handle);
    case Object::kOp:
      return real_in(rank.ops, kind, handle);
    case Object::kInfo:
      return real_in(rank.infos, kind, handle);
    case Object::kKeyval:
      return real_in(rank.keyvals, kind, handle);
    case Object::kErrhandler:
      return real_in(rank.errhandlers, kind, handle);
    case Object::kRequest:
      return real_in(rank.requests, kind, handle);
    case Object::kMessage:
      return real_in(rank.messages, Object::kRequest, handle);
    case Object::kWin:
      return real_in(rank.windows, kind, handle);
    case Object::kFile:
      return real_in(rank.files, kind, handle);
    case Object::kSession:
      return real_in(rank.sessions, kind, handle);
    default:
      return handle;
  }
}

int add_object(LayerRank& rank, Object kind, int real) {
  if (!is_made(kind, real)) return real;
  switch (kind) {
    case Object::kComm:
      return add_comm(rank, real);
    case Object::kGroup:
      return add_to(rank.groups, real);
    case Object::kDatatype: {
      // MPI has one such type for each parameter, which programs may compare.
      const bool permanent = is_permanent_type(real);
      if (const int known = rank.types.handle_of_real(real); permanent && known != real)
        return known;
      const int handle = add_to(rank.types, real);
      rank.types.find(handle)->permanent = permanent;
      return handle;
    }
    case Object::kInfo:
      return add_to(rank.infos, real);
    case Object::kMessage:
      return add_to(rank.messages, real);
    default:
      return real;
  }
}

void remove_object(LayerRank& rank, Object kind, int handle) {
  if (!is_virtual(handle)) return;
  switch (kind) {
    case Object::kComm:
      remove_comm(rank, handle);
      return;
    case Object::kGroup:
      rank.groups.remove(handle);
      return;
    case Object::kInfo:
      rank.infos.remove(handle);
      return;
    case Object::kMessage:
      rank.messages.remove(handle);
      return;
    default:
      return;
  }
}

int virtual_of(const LayerRank& rank, Object kind, int real) {
  if (!is_made(kind, real)) return real;
  switch (kind) {
    case Object::kComm:
      return rank.comms.handle_of_real(real);
    case Object::kDatatype:
      return rank.types.handle_of_real(real);
    case Object::kKeyval:
      return rank.keyvals.handle_of_real(real);
    case Object::kErrhandler:
      return rank.errhandlers.handle_of_real(real);
    case Object::kWin:
      return rank.windows.handle_of_real(real);
    case Object::kFile:
      return rank.files.handle_of_real(real);
    case Object::kSession:
      return rank.sessions.handle_of_real(real);
    default:
      return real;
  }
}

namespace {

/// What a rank needs to know of a new communicator.
struct CommFacts {
  uint64_t key = 0, weight = 0;
};

int find_facts(MPI_Comm real, CommFacts* facts) {
  int leader = 0, index = 0, side = 0;
  if (MPIX_Comm_key && MPIX_Comm_key(real, &leader, &index, &side) == MPI_SUCCESS)
    facts->key =
        static_cast<uint64_t>(static_cast<uint32_t>(leader)) << 32 | static_cast<uint32_t>(index);
  int self = 0, size = 1, inter = 0, remote = 0;
  g_mpi.MPI_Comm_rank(real, &self);
  g_mpi.MPI_Comm_size(real, &size);
  g_mpi.MPI_Comm_test_inter(real, &inter);
  if (inter) g_mpi.MPI_Comm_remote_size(real, &remote);
  facts->weight = weight_of(self == 0 && side == 0, size + remote);
  return MPI_SUCCESS;
}

}  // namespace

MPI_Comm add_comm(LayerRank& rank, MPI_Comm real) {
  if (!is_made(Object::kComm, real)) return real;
  VirtualComm* made = nullptr;
  const MPI_Comm handle = rank.comms.add(&made);
  made->real = real;
  CommFacts facts;
  by_deputy("MPIX_Comm_key", find_facts, real, &facts);
  made->key = facts.key;
  made->weight = facts.weight;

  // After a restart MPI numbers communicators from the beginning.
  if (rank.restarts > 0) made->key = mix(rank.restarts, made->key);
  return handle;
}

void note_freed(LayerRank& rank, uint64_t key, uint64_t weight) {
  if (weight == 0) return;
  constexpr size_t kMostKeys = 1024;  // a member that has so many more to free is not stopped
  if (rank.freed_keys.size() == kMostKeys) rank.freed_keys.erase(rank.freed_keys.begin());
  rank.freed_keys.push_back(key);
  rank.freed_sum += mix(key, kFreedCount) * weight;
}

void remove_comm(LayerRank& rank, MPI_Comm comm) {
  VirtualComm* const found = rank.comms.find(comm);
  drop_here(found);
  note_freed(rank, found->key, found->weight);
  rank.stored.remove_if([=](const StoredMessage& message) { return message.comm == comm; });
  rank.comms.remove(comm);
}

int free_type(LayerRank& rank, MPI_Datatype* type) {
  VirtualType* found = type ? rank.types.find(*type) : nullptr;
  if (!found) return g_next.MPI_Type_free(type);
  if (found->uses > 0 && !found->permanent) {
    // The type is needed to make the requests again. Its attributes end now.
    MPI_Datatype copy = MPI_DATATYPE_NULL;
    rank.quiet = true;
    int code = g_next.MPI_Type_dup(found->real, &copy);
    rank.quiet = false;
    if (code == MPI_SUCCESS) code = g_next.MPI_Type_free(&found->real);
    if (code != MPI_SUCCESS) return code;
    found->real = copy;
    found->freed = true;
    *type = MPI_DATATYPE_NULL;
    return code;
  }
  const int code = g_next.MPI_Type_free(&found->real);
  if (code != MPI_SUCCESS) return code;
  rank.types.remove(*type);
  *type = MPI_DATATYPE_NULL;
  return code;
}

BegunCollectives* begun_on(LayerRank& rank, MPI_Comm comm, uint64_t* key, uint64_t* weight) {
  if (VirtualComm* found = rank.comms.find(comm)) {
    *key = found->key;
    *weight = found->weight;
    return &found->begun;
  }
  *key = kWorldKey;
  *weight = rank.world_weight;
  return comm == MPI_COMM_WORLD ? &rank.world_begun : nullptr;
}

void count_collective(LayerRank& rank, MPI_Comm comm, bool blocking) {
  uint64_t key = 0, weight = 0;
  if (BegunCollectives* begun = begun_on(rank, comm, &key, &weight))
    ++(blocking ? begun->blocking : begun->nonblocking);
}

bool is_root(const LayerRank& rank, MPI_Comm comm, int root) {
  const MPI_Comm real = real_of(rank, Object::kComm, comm);
  int inter = 0, self = 0;
  g_home.MPI_Comm_test_inter(real, &inter);
  g_home.MPI_Comm_rank(real, &self);
  return inter ? root == MPI_ROOT : root == self;
}

CollectiveKey key_of_latest(LayerRank& rank, MPI_Comm comm) {
  if (const VirtualComm* found = rank.comms.find(comm)) return {found->key, found->begun.blocking};
  if (comm == MPI_COMM_WORLD) return {kWorldKey, rank.world_begun.blocking};
  return {kWorldKey - 1, rank.next_order++};  // MPI_COMM_SELF
}

int ranks_of(const LayerRank& rank, MPI_Comm comm) {
  const MPI_Comm real = real_of(rank, Object::kComm, comm);
  int inter = 0, n = 0;
  if (g_home.MPI_Comm_test_inter(real, &inter) != MPI_SUCCESS) return 0;
  if (inter)
    g_home.MPI_Comm_remote_size(real, &n);
  else
    g_home.MPI_Comm_size(real, &n);
  return n;
}

}  // namespace fgmpi::checkpoint
