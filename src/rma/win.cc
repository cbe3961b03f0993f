// The tables of windows, how a target's memory is reached, and attached memory.

#include "rma/win.h"

#include <algorithm>

#include "base/count_words.h"
#include "base/counters.h"
#include "base/settings.h"
#include "base/strings.h"
#include "comm/broken.h"
#include "proclet-sched/coroutine/packing.h"
#include "rma/internal.h"
#include "rma/message.h"
#include "rma/provider.h"

namespace fgmpi::rma {

WayCounters g_counters = {};
namespace detail {
Slab<Win> g_wins;
}
using detail::g_wins;

namespace {

std::unordered_map<uint64_t, SharedWin*>& by_context() {
  static auto* map = new std::unordered_map<uint64_t, SharedWin*>;
  return *map;
}

[[maybe_unused]] const bool g_counters_provided = [] {
  using namespace counters;
  provide(kRmaHere, [](const void*) { return g_counters.operations[int(AccessWay::kHere)]; });
  provide(kRmaMapped, [](const void*) { return g_counters.operations[int(AccessWay::kMapped)]; });
  provide(kRmaAttached,
          [](const void*) { return g_counters.operations[int(AccessWay::kAttached)]; });
  provide(kRmaProvider,
          [](const void*) { return g_counters.operations[int(AccessWay::kProvider)]; });
  provide(kRmaMessages,
          [](const void*) { return g_counters.operations[int(AccessWay::kMessages)]; });
  return true;
}();

/// Maps the object of a peer of this host, once. Where that fails, messages do all.
void open_object(WindowPart* part) {
  if (part->tried) return;
  part->tried = true;
  if (part->object.fd < 0) return;
  auto memory = std::make_unique<MemoryObject>();
  if (!memory->open(part->object).ok()) return;
  part->memory = std::move(memory);
  part->control = std::make_unique<Control>(part->memory->base(), part->locals.size());
  part->table = access_table(part->memory->base(), part->control_bytes);
}

}  // namespace

WindowPart& SharedWin::search(uint32_t process) {
  auto at = std::lower_bound(parts.begin(), parts.end(), process,
                             [](const WindowPart& part, uint32_t p) { return part.process < p; });
  return *at;
}

std::string name_of(const Win* win) {
  return format("rank %d of %d in window 0x%08x", win->comm->rank, win->comm->size(),
                static_cast<unsigned>(win->handle));
}

SharedWin* find_shared(uint64_t ctx) {
  auto found = by_context().find(ctx);
  return found == by_context().end() ? nullptr : found->second;
}

void register_shared(SharedWin* shared) {
  [[maybe_unused]] static const bool registered = [] {
    comm::add_broken_handler([](comm::SharedComm* broken, const Status&) {
      SharedWin* win = find_shared(broken->id.plane(comm::kPlaneRma));
      if (!win) return;
      end_operations_of_lost(win);
      wake_waiting(win);
    });
    return true;
  }();
  by_context()[shared->id.plane(comm::kPlaneRma)] = shared;
}

Status enter(SharedWin* shared, comm::Comm* comm, Win** out) {
  const int64_t index = g_wins.create();
  if (index < 0)
    return error(MPI_ERR_OTHER,
                 "this process has %u windows of its ranks in use, the most that are allowed",
                 g_wins.live());
  Win* win = g_wins.get(static_cast<uint32_t>(index));
  win->shared = shared;
  win->comm = comm;
  win->handle = static_cast<MPI_Win>(kHandleBase | static_cast<uint32_t>(index));
  ++shared->references;
  if (checking()) record_window(win);
  *out = win;
  return {};
}

void drop_shared(SharedWin* shared) {
  by_context().erase(shared->id.plane(comm::kPlaneRma));
  if (shared->granted) withdraw_access();
  delete shared;
}

void leave(Win* win) {
  SharedWin* shared = win->shared;
  comm::Comm* comm = win->comm;
  if (checking()) forget_window(win);
  g_wins.destroy(host::handle_index(win->handle));
  if (--shared->references == 0) drop_shared(shared);
  comm::free(comm);
}

MemberEpochs& access_of(Win* win) {
  if (!win->access) win->access = std::make_unique<MemberEpochs>();
  return *win->access;
}

Reach reach_of(Win* win, int32_t rank) {
  SharedWin& shared = *win->shared;
  const Location at = win->comm->peer(rank);
  WindowPart& part = shared.part_of(at.process);
  Reach reach;
  reach.part = &part;
  reach.member = part.locals.find(at.local);
  FGMPI_CHECK(reach.member != ~0u);
  const bool dynamic = shared.flavor == MPI_WIN_FLAVOR_DYNAMIC;
  reach.base = dynamic ? 0 : part.bases[reach.member];
  reach.size = dynamic ? -1 : part.sizes[reach.member];
  reach.unit = part.units[reach.member];
  const bool own = &part == &shared.own();
  if (!own && part.near) open_object(&part);
  if (shared.common.base() && (own || part.near)) {
    reach.way = own ? AccessWay::kHere : AccessWay::kMapped;
    reach.here = shared.common.base() + reach.base;
  } else if (own) {
    reach.way = AccessWay::kHere;
    reach.here = reinterpret_cast<char*>(reach.base);
  } else if (part.near && shared.flavor == MPI_WIN_FLAVOR_ALLOCATE && part.memory) {
    reach.way = AccessWay::kMapped;
    reach.here = part.memory->base() + (static_cast<uint64_t>(reach.base) - part.object_base);
  } else if (part.near && !dynamic && !part.no_attach && settings::on(settings::kShmCma)) {
    reach.way = AccessWay::kAttached;
  } else if (part.access_key && !dynamic && !part.near && can_access(part.process)) {
    reach.way = AccessWay::kProvider;
  }
  return reach;
}

Status shared_query(Win* win, int32_t rank, int64_t* bytes, int64_t* unit, void** base) {
  SharedWin& shared = *win->shared;
  if (shared.flavor == MPI_WIN_FLAVOR_DYNAMIC)
    return error(MPI_ERR_RMA_FLAVOR, "%s was made by %s; allowed is a window of another call",
                 name_of(win).c_str(), shared.creating_call);
  *bytes = 0;
  *unit = 0;
  *base = nullptr;
  if (rank == MPI_PROC_NULL) {
    // The lowest rank with memory that this one can load and store (section 12.2.3).
    const int32_t ranks = win->comm->size();
    const auto has_memory = [win](int32_t r) {
      const Reach reach = reach_of(win, r);
      return reach.size > 0 && reach.here;
    };
    for (rank = 0; rank < ranks && !has_memory(rank); ++rank) {
    }
    if (rank == ranks) return {};
  }
  const Reach reach = reach_of(win, rank);
  *unit = reach.unit;
  if (!reach.here || reach.size == 0) return {};  // no memory, or none that is shared
  *bytes = reach.size;
  *base = reach.here;
  return {};
}

// ---- Dynamic windows ----------------------------------------------------------------------------

namespace {

Status check_dynamic(const Win* win) {
  if (win->shared->flavor == MPI_WIN_FLAVOR_DYNAMIC) return {};
  return error(MPI_ERR_RMA_FLAVOR,
               "%s was made by %s; allowed is a window of MPI_Win_create_dynamic",
               name_of(win).c_str(), win->shared->creating_call);
}

uint32_t find_own_member(Win* win) {
  return win->shared->own().locals.find(comm::rank_state()->local);
}

std::vector<AttachedRegion>& regions_of(Win* win) {
  return win->shared->attached[find_own_member(win)];
}

}  // namespace

Status attach(Win* win, void* base, int64_t bytes) {
  FGMPI_TRY(check_dynamic(win));
  if (bytes < 0)
    return error(MPI_ERR_SIZE, "size is %lld; allowed is 0 or more", static_cast<long long>(bytes));
  if (bytes == 0) {
    win->shared->attached_empty[find_own_member(win)].push_back(reinterpret_cast<uint64_t>(base));
    return {};
  }
  if (!base) return error(MPI_ERR_BASE, "base is a null pointer; allowed is null with size 0 only");
  std::vector<AttachedRegion>& regions = regions_of(win);
  const AttachedRegion mine{reinterpret_cast<uint64_t>(base), static_cast<uint64_t>(bytes)};
  auto at = std::lower_bound(
      regions.begin(), regions.end(), mine,
      [](const AttachedRegion& a, const AttachedRegion& b) { return a.base < b.base; });
  auto overlaps = [&](const AttachedRegion& r) {
    return r.base < mine.base + mine.bytes && mine.base < r.base + r.bytes;
  };
  const AttachedRegion* other = at != regions.end() && overlaps(*at) ? &*at
                                : at != regions.begin() && overlaps(*std::prev(at))
                                    ? &*std::prev(at)
                                    : nullptr;
  if (other)
    return error(
        MPI_ERR_RMA_ATTACH, "the memory of %s at 0x%llx overlaps %s at 0x%llx, attached to %s",
        count_words(mine.bytes, "byte").c_str(), static_cast<unsigned long long>(mine.base),
        count_words(other->bytes, "byte").c_str(), static_cast<unsigned long long>(other->base),
        name_of(win).c_str());
  sched::keep_unpacked(base, mine.bytes);
  regions.insert(at, mine);
  return {};
}

Status detach(Win* win, const void* base) {
  FGMPI_TRY(check_dynamic(win));
  std::vector<AttachedRegion>& regions = regions_of(win);
  const auto address = reinterpret_cast<uint64_t>(base);
  auto at = std::find_if(regions.begin(), regions.end(),
                         [&](const AttachedRegion& r) { return r.base == address; });
  if (at == regions.end()) {
    std::vector<uint64_t>& empty = win->shared->attached_empty[find_own_member(win)];
    auto one = std::find(empty.begin(), empty.end(), address);
    if (one != empty.end()) {
      empty.erase(one);
      return {};
    }
    return error(MPI_ERR_RMA_ATTACH,
                 "base is 0x%llx; allowed is the address of memory that is attached to %s",
                 static_cast<unsigned long long>(address), name_of(win).c_str());
  }
  regions.erase(at);
  return {};
}

bool is_attached(const SharedWin& shared, uint32_t member, uint64_t address, uint64_t bytes) {
  auto found = shared.attached.find(member);
  if (found == shared.attached.end()) return false;
  const std::vector<AttachedRegion>& regions = found->second;
  // Regions that touch may be used as one.
  auto at = std::upper_bound(regions.begin(), regions.end(), address,
                             [](uint64_t a, const AttachedRegion& r) { return a < r.base; });
  if (at == regions.begin()) return false;
  uint64_t end = address;
  for (--at; at != regions.end() && at->base <= end && at->base + at->bytes > end; ++at) {
    end = at->base + at->bytes;
    if (end - address >= bytes) return true;
  }
  return false;
}

void for_each_unfreed(void (*visit)(const Win& win, void* argument), void* argument) {
  g_wins.for_each([&](uint32_t, Win& win) { visit(win, argument); });
}

}  // namespace fgmpi::rma
