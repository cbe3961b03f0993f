// The tables of communicators by context id and by handle; making and freeing communicators.

#include "comm/comm.h"

#include <vector>

#include "base/counters.h"
#include "base/memory_use.h"
#include "base/strings.h"
#include "ch4-av-rankmap/mlut.h"
#include "comm/attr.h"
#include "comm/broken.h"
#include "comm/context.h"
#include "comm/errhandler.h"
#include "comm/extras.h"
#include "comm/hierarchy.h"
#include "comm/inside_paths.h"
#include "comm/meeting.h"
#include "comm/partial_group.h"
#include "comm/topology.h"
#include "host/handle_bits.h"
#include "proclet-sched/threads/threads.h"

namespace fgmpi::comm {

namespace detail {
Slab<Comm> g_comms;
}  // namespace detail

namespace {

using detail::kHandleMask;
constexpr uint32_t kIndirectBase =
    host::handle_base(host::HandleKind::kIndirect, host::HandleObject::kComm);
Slab<Comm> g_more_comms;  // communicators beyond the 2^26 direct handles

/// Context id and side -> shared part: open addressing with linear probing, at most 3/4 full, 8
/// bytes a slot. (The hook of a HashTable would raise a SharedComm to malloc's next size, 16 bytes
/// more for each communicator of a process.)
class ContextTable {
 public:
  SharedComm* find(uint64_t key) const {
    if (slots_.empty()) return nullptr;
    for (size_t i = home(key);; i = (i + 1) & mask()) {
      SharedComm* s = slots_[i];
      if (!s || key_of(*s) == key) return s;
    }
  }
  void insert(SharedComm* shared) {
    if ((count_ + 1) * 4 > slots_.size() * 3) grow();
    place(shared);
    ++count_;
  }
  void erase(SharedComm* shared) {
    size_t hole = home(key_of(*shared));
    while (slots_[hole] != shared) hole = (hole + 1) & mask();
    // Later entries of the cluster move back when the hole lies between their home and their slot.
    for (size_t i = (hole + 1) & mask(); slots_[i]; i = (i + 1) & mask()) {
      size_t from_home = (i - home(key_of(*slots_[i]))) & mask();
      if (from_home >= ((i - hole) & mask())) {
        slots_[hole] = slots_[i];
        hole = i;
      }
    }
    slots_[hole] = nullptr;
    --count_;
  }
  size_t bytes() const { return slots_.size() * sizeof(SharedComm*); }
  template <class F>
  void for_each(F&& f) const {
    for (SharedComm* s : slots_)
      if (s) f(*s);
  }

