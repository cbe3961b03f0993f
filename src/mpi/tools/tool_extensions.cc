// Extensions for tools in front of the MPI functions (include/fgmpi.h).

#include <cstring>
#include <vector>

#include "base/counters.h"
#include "coll/algorithm_runs.h"
#include "comm/context.h"
#include "comm/create.h"
#include "fgmpi.h"
#include "file/file.h"
#include "mpi/binding.h"
#include "mpi/comm/comm_common.h"
#include "mpi/comm/comm_messages.h"
#include "mpi/life/runtime.h"
#include "privatize/load/rank_leaks.h"
#include "privatize/privatize.h"
#include "proclet-sched/threads/threads.h"
#include "pt2pt/engine.h"
#include "rma/check.h"
#include "rma/win.h"
#include "transport/frames.h"

using namespace fgmpi;

FGMPI_EXTENSION void** MPIX_Tool_word(void) {
  sched::Proclet* p = sched::rank_of_thread();
  return p ? &p->tool : nullptr;
}

FGMPI_EXTENSION int MPIX_Comm_key(MPI_Comm comm, int* leader, int* index, int* side) {
  FGMPI_TAKE_TURN("MPIX_Comm_key", MPIX_Comm_key(comm, leader, index, side));
  constexpr const char* kCall = "MPIX_Comm_key";
  FGMPI_ENTER(kCall, c, comm);
  *leader = static_cast<int>(c->shared->id.lid());
  *index = static_cast<int>(c->shared->id.lbi());
  *side = c->shared->side;
  return MPI_SUCCESS;
}

FGMPI_EXTENSION int MPIX_Tool_process(int world_rank) {
  if (world_rank < 0 || static_cast<uint32_t>(world_rank) >= g_av.world_size()) return -1;
  return static_cast<int>(g_av.locate(static_cast<uint32_t>(world_rank)).process);
}

FGMPI_EXTENSION int MPIX_Tool_peer(MPI_Comm comm, int rank, int* way) {
  *way = 0;
  const comm::Comm* c = comm::find_inside(comm);
  if (!c || rank < 0 || rank >= c->shared->peers().size()) return -1;
  const auto world = static_cast<uint32_t>(c->shared->peers().world_of(rank));
  if (world >= g_av.world_size()) return -1;
  *way = static_cast<int>(mpi::way_to(world));
  return static_cast<int>(world);
}

FGMPI_EXTENSION MPI_Count MPIX_Tool_counter(const char* name) {
  for (int i = 0; i < counters::kCount; ++i)
    if (counters::kRecords[i].scope == counters::CounterScope::kProcess &&
        std::strcmp(counters::kRecords[i].name, name) == 0)
      return static_cast<MPI_Count>(counters::read(static_cast<counters::CounterId>(i)));
  return -1;
}

FGMPI_EXTENSION int MPIX_Tool_has_datatype(MPI_Datatype type) {
  return static_cast<bool>(datatype::find_derived(type).type);
}

FGMPI_EXTENSION int MPIX_Tool_enter(void) {
  return sched::outside() && sched::EngineEntry::enter();
}

FGMPI_EXTENSION void MPIX_Tool_leave(int entered) {
  if (entered) sched::EngineEntry::leave();
}

FGMPI_EXTENSION int MPIX_Tool_wait(const char* what, int (*begins)(void*, void*), void* argument) {
  const int entered = MPIX_Tool_enter();
  sched::Proclet* self = sched::current();
  const int waits = self ? begins(self, argument) : 0;
  if (waits) {
    const sched::WaitSite site{what, nullptr, true};
    sched::park(&site);
  }
  MPIX_Tool_leave(entered);
  return waits;
}

FGMPI_EXTENSION void MPIX_Tool_wake(void* waiter) {
  const int entered = MPIX_Tool_enter();
  sched::ready(static_cast<sched::Proclet*>(waiter));
  MPIX_Tool_leave(entered);
}

namespace {
void (*g_arrived)(int, const void*, int) = nullptr;
}

FGMPI_EXTENSION int MPIX_Tool_handlers(void (*arrived)(int, const void*, int), void (*deadlock)(),
                                       void (*fatal)(int, const char*)) {
  FGMPI_TAKE_TURN("MPIX_Tool_handlers", MPIX_Tool_handlers(arrived, deadlock, fatal));
  g_arrived = arrived;
  mpi::set_tool_fatal(fatal);
  pt2pt::set_tool_deadlock(deadlock);
  sched::g_joins_are_watched = deadlock != nullptr;
  pt2pt::set_notice_handler(pt2pt::kNoticeTool,
                            [](uint32_t from, uint64_t, const void* data, size_t bytes) {
                              if (g_arrived)
                                g_arrived(static_cast<int>(from), data, static_cast<int>(bytes));
                            });
  return MPI_SUCCESS;
}

