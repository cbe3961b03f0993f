// The counts that need more than a few stores: peers, communicators, persistent sends.
#include "profile/recorder.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

namespace fgmpi::report {

constinit Next g_next{};
constinit HotFields g_hot;
RankRecord g_nobody;
// Never destroyed: ranks call MPI until the process ends.
ProfiledProcess& g_process = *new ProfiledProcess;

void* slow_word() {
  if (g_moving) return static_cast<RankRecord*>(g_moving->running());
  void** word = MPIX_Tool_word ? MPIX_Tool_word() : nullptr;
  return word ? *word : nullptr;
}

int32_t peer_in_world(MPI_Comm comm, int rank, int* way) {
  if (g_moving) return g_moving->peer(comm, rank, way);
  return MPIX_Tool_peer ? MPIX_Tool_peer(comm, rank, way) : -1;
}

uint32_t slow_cell_of(uint16_t call) {
  if (g_moving) return g_moving->cell_of(call);
  std::lock_guard guard(g_process.lock);
  uint16_t& at = g_hot.cells[call];
  if (at != 0 || !g_process.header) return at ? at : kCellsAt;
  uint16_t* slots = g_process.header->slots;
  const auto slot = static_cast<uint32_t>(std::find(slots, slots + kCallCells - 1, 0) - slots);
  if (slot < kCallCells - 1) slots[slot] = static_cast<uint16_t>(call + 1);
  return at = static_cast<uint16_t>(kCellsAt + slot * sizeof(CallCell));
}

uint64_t slow_bytes_of(int64_t count, MPI_Datatype type) {
  MPI_Count size = 0;
  if (type == MPI_DATATYPE_NULL || g_next.MPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0)
    return 0;
  return static_cast<uint64_t>(count * size);
}

// ---- Peers --------------------------------------------------------------------------------------

namespace {

/// The cell of a peer: its home cell or another free one, which becomes its own; nullptr
/// when all are used.
PeerCell* find_cell(PeerCell* cells, uint32_t wanted) {
  for (uint32_t i = 0; i < kPeerCells; ++i) {
    PeerCell& cell = cells[(wanted + i) % kPeerCells];
    if (cell.word == 0) cell.word = uint64_t{wanted} << PeerCell::kMessageBits;
    if (cell.peer_and_one() == wanted) return &cell;
  }
  return nullptr;
}

/// From now on each cell stands for twice as many ranks.
void halve_resolution(RankRecord* rank) {
  PeerCell old[kPeerCells], fresh[kPeerCells] = {};
  std::memcpy(old, rank->peers, sizeof old);
  for (const PeerCell& from : old) {
    if (!from.peer_and_one()) continue;
    const uint32_t wanted = ((from.peer_and_one() - 1) >> 1) + 1;
    PeerCell* to = find_cell(fresh, wanted);
    to->word += from.messages();
    to->bytes += from.bytes;
  }
  std::memcpy(rank->peers, fresh, sizeof fresh);
  rank->peer_unit /= 2;
}

}  // namespace

void slow_message(RankRecord* rank, int32_t peer, uint64_t bytes) {
  for (;;) {
    const uint32_t wanted = rank->number_of(peer);
    if (PeerCell* cell = find_cell(rank->peers, wanted)) {
      ++cell->word;
      cell->bytes += bytes;
      return;
    }
    halve_resolution(rank);
  }
}

void slow_source(RankRecord* rank, MPI_Comm comm, int source) {
  int way = 0;
  if (source >= 0) {
    const int32_t peer = peer_in_world(comm, source, &way);
    rank->peer = peer < 0 ? kNoPeer : peer | kIsSource;
  } else if (source == MPI_ANY_SOURCE) {
    rank->peer = kAnyPeer;
    ++rank->any_received;
  }
}

void record_any_source(RankRecord* rank, MPI_Comm comm, int tag, int source) {
  const uint64_t both = uint64_t{static_cast<uint32_t>(comm)} << 32 | static_cast<uint32_t>(tag);
  const auto pattern = static_cast<uint32_t>(both * 0x9e3779b97f4a7c15u >> 33) + 1;
  if (rank->any_pattern == pattern && rank->any_source != source) rank->flags |= kManySources;
  rank->any_pattern = pattern;
  rank->any_source = source;
}

void slow_target(RankRecord* rank, MPI_Comm comm, int dest) {
  int way = 0;
  const int32_t peer = dest >= 0 ? peer_in_world(comm, dest, &way) : -1;
  rank->peer = peer < 0 ? kNoPeer : peer;
}

int32_t slow_dest(RankRecord* rank, MPI_Comm comm, int dest, uint64_t bytes) {
  if (dest < 0) return -1;
  int way = 0;
  const int32_t peer = peer_in_world(comm, dest, &way);
  if (peer >= 0 && way > 0) {
    ++rank->ways[way - 1].messages;
    rank->ways[way - 1].bytes += bytes;
  }
  return peer;
}

// ---- Persistent sends ---------------------------------------------------------------------------

void record_persistent_send(const RankRecord* rank, MPI_Request request, MPI_Comm comm, int dest,
                            uint64_t bytes) {
  if (dest < 0) return;
  std::lock_guard guard(g_process.lock);
  g_process.kept[ProfiledProcess::key_of_send(rank, request)] = {comm, dest, bytes};
}

void start_sends(RankRecord* rank, CallCell* cell, int count, const MPI_Request* requests) {
  if (!requests) return;
  for (int i = 0; i < count; ++i) {
    ProfiledProcess::PersistentSend send{};
    {
      std::lock_guard guard(g_process.lock);
      const auto found = g_process.kept.find(ProfiledProcess::key_of_send(rank, requests[i]));
      if (found == g_process.kept.end()) continue;
      send = found->second;
    }
    const int32_t peer = slow_dest(rank, send.comm, send.dest, send.bytes);
    if (peer < 0) continue;
    cell->bytes += send.bytes;
    count_message(rank, peer, send.bytes);
  }
}

void forget_send(const RankRecord* rank, MPI_Request request) {
  std::lock_guard guard(g_process.lock);
  g_process.kept.erase(ProfiledProcess::key_of_send(rank, request));
}

// ---- One-sided operations -----------------------------------------------------------------------

namespace {

using Remotes = RecordTable<RemoteRecord, kRemotes, kRemotesInPart>;

Remotes& remotes() {
  ProfileHeader* h = g_process.header;
  static auto& table = *new Remotes(h, h->remote_parts, &h->remotes);
  return table;
}

/// Returns false where there is no room for another record.
bool add_remote(const RemoteRecord& more) {
  RemoteRecord* r = remotes().find(
      uint64_t{more.from} << 32 | more.to,
      [&](const RemoteRecord& o) { return o.from == more.from && o.to == more.to; },
      [&](RemoteRecord* made) {
        *made = {more.from, more.to, 0, 0};
      });
  if (!r) return false;
  r->operations += more.operations;
  r->bytes += more.bytes;
  return true;
}

/// From now on each record stands for twice as many ranks.
void coarsen_remotes() {
  std::vector<RemoteRecord> old;
  for (uint32_t i = 0; i < g_process.header->remotes; ++i) old.push_back(*remotes().record(i));
  remotes().clear();
  ++g_process.header->remote_shift;
  for (const RemoteRecord& r : old) add_remote({r.from >> 1, r.to >> 1, r.operations, r.bytes});
}

}  // namespace

void moved(RankRecord* rank, MPI_Win win, int target, uint64_t bytes, bool fetches) {
  if (rank == &g_nobody || target < 0 || g_moving) return;
  std::lock_guard guard(g_process.lock);
  const auto found = g_process.group_of.find(win);
  if (found != g_process.group_of.end()) {
    MPI_Group world = MPI_GROUP_NULL;
    const int in_window = target;
    g_next.MPI_Comm_group(MPI_COMM_WORLD, &world);
    g_next.MPI_Group_translate_ranks(found->second, 1, &in_window, world, &target);
    g_next.MPI_Group_free(&world);
  }
  ProfileHeader* h = g_process.header;
  if (target < 0 || target >= h->world_size) return;
  const auto self = static_cast<uint32_t>(h->first_rank + (rank - g_process.ranks));
  const auto other = static_cast<uint32_t>(target);
  auto add = [&] {
    return add_remote({(fetches ? other : self) >> h->remote_shift,
                       (fetches ? self : other) >> h->remote_shift, 1, bytes});
  };
  while (!add() && h->remotes > 1) coarsen_remotes();
}

void made_window(MPI_Comm comm, MPI_Win win) {
  if (comm == MPI_COMM_WORLD || g_moving) return;
  MPI_Group group = MPI_GROUP_NULL;
  if (g_next.MPI_Comm_group(comm, &group) != MPI_SUCCESS) return;
  std::lock_guard guard(g_process.lock);
  g_process.group_of[win] = group;
}

void freed_window(MPI_Win win) {
  std::lock_guard guard(g_process.lock);
  const auto found = g_process.group_of.find(win);
  if (found == g_process.group_of.end()) return;
  g_next.MPI_Group_free(&found->second);
  g_process.group_of.erase(found);
}

// ---- Communicators ------------------------------------------------------------------------------

uint16_t slow_family_of(MPI_Comm comm) {
  if (comm == MPI_COMM_WORLD) return kWorldFamily;
  if (comm == MPI_COMM_SELF) return kSelfFamily;
  if (g_moving) return kFamilies - 1;  // no family: handles are those of ranks
  std::lock_guard guard(g_process.lock);
  const auto found = g_process.family_of.find(comm);
  return found == g_process.family_of.end() ? kWorldFamily : found->second.family;
}

namespace {

/// Is it a handle of the program that may be passed to MPI?
bool is_known(MPI_Comm comm) {
  std::lock_guard guard(g_process.lock);
  return comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF || g_process.family_of.count(comm) != 0;
}

}  // namespace

CollectiveRecord* collective_record(const FamilyRecord* family, uint16_t call) {
  ProfileHeader* h = g_process.header;
  auto* r =
      in_part<CollectiveRecord>(h, __atomic_load_n(&family->first_collective, __ATOMIC_ACQUIRE));
  while (r && r->call != call)
    r = in_part<CollectiveRecord>(h, __atomic_load_n(&r->next, __ATOMIC_ACQUIRE));
  return r;
}

namespace {

/// Makes a record and puts it first in its family. The record is complete before others can see it.
/// nullptr where there is no room.
CollectiveRecord* make_collective(FamilyRecord* family, uint16_t call) {
  std::lock_guard guard(g_process.lock);
  if (CollectiveRecord* r = collective_record(family, call)) return r;
  const Part part = make_part(sizeof(CollectiveRecord));
  auto* r = in_part<CollectiveRecord>(g_process.header, part);
  if (!r) return nullptr;
  r->call = call;
  r->next = family->first_collective;
  __atomic_store_n(&family->first_collective, part, __ATOMIC_RELEASE);  // for collective_record()
  return r;
}

}  // namespace

void count_collective(FamilyRecord* family, uint16_t call, uint64_t bytes) {
  CollectiveRecord* r = collective_record(family, call);
  if (!r) r = make_collective(family, call);
  if (!r) return;
  ++r->count;
  r->bytes += bytes;
}

void count_run(int leader, int index, int algorithm) {
  const uint64_t key = uint64_t{static_cast<uint32_t>(leader)} << 32 | static_cast<uint32_t>(index);
  std::lock_guard guard(g_process.lock);
  const auto found = g_process.family_of_key.find(key);
  if (found == g_process.family_of_key.end() || algorithm < 0 || algorithm >= counters::kAlgorithms)
    return;
  if (FamilyRecord* f = g_hot.families[found->second.family]) ++f->runs[algorithm];
}

uint64_t key_of(MPI_Comm comm) {
  int leader = 0, index = 0, side = 0;
  if (MPIX_Comm_key) MPIX_Comm_key(comm, &leader, &index, &side);
  return uint64_t{static_cast<uint32_t>(leader)} << 32 | static_cast<uint32_t>(index);
}

FamilyRecord* make_family(uint16_t number) {
  ProfileHeader* h = g_process.header;
  const Part part = make_part(sizeof(FamilyRecord));
  h->families[number] = part;
  return g_hot.families[number] = in_part<FamilyRecord>(h, part);
}

namespace {

/// The family of the communicators that this call makes from those of family `parent`. The last
/// family where there are too many, the world's where there is no room.
uint16_t family_for(uint64_t site, uint16_t call, uint16_t parent) {
  ProfiledProcess& p = g_process;
  for (int i = 2; i < p.families_used; ++i) {
    const FamilyRecord& f = *g_hot.families[i];
    if (f.site == site && f.call == call && f.parent == parent) return static_cast<uint16_t>(i);
  }
  if (p.families_used >= kFamilies) return kFamilies - 1;
  FamilyRecord* f = make_family(static_cast<uint16_t>(p.families_used));
  if (!f) return kWorldFamily;
  f->site = site;
  f->call = call;
  f->parent = parent;
  return static_cast<uint16_t>(p.families_used++);
}

void describe_map(FamilyRecord* f, MPI_Comm comm) {
  MPIX_Map_info info;
  if (!MPIX_Comm_map_info || MPIX_Comm_map_info(comm, &info) != MPI_SUCCESS) return;
  f->map_bytes = info.map_bytes;
  std::memcpy(f->model, info.model, sizeof f->model);
  std::memcpy(f->encoding, info.encoding, sizeof f->encoding);
}

ProfiledProcess::NewComm describe(RankRecord* rank_of_call, MPI_Comm parent, MPI_Comm like) {
  ProfiledProcess::NewComm made{};
  int rank = -1, leader = 0, index = 0, side = 0;
  g_next.MPI_Comm_rank(like, &rank);
  if (MPIX_Comm_key) MPIX_Comm_key(like, &leader, &index, &side);
  made.first = rank == 0 && side == 0;
  g_next.MPI_Comm_size(like, &made.size);
  g_next.MPI_Comm_test_inter(like, &made.inter);
  made.parent = parent == MPI_COMM_NULL ? kWorldFamily : slow_family_of(parent);
  made.site = program_address(rank_of_call->site);
  made.call = static_cast<uint16_t>(rank_of_call->now - 1);
  return made;
}

/// Returns the family where this is the first handle of its communicator, else nullptr. REQUIRES:
/// the process's lock is held.
FamilyRecord* count_comm(const ProfiledProcess::NewComm& made, MPI_Comm comm, uint64_t key) {
  const uint16_t family = family_for(made.site, made.call, made.parent);
  const uint64_t now = time_now();
  g_process.family_of[comm] = {family, now};
  ProfiledProcess::Keyed& keyed = g_process.family_of_key[key];
  keyed.family = family;
  ++keyed.handles;
  FamilyRecord& f = *g_hot.families[family];
  f.made += made.first;
  if (!f.first_made_ns) f.first_made_ns = now;
  f.last_made_ns = now;
  f.inter = static_cast<uint32_t>(made.inter);
  f.least = f.least ? std::min(f.least, made.size) : made.size;
  f.most = std::max(f.most, made.size);
  return f.members_made++ == 0 ? &f : nullptr;
}

}  // namespace

void made_comm(RankRecord* rank_of_call, MPI_Comm parent, MPI_Comm made) {
  if (rank_of_call == &g_nobody || made == MPI_COMM_NULL || g_moving) return;
  const ProfiledProcess::NewComm description = describe(rank_of_call, parent, made);
  const uint64_t key = key_of(made);
  std::lock_guard guard(g_process.lock);
  if (FamilyRecord* first = count_comm(description, made, key)) describe_map(first, made);
}

// A copy has the group, and so the map, of its parent. If the call fails, the entry is overwritten
// by the next call with this address.
void begins_copy(RankRecord* rank_of_call, MPI_Comm parent, const MPI_Comm* newcomm) {
  if (rank_of_call == &g_nobody || g_moving || !is_known(parent)) return;
  const ProfiledProcess::NewComm description = describe(rank_of_call, parent, parent);
  std::lock_guard guard(g_process.lock);
  const uint16_t family = family_for(description.site, description.call, description.parent);
  FamilyRecord& f = *g_hot.families[family];
  if (!f.members_made && !f.map_bytes) describe_map(&f, parent);
  g_process.copies[newcomm] = description;
}

void made_copy(const MPI_Comm* newcomm, MPI_Comm made, int leader, int index) {
  const uint64_t key = uint64_t{static_cast<uint32_t>(leader)} << 32 | static_cast<uint32_t>(index);
  std::lock_guard guard(g_process.lock);
  const auto found = g_process.copies.find(newcomm);
  if (found == g_process.copies.end()) return;
  count_comm(found->second, made, key);
  g_process.copies.erase(found);
}

void freed_comm(MPI_Comm comm) {
  if (g_moving) return;
  const uint64_t key = key_of(comm);
  std::lock_guard guard(g_process.lock);
  const auto found = g_process.family_of.find(comm);
  if (found == g_process.family_of.end()) return;
  const uint64_t now = time_now();
  FamilyRecord& f = *g_hot.families[found->second.family];
  ++f.members_freed;
  if (!f.first_freed_ns) f.first_freed_ns = now;
  f.last_freed_ns = now;
  f.lived_ns += now - found->second.made_ns;
  g_process.family_of.erase(found);
  const auto keyed = g_process.family_of_key.find(key);
  if (keyed != g_process.family_of_key.end() && --keyed->second.handles == 0)
    g_process.family_of_key.erase(keyed);
}

}  // namespace fgmpi::report
