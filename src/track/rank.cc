// Communicators of a rank: their records, keys and groups.
#include "track/rank.h"

#include <algorithm>
#include <cstring>

#include "track/extensions.h"
#include "track/recorder.h"
#include "watch/places.h"

namespace fgmpi::track {
namespace {

constexpr size_t kFirstComms = 1024 - sizeof(ChunkHeader), kMostComms = 1 << 20;

/// Stores the encoded group of a new communicator, as the library has it, for the unification. Only
/// rank 0 does so.
void store_group(TrackedRank* rank, MPI_Comm comm, uint32_t id) {
  MPI_Count size = 0;
  if (MPIX_Comm_map_bytes(comm, nullptr, 0, &size) != MPI_SUCCESS) return;
  std::vector<char> bytes(sizeof(GroupRecord) + static_cast<size_t>(size));
  const GroupRecord record = {id, static_cast<uint32_t>(size)};
  std::memcpy(bytes.data(), &record, sizeof record);
  if (MPIX_Comm_map_bytes(comm, bytes.data() + sizeof record, size, &size) != MPI_SUCCESS) return;
  ChunkHeader* chunk =
      g_process.spool.make_chunk(ChunkKind::kGroups, rank->world_rank, 0, bytes.size());
  if (!chunk) return;
  std::memcpy(records_of(chunk), bytes.data(), bytes.size());
  chunk->used = bytes.size();
  rank->stored_groups.emplace_back(id, chunk);
}

}  // namespace

uint32_t TrackedRank::add_comm(MPI_Comm comm, uint32_t parent, uint16_t call, uint16_t flags,
                               const void* place) {
  const ChunkHeader* before = comm_writer.chunk;
  auto* r = static_cast<CommRecord*>(comm_writer.next(
      g_process.spool, ChunkKind::kComms, world_rank, sizeof(CommRecord), kFirstComms, kMostComms));
  if (!r) return kNoComm;
  if (comm_writer.chunk != before) records.push_back(r);
  *r = CommRecord{};
  int inter = 0;
  g_next.MPI_Comm_rank(comm, &r->rank);
  g_next.MPI_Comm_size(comm, &r->size);
  g_next.MPI_Comm_test_inter(comm, &inter);
  if (inter) {
    g_next.MPI_Comm_remote_size(comm, &r->remote_size);
    flags |= kInter;
  } else if (r->size == 1) {
    flags |= kSelfLike | kKeyed;
  }
  if (foreign) flags |= kForeign;
  if (parent == kNoComm) flags &= static_cast<uint16_t>(~kSameGroup);
  r->parent = parent;
  r->call = call;
  r->flags = flags;
  r->place = place ? findings::place_of(place) : 0;
  r->job = static_cast<uint32_t>(g_process.job);
  const uint32_t id = comm_count++;
  comms.put(comm, id);
  last_comm = comm;
  last_id = id;
  if (flags & kSelfLike) {
    r->definer = static_cast<uint32_t>(world_rank);
    return id;
  }
  start_key(this, comm, id);
  if (g_process.short_way && r->rank == 0 && !(flags & kSameGroup)) store_group(this, comm, id);
  return id;
}

void TrackedRank::drop_comm(MPI_Comm handle, uint32_t id) {
  comm(id).flags |= kFreed;
  comms.remove(handle, id);
  if (last_id == id) {
    last_comm = MPI_COMM_NULL;
    last_id = kNoComm;
  }
  if (id < groups.size() && groups[id] != MPI_GROUP_NULL) g_next.MPI_Group_free(&groups[id]);
}

/// The translation of the original scheme (EuroMPI'11 section 3): by MPI, for each event.
int world_rank_of(TrackedRank* rank, uint32_t id, int peer) {
  if (peer < 0 || id == kNoComm) return peer;
  if (id == 0 && rank->initialised) return peer;
  if (rank->groups.size() <= id) rank->groups.resize(id + 1, MPI_GROUP_NULL);
  if (rank->groups[id] == MPI_GROUP_NULL) {
    MPI_Comm comm = MPI_COMM_NULL;
    if (rank->last_id == id) comm = rank->last_comm;
    if (comm == MPI_COMM_NULL) return peer;
    const bool inter = rank->comm(id).flags & kInter;
    (inter ? g_next.MPI_Comm_remote_group : g_next.MPI_Comm_group)(comm, &rank->groups[id]);
  }
  if (rank->groups[0] == MPI_GROUP_NULL) g_next.MPI_Comm_group(MPI_COMM_WORLD, &rank->groups[0]);
  int world = MPI_UNDEFINED;
  g_next.MPI_Group_translate_ranks(rank->groups[id], 1, &peer, rank->groups[0], &world);
  return world;
}

}  // namespace fgmpi::track