 private:
  static uint64_t key_of(const SharedComm& s) { return s.id.bits | s.side; }
  size_t mask() const { return slots_.size() - 1; }
  size_t home(uint64_t key) const {
    key = (key ^ key >> 31) * 0x9e3779b97f4a7c15u;
    return static_cast<size_t>(key >> 32) & mask();
  }
  void place(SharedComm* shared) {
    size_t i = home(key_of(*shared));
    while (slots_[i]) i = (i + 1) & mask();
    slots_[i] = shared;
  }
  void grow() {
    std::vector<SharedComm*> old(slots_.empty() ? 64 : slots_.size() * 2);
    old.swap(slots_);
    for (SharedComm* s : old)
      if (s) place(s);
  }
  std::vector<SharedComm*> slots_;
  size_t count_ = 0;
};

ContextTable g_table;
SharedComm* g_world = nullptr;

/// The last freed communicators: their handles are not used again yet, and errors can name them.
struct FreedHandle {
  MPI_Comm handle = MPI_COMM_NULL;
  int32_t size = 0, rank = 0;
  std::string name;
};
constexpr size_t kFreedKept = 64;
FreedHandle g_freed[kFreedKept];
size_t g_next_freed = 0;

Slab<Comm>& slab_of(MPI_Comm handle) {
  return (static_cast<uint32_t>(handle) & kHandleMask) == kIndirectBase ? g_more_comms
                                                                        : detail::g_comms;
}

void remember_freed(Comm* comm, int32_t size) {
  FreedHandle& freed = g_freed[g_next_freed];
  g_next_freed = (g_next_freed + 1) % kFreedKept;
  if (freed.handle != MPI_COMM_NULL)
    slab_of(freed.handle).destroy(static_cast<uint32_t>(freed.handle) & ~kHandleMask);
  freed.handle = comm->handle;
  freed.size = size;
  freed.rank = comm->rank;
  freed.name.clear();
  if (comm->extras) freed.name = comm->extras->name;
}

std::vector<void (*)(ContextId id)> g_on_dropped;

/// The other jobs that have members in either group.
std::vector<uint32_t> other_jobs_of(const SharedComm& shared) {
  std::vector<uint32_t> jobs;
  for (const RankMap* map : {&shared.map, static_cast<const RankMap*>(shared.remote.get())})
    if (map) for_each_other_group(*map, [&](uint32_t pgid) { jobs.push_back(pgid); });
  return jobs;
}

void release_shared(SharedComm* shared) {
  if (--shared->references > 0) return;
  g_table.erase(shared);
  ContextId id = shared->id;
  uint32_t processes = shared->processes;
  // Where only visitors have used it (visit.h), other processes say when it is dropped.
  bool counted = shared != g_world && id.lbi() >= kFirstLbi && shared->members > 0;
  std::vector<uint32_t> jobs;
  if (__builtin_expect(id.is_drawn(), 0)) jobs = other_jobs_of(*shared);
  if (shared == g_world) g_world = nullptr;
  std::shared_ptr<PartialGroup> tree = std::move(shared->tree);
  delete shared;
  // The other group of an intercommunicator may have members in this process that go on.
  if (!find_shared(id, 0) && !find_shared(id, 1))
    for (auto* handler : g_on_dropped) handler(id);
  if (tree)
    tree->drop();
  else if (counted)
    drop(id, processes);
  for (uint32_t pgid : jobs) g_process_groups.release(pgid);
}

void destroy_comm(RefCount* comm_ref) {
  Comm* comm = static_cast<Comm*>(comm_ref);
  SharedComm* shared = comm->shared;
  int32_t size = shared->size;
  comm->shared = nullptr;
  release_errhandler(comm->errhandler);
  remember_freed(comm, size);
  comm->extras.reset();
  release_shared(shared);
}

/// World and self live in their RankState, so only their share is released.
void forget_predefined(RefCount* comm_ref) {
  Comm* comm = static_cast<Comm*>(comm_ref);
  comm->extras.reset();
  if (comm->shared) release_shared(comm->shared);
  comm->shared = nullptr;
}

Comm* new_handle(Status* status) {
  uint32_t base = detail::kHandleBase;
  Slab<Comm>* slab = &detail::g_comms;
  int64_t index = slab->create();
  if (__builtin_expect(index < 0, 0)) {
    base = kIndirectBase;
    slab = &g_more_comms;
    index = slab->create();
  }
  if (index < 0) {
    *status = error(MPI_ERR_OTHER, "this process has %u communicators in use; allowed are %u",
                    detail::g_comms.live() + g_more_comms.live(), 2 * Slab<Comm>::kMaxObjects);
    return nullptr;
  }
  Comm* comm = slab->get(static_cast<uint32_t>(index));
  comm->handle = static_cast<MPI_Comm>(base | static_cast<uint32_t>(index));
  return comm;
}

void make_self(RankState* rank) {
  auto* shared = new SharedComm;
  // Communicators made from the self of a spawned rank have a member that is not of the job's own
  // group, so their ids must be drawn; a drawn parent's id ensures that.
  const bool own = rank->world_rank < g_av.world_size();
  shared->id = own ? ContextId::make(rank->world_rank, kSelfLbi) : draw_candidate().id();
  shared->size = 1;
  shared->references = shared->members = 1;
  shared->map = RankMap::strided(1, static_cast<int32_t>(rank->world_rank), 1);
  if (!own)
    for (uint32_t pgid : other_jobs_of(*shared)) g_process_groups.retain(pgid);
  shared->set_shortcuts();
  g_table.insert(shared);
  rank->self.shared = shared;
}

}  // namespace

void add_dropped_handler(void (*handler)(ContextId id)) { g_on_dropped.push_back(handler); }

Comm::Comm() : RefCount(destroy_comm) {}
Comm::~Comm() = default;

constinit detail::FastHandles detail::g_fast_handles;
constinit detail::FastHandles detail::g_inside_handles;

namespace {
/// A handle of MPICH's kind of predefined communicators, which has indices up to 2 only, and a base
/// that no handle has after the mask.
constexpr detail::FastHandles kNobodys = {
    static_cast<MPI_Comm>(host::handle_base(host::HandleKind::kBuiltin, host::HandleObject::kComm) |
                          host::kHandleIndexMask),
    1};
}  // namespace

void close_fast_paths() { detail::g_fast_handles = kNobodys; }
void close_all_fast_paths() { detail::g_fast_handles = detail::g_inside_handles = kNobodys; }

Comm* detail::find_slow(MPI_Comm handle) {
  if (sched::threads_enabled() && sched::outside()) return nullptr;
  if (Comm * c; detail::find_listed(handle, {}, &c)) return c;
  if (handle == MPI_COMM_SELF) {
    RankState* rank = rank_state();
    if (!rank || rank->self.freed) return nullptr;
    if (!rank->self.shared) make_self(rank);
    return &rank->self;
  }
  if ((static_cast<uint32_t>(handle) & kHandleMask) == kIndirectBase) {
    Comm* c = g_more_comms.get(static_cast<uint32_t>(handle) & ~kHandleMask);
    return c && !c->freed ? c : nullptr;
  }
  return nullptr;
}

namespace {
Remembered g_memory;

[[maybe_unused]] const bool g_counters_provided = [] {
  counters::provide(counters::kCommCollectives, [](const void* comm) -> uint64_t {
    return static_cast<const Comm*>(comm)->collectives();
  });
  counters::provide(counters::kMemoryCommunicators, [](const void*) {
    return g_memory.get([] {
      uint64_t bytes = 0;
      for_each_shared([&](const SharedComm& shared) { bytes += bytes_of(shared); });
      return bytes;
    });
  });
  return true;
}();
}  // namespace

Status init_rank(RankState* rank, SharedComm* world, int32_t rank_in_world) {
  if (!g_world) {
    init_context();
    FGMPI_TRY(RankMap::configure());
    g_world = new SharedComm;
    g_world->id = ContextId::make(0, kWorldLbi);
    g_world->size = static_cast<int32_t>(g_av.world_size());
    g_world->members = g_av.my_count();
    g_world->processes = g_av.processes();
    g_world->map = RankMap::direct(g_world->size);
    // One reference is the process's own, as ranks may end at different times.
    g_world->references = g_world->members + 1;
    g_world->set_shortcuts();
    g_table.insert(g_world);
  }
  rank->lbi_next = kFirstLbi;
  rank->world.destroy = rank->self.destroy = forget_predefined;
  rank->world.shared = world ? world : g_world;
  rank->world.rank = world ? rank_in_world : static_cast<int32_t>(rank->world_rank);
  rank->world.handle = MPI_COMM_WORLD;
  rank->self.rank = 0;
  rank->self.handle = MPI_COMM_SELF;
  return {};
}

void delete_rank_attributes(RankState* rank) {
  for (Comm* comm : {&rank->self, &rank->world})
    if (!comm->freed && comm->extras) delete_attributes(&comm->extras->attributes, comm->handle);
}

void finalize_rank(RankState* rank) {
  // Requests may still refer to these communicators (freed, never completed): then the last of
  // those requests drops them.
  for (Comm* comm : {&rank->self, &rank->world}) {
    if (comm->freed) continue;
    release_errhandler(comm->errhandler);
    comm->errhandler = MPI_ERRHANDLER_NULL;
    comm->freed = true;
    comm->release();
  }
  delete rank->buffers;
  rank->buffers = nullptr;
}

SharedComm* find_shared(ContextId id, uint8_t side) { return g_table.find(id.bits | side); }
SharedComm* find_with_members(ContextId id, uint8_t side) {
  SharedComm* shared = find_shared(id, side);
  return shared && shared->members > 0 ? shared : nullptr;
}

/// The shared part that visitors have made, which members take over (visit.h); or nullptr.
static SharedComm* take_over_visited(const CommSpec& spec) {
  SharedComm* visited = find_shared(spec.id, spec.side);
  if (!visited || visited->members > 0) return nullptr;
  visited->members = spec.members;
  visited->references += spec.members;
  visited->processes = spec.processes;
  visited->creating_call = spec.creating_call;
  return visited;
}

SharedComm* make_shared(const CommSpec& spec) {
  if (SharedComm* visited = take_over_visited(spec)) return visited;
  auto* shared = new SharedComm;
  shared->id = spec.id;
  shared->size = spec.map->size();
  shared->members = shared->references = spec.members;
  shared->processes = spec.processes;
  shared->side = spec.side;
  shared->creating_call = spec.creating_call;
  shared->map = *spec.map;
  shared->inter = spec.remote != nullptr;
  if (spec.remote) shared->remote = std::make_unique<RankMap>(*spec.remote);
  if (__builtin_expect(spec.id.is_drawn(), 0)) {
    FGMPI_CHECK(!find_shared(spec.id, spec.side) && "a context id that was drawn twice");
    for (uint32_t pgid : other_jobs_of(*shared)) g_process_groups.retain(pgid);
  }
  shared->set_shortcuts();
  g_table.insert(shared);
  mark_if_broken(shared);
  return shared;
}

void release_share(SharedComm* shared) { release_shared(shared); }

Status enter(SharedComm* shared, int32_t rank, const Comm* parent, Comm** out) {
  Status status;
  Comm* comm = new_handle(&status);
  if (!comm) {
    release_shared(shared);
    return status;
  }
  comm->shared = shared;
  comm->rank = rank;
  if (parent) {
    comm->errhandler = parent->errhandler;
    comm->session = parent->session;
  }
  retain_errhandler(comm->errhandler);
  *out = comm;
  return status;
}

void store_as(Comm* comm, const groupmap::Strategy& strategy) {
  SharedComm* shared = comm->shared;
  if (shared->stored_as) return;
  shared->stored_as = true;
  if (shared->map.regular()) return;
  sched::call_on_host(
      [&] { shared->map = RankMap::from_ranks(shared->map.encoded().expand(), strategy); });
}

void free(Comm* comm) {
  comm->freed = true;
  comm->release();
}

Extras& extras(Comm* comm) {
  if (!comm->extras) comm->extras = std::make_unique<Extras>();
  return *comm->extras;
}

void set_name(Comm* comm, const char* name) {
  Extras& of = extras(comm);
  of.shown.hide();
  of.name = name;
  if (of.name.size() >= MPI_MAX_OBJECT_NAME) of.name.resize(MPI_MAX_OBJECT_NAME - 1);
  of.named = true;
  if (comm->shared) of.shown.show(comm->shared->id, of.name.c_str());
}

std::string name_of(const Comm* comm) {
  if (comm->extras && comm->extras->named) return comm->extras->name;
  if (comm->handle == MPI_COMM_WORLD) return "MPI_COMM_WORLD";
  if (comm->handle == MPI_COMM_SELF) return "MPI_COMM_SELF";
  return "";
}

std::string describe_bad(MPI_Comm handle) {
  if (handle == MPI_COMM_NULL) return "comm is MPI_COMM_NULL; allowed is a valid communicator";
  std::string words = format("comm is 0x%08x", static_cast<unsigned>(handle));
  for (const FreedHandle& freed : g_freed) {
    if (freed.handle != handle) continue;
    words += ", which was freed: it was ";
    if (!freed.name.empty()) words += "\"" + escaped(freed.name) + "\", ";
    return words + format("rank %d of %d", freed.rank, freed.size);
  }
  Comm* comm = (static_cast<uint32_t>(handle) & kHandleMask) == detail::kHandleBase
                   ? detail::g_comms.get(static_cast<uint32_t>(handle) & ~kHandleMask)
                   : nullptr;
  if (comm && comm->freed)
    return words + ", which was freed (operations on it are still under way)";
  return words + ", which is not a communicator or was freed";
}

size_t bytes_of(const SharedComm& shared) {
  size_t bytes = sizeof shared + 2 * sizeof(SharedComm*) + shared.map.bytes() - sizeof(RankMap);
  if (shared.remote) bytes += shared.remote->bytes();
  if (shared.meetings) bytes += sizeof(OpenMeetings);
  if (shared.meetings && shared.meetings->completed) bytes += sizeof(OpenMeetings::Completed);
  for (const Hierarchy* h : {shared.hierarchy.get(), shared.remote_hierarchy.get()})
    if (h) bytes += sizeof *h + h->bytes();
  if (shared.topology) bytes += shared.topology->bytes();
  if (shared.tree) bytes += shared.tree->bytes();
  return bytes + size_t{shared.references} * sizeof(Comm);
}

int sharing_of(const SharedComm& shared) {
  // Communicators with different orders over one stored set share that set.
  auto part = [](const SharedComm& s) {
    const groupmap::GroupMap* stored = s.map.encoded().stored();
    const groupmap::MapRef* base = stored ? stored->base() : nullptr;
    return base && base->stored() ? base->stored() : stored;
  };
  const groupmap::GroupMap* shared_part = part(shared);
  if (!shared_part) return 1;
  int count = 0;
  g_table.for_each([&](const SharedComm& other) { count += part(other) == shared_part; });
  return count;
}

void for_each_shared(void (*visit)(SharedComm& shared, void* argument), void* argument) {
  g_table.for_each([&](SharedComm& shared) { visit(shared, argument); });
}

void for_each_unfreed(void (*visit)(const Comm& comm, void* argument), void* argument) {
  auto kept = [&](uint32_t, Comm& c) {
    if (!c.freed) visit(c, argument);
  };
  detail::g_comms.for_each(kept);
  g_more_comms.for_each(kept);
}

Usage usage() {
  Usage u;
  g_table.for_each([&](const SharedComm& shared) {
    if (&shared == g_world || shared.id.lbi() == kSelfLbi) return;
    ++u.shared;
    u.members += shared.references;
    u.bytes += bytes_of(shared);
  });
  return u;
}

}  // namespace fgmpi::comm