FGMPI_EXTENSION int MPIX_Tool_parked(void (*parked)(), void (*stuck)()) {
  FGMPI_TAKE_TURN("MPIX_Tool_parked", MPIX_Tool_parked(parked, stuck));
  pt2pt::set_tool_parked(parked, stuck);
  return MPI_SUCCESS;
}

FGMPI_EXTENSION int MPIX_Tool_ends(void (*left)(int), void (*crashed)(int, const void*)) {
  FGMPI_TAKE_TURN("MPIX_Tool_ends", MPIX_Tool_ends(left, crashed));
  mpi::set_tool_left(left);
  privatize::set_tool_crashed(crashed);
  return MPI_SUCCESS;
}

FGMPI_EXTENSION int MPIX_Tool_leaks(void (*leaked)(const void*, MPI_Count, MPI_Count)) {
  FGMPI_TAKE_TURN("MPIX_Tool_leaks", MPIX_Tool_leaks(leaked));
  static void (*told)(const void*, MPI_Count, MPI_Count) = nullptr;
  told = leaked;
  // MPI_Count is another type of 64 bits with some hosts.
  const auto tell = [](const void* place, int64_t blocks, int64_t bytes) {
    told(place, static_cast<MPI_Count>(blocks), static_cast<MPI_Count>(bytes));
  };
  privatize::set_tool_leaked(leaked ? +tell : nullptr);
  return MPI_SUCCESS;
}

FGMPI_EXTENSION int MPIX_Tool_runs(void (*run)(int, int, int)) {
  FGMPI_TAKE_TURN("MPIX_Tool_runs", MPIX_Tool_runs(run));
  coll::set_tool_run(run);
  return MPI_SUCCESS;
}

namespace {
MPIX_Tool_conflict g_conflict = nullptr;
MPIX_Tool_order g_order = {};
uint64_t g_conflicts = 0;  ///< how many there were
MPIX_Tool_access access_of(const rma::Observed& o) {
  return {o.call, o.verb, o.world, o.target, static_cast<unsigned long long>(o.place)};
}
}  // namespace

FGMPI_EXTENSION int MPIX_Tool_orders(const MPIX_Tool_order* order) {
  FGMPI_TAKE_TURN("MPIX_Tool_orders", MPIX_Tool_orders(order));
  g_order = *order;
  return MPI_SUCCESS;
}

namespace {

rma::ConflictObserver with_order(rma::ConflictObserver observer) {
  static_assert(sizeof(MPIX_Tool_event) == sizeof(rma::OrderStamp));
  if (!g_order.ordered) return observer;
  observer.stamp = [](rma::OrderStamp* now, bool fresh) {
    g_order.stamp(reinterpret_cast<MPIX_Tool_event*>(now), fresh);
  };
  observer.ordered = [](int32_t world, const rma::OrderStamp& event, int64_t time) {
    return g_order.ordered(world, reinterpret_cast<const MPIX_Tool_event*>(&event), time) != 0;
  };
  observer.learn = [](int64_t time) { g_order.learn(time); };
  return observer;
}

}  // namespace

FGMPI_EXTENSION int MPIX_Tool_conflicts(MPIX_Tool_place place, MPIX_Tool_conflict conflict) {
  static MPIX_Tool_place place_of_tool;
  place_of_tool = place;
  g_conflict = conflict;
  rma::set_observer(
      with_order({[] { return static_cast<uint64_t>(place_of_tool()); },
                  [](const rma::Observed& second, const rma::Observed& first, const char* where) {
                    const MPIX_Tool_access accesses[] = {access_of(second), access_of(first)};
                    ++g_conflicts;
                    g_conflict(&accesses[0], &accesses[1], where);
                  }}));
  return MPI_SUCCESS;
}

FGMPI_EXTENSION int MPIX_Tool_accessed(MPI_Win handle, const void* address, MPI_Count bytes,
                                       int writes, const char* what, unsigned long long place,
                                       int keep) {
  FGMPI_TAKE_TURN("MPIX_Tool_accessed",
                  MPIX_Tool_accessed(handle, address, bytes, writes, what, place, keep));
  rma::Win* win = rma::find(handle);
  if (!win) return MPI_ERR_WIN;
  if (!rma::checking() || bytes < 0) return MPI_SUCCESS;
  const Status status =
      rma::check_program(win, reinterpret_cast<uint64_t>(address), static_cast<uint64_t>(bytes),
                         writes != 0, what, place, keep != 0);
  return status.ok() ? MPI_SUCCESS : MPI_ERR_RMA_CONFLICT;
}

FGMPI_EXTENSION int MPIX_Tool_accesses(MPI_Win handle, const void* address, MPI_Count bytes,
                                       int reads, int writes, const char* what,
                                       unsigned long long place) {
  FGMPI_TAKE_TURN("MPIX_Tool_accesses",
                  MPIX_Tool_accesses(handle, address, bytes, reads, writes, what, place));
  rma::Win* win = rma::find(handle);
  if (!win || !rma::checking() || bytes <= 0) return 0;
  const uint64_t before = g_conflicts;
  const Status status =
      rma::check_program_now(win, reinterpret_cast<uint64_t>(address), static_cast<uint64_t>(bytes),
                             reads != 0, writes != 0, what, place);
  return !status.ok() || g_conflicts != before;
}

FGMPI_EXTENSION int MPIX_Tool_used(const void* address, MPI_Count bytes, int writes,
                                   const char* what, unsigned long long place) {
  FGMPI_TAKE_TURN("MPIX_Tool_used", MPIX_Tool_used(address, bytes, writes, what, place));
  if (!rma::checking() || bytes <= 0) return MPI_SUCCESS;
  const Status status = rma::check_used(reinterpret_cast<uint64_t>(address),
                                        static_cast<uint64_t>(bytes), writes != 0, what, place);
  return status.ok() ? MPI_SUCCESS : MPI_ERR_RMA_CONFLICT;
}

FGMPI_EXTENSION int MPIX_Tool_updates() {
  FGMPI_TAKE_TURN("MPIX_Tool_updates", MPIX_Tool_updates());
  if (rma::checking()) rma::learn_of_updates();
  return MPI_SUCCESS;
}

FGMPI_EXTENSION int MPIX_Tool_update_times(const long long** times, int most) {
  FGMPI_TAKE_TURN("MPIX_Tool_update_times", MPIX_Tool_update_times(times, most));
  static_assert(sizeof(long long) == sizeof(int64_t));
  std::vector<const int64_t*> found;
  if (rma::checking()) found = rma::update_times();
  for (size_t i = 0; i < found.size() && static_cast<int>(i) < most; ++i)
    times[i] = reinterpret_cast<const long long*>(found[i]);
  return static_cast<int>(found.size());
}

FGMPI_EXTENSION int MPIX_Tool_under_way(MPI_Win handle) {
  FGMPI_TAKE_TURN("MPIX_Tool_under_way", MPIX_Tool_under_way(handle));
  rma::Win* win = rma::find(handle);
  return win && rma::checking() && rma::is_under_way(win);
}

FGMPI_EXTENSION int MPIX_Tool_copies(void (*copy)(const MPI_Comm*, MPI_Comm, int, int)) {
  FGMPI_TAKE_TURN("MPIX_Tool_copies", MPIX_Tool_copies(copy));
  comm::set_tool_copy(copy);
  return MPI_SUCCESS;
}

namespace {
MPIX_Tool_placed g_placed = nullptr;
}

FGMPI_EXTENSION int MPIX_Tool_places(void (*placed)(int, MPI_File, int, MPI_Offset)) {
  FGMPI_TAKE_TURN("MPIX_Tool_places", MPIX_Tool_places(placed));
  g_placed = placed;
  if (!placed) {
    file::set_tool_offset_handler(nullptr);
    return MPI_SUCCESS;
  }
  file::set_tool_offset_handler([](const file::File* f, bool writes, int64_t offset) {
    g_placed(f->comm->shared->map.world_of(f->comm->rank), file::handle_of(f), writes, offset);
  });
  return MPI_SUCCESS;
}

FGMPI_EXTENSION int MPIX_Tool_notify(int process, const void* data, int bytes) {
  FGMPI_TAKE_TURN("MPIX_Tool_notify", MPIX_Tool_notify(process, data, bytes));
  if (process < 0 || static_cast<uint32_t>(process) >= g_av.processes() || bytes < 0 ||
      bytes > 1000)
    return MPI_ERR_ARG;
  pt2pt::notify(static_cast<uint32_t>(process), pt2pt::kNoticeTool, 0, data,
                static_cast<size_t>(bytes));
  return MPI_SUCCESS;
}

FGMPI_EXTENSION int MPIX_Comm_keys_unique(int on) {
  FGMPI_TAKE_TURN("MPIX_Comm_keys_unique", MPIX_Comm_keys_unique(on));
  comm::set_ids_unique(on != 0);
  return MPI_SUCCESS;
}

FGMPI_EXTENSION int MPIX_Comm_map_bytes(MPI_Comm comm, void* buffer, MPI_Count capacity,
                                        MPI_Count* size) {
  FGMPI_TAKE_TURN("MPIX_Comm_map_bytes", MPIX_Comm_map_bytes(comm, buffer, capacity, size));
  constexpr const char* kCall = "MPIX_Comm_map_bytes";
  FGMPI_ENTER(kCall, c, comm);
  mpi::load_group_map(c);
  std::vector<uint8_t> bytes;
  sched::call_on_host([&] { c->shared->map.serialize(&bytes); });
  *size = static_cast<MPI_Count>(bytes.size());
  if (buffer && capacity >= *size) std::memcpy(buffer, bytes.data(), bytes.size());
  return MPI_SUCCESS;
}

FGMPI_EXTENSION const void* MPIX_Program_address(const void* address) {
  return reinterpret_cast<const void*>(
      privatize::address_in_first_image(reinterpret_cast<uintptr_t>(address)));
}
