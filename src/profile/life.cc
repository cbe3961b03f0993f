// Start and end of a process and of its ranks.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/environment.h"
#include "base/host_name.h"
#include "base/modules.h"
#include "proclet-sched/coroutine/debug_table.h"
#include "profile/recorder.h"
#include "watch/first_rank.h"

#pragma weak fgmpi_debug_table

namespace fgmpi::report {
namespace {

struct ProfileLife {
  uint64_t loaded_ns = 0;  ///< time when the process loaded this library
  findings::ByFirstRank is_started;
  bool ends = false;  ///< a rank has called MPI_Finalize
  int ended = 0;      ///< ranks that have returned from it, one after another
};
constinit ProfileLife g_life;

uint64_t real_ns() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<uint64_t>(to_ns(t));
}

/// Records a loaded file of code, so that sites can be named. Returns true where the process's file
/// has no room.
bool record_module(ProfileHeader* h, const dl_phdr_info& module) {
  const std::string path = path_of(module);
  if (path.empty()) return false;
  const Part part = make_part(sizeof(ModuleRecord) + path.size());
  if (!part) return true;
  ModuleRecord& m = *in_part<ModuleRecord>(h, part);
  const AddressRange range = range_of(module);
  m.low = range.low;
  m.high = range.high;
  m.base = module.dlpi_addr;
  m.path_bytes = static_cast<uint32_t>(path.size());
  std::memcpy(&m + 1, path.data(), path.size());
  m.next = h->modules;
  h->modules = part;
  return false;
}

/// Makes the file and maps it. The disk space of its ranks is reserved, so that a
/// store never fails.
ProfileHeader* make_file(const std::string& folder, ProfileHeader plan) {
  store_host_name(plan.host);
  const std::string path = folder + "/" + kFilePrefix + plan.host + "-" + std::to_string(getpid());
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  void* map = MAP_FAILED;
  int failed = fd < 0 ? errno : posix_fallocate(fd, 0, static_cast<off_t>(plan.parts_at));
  if (!failed && ftruncate(fd, static_cast<off_t>(plan.size)) != 0) failed = errno;
  if (!failed) {
    map = mmap(nullptr, plan.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) failed = errno;
  }
  if (failed) {
    std::fprintf(stderr, "fgmpi-report: %s: process %d is not in the report: %s\n", path.c_str(),
                 plan.process, std::strerror(failed));
    if (fd >= 0) close(fd), unlink(path.c_str());
    return nullptr;
  }
  auto* header = static_cast<ProfileHeader*>(map);
  *header = plan;
  use_file_for_parts(header, move_descriptor_up(fd));
  return header;
}

/// Maps the table of the requests' peers. Without it a wait has no known peer.
void map_peers() {
  void* map = mmap(nullptr, kRequestIndices * sizeof(int32_t), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map != MAP_FAILED) g_hot.peers = static_cast<int32_t*>(map);
}

/// Called before a deadlock is reported, and before an error of MPI ends the job.
void record_deadlock() {
  g_process.header->flags |= kDeadlock;
  sample_now();
}
void record_error_text(int, const char* text) {
  std::snprintf(g_process.header->error, sizeof g_process.header->error, "%s", text);
  g_process.header->flags |= kError;
  if (g_moving) sample_now();
}

/// Returns false where the file has no room.
bool set_up_families() {
  ProfiledProcess& p = g_process;
  FamilyRecord *world = make_family(kWorldFamily), *self = make_family(kSelfFamily);
  if (!world || !self) return false;
  world->made = g_hot.first == 0;
  world->least = world->most = p.header->world_size;
  self->least = self->most = 1;
  p.families_used = 2;
  p.family_of_key[key_of(MPI_COMM_WORLD)] = {kWorldFamily, 1};
  if (MPIX_Tool_runs) MPIX_Tool_runs(count_run);
  if (MPIX_Tool_copies) MPIX_Tool_copies(made_copy);
  MPIX_Map_info info;
  if (!MPIX_Comm_map_info || MPIX_Comm_map_info(MPI_COMM_WORLD, &info) != MPI_SUCCESS) return true;
  std::memcpy(world->model, info.model, sizeof info.model);
  world->map_bytes = info.map_bytes;
  return true;
}

}  // namespace

bool start_process() {
  const char* folder = environment::text(environment::kReportFolder);
  if (!folder || !MPIX_Tool_word || !MPIX_Tool_peer || !MPIX_Get_collocated_size) return false;
  ProfileHeader plan{};
  plan.magic = kMagic;
  plan.pid = static_cast<uint32_t>(getpid());
  plan.calls = kCallCount;
  plan.algorithms = counters::kAlgorithms;
  g_next.MPI_Comm_size(MPI_COMM_WORLD, &plan.world_size);
  MPIX_Get_collocated_size(&plan.ranks);
  MPIX_Get_collocated_startrank(&plan.first_rank);
  plan.process = MPIX_Tool_process(plan.first_rank);
  plan.processes = MPIX_Tool_process(plan.world_size - 1) + 1;
  plan.rows = static_cast<uint32_t>(
      std::clamp(kRowsInAll / std::max(plan.processes, 1), 1, std::max(plan.ranks, 1)));
  plan.memory_rows = static_cast<uint32_t>(
      std::clamp(kMemoryRowsInAll / std::max(plan.processes, 1), 1, std::max(plan.ranks, 1)));
  plan.real_ns = real_ns();
  const bool predicted = is_predicted();
  plan.start_ns = predicted ? 0 : g_life.loaded_ns;
  plan.init_ns = plan.last_ns = predicted ? 0 : time_now();
  if (&fgmpi_debug_table) {
    const sched::DebugTable& t = fgmpi_debug_table;
    plan.image_region = t.image_region;
    plan.image_stride = t.image_stride;
    plan.image_count = t.image_count;
    plan.image_first = t.image_first;
    plan.image_bytes = t.image_bytes;
    plan.program_base = t.program_base;
  }
  plan.time_unit = predicted ? 1 : g_moving ? kMovingUnit : kSampledUnit;
  plan.flags = g_moving ? kMoving : 0u;
  lay_out(&plan);
  ProfiledProcess& p = g_process;
  p.header = make_file(folder, plan);
  if (!p.header) return false;
  auto* base = reinterpret_cast<char*>(p.header);
  p.ranks = reinterpret_cast<RankRecord*>(base + kHeaderBytes);
  g_hot.first = plan.first_rank;
  g_hot.count = static_cast<unsigned>(plan.ranks);
  std::memset(g_hot.cells, 0, sizeof g_hot.cells);  // forgets calls before MPI_Init
  if (g_moving)
    g_moving->begin(p.header, p.ranks);  // handles of requests are those of ranks
  else
    map_peers();
  find_loaded_module([&](const dl_phdr_info& module) { return record_module(p.header, module); });
  if (!set_up_families()) return false;
  if (g_moving)
    g_moving->handle(record_deadlock, record_error_text);
  else if (MPIX_Tool_handlers)
    MPIX_Tool_handlers(nullptr, record_deadlock, record_error_text);
  if (!observe_prediction()) start_sampler();
  return true;
}

namespace {

[[gnu::constructor]] void loaded() {
  g_life.loaded_ns = static_cast<uint64_t>(now_ns());
  if (!dlsym(RTLD_NEXT, "PMPI_Init")) return;  // not an MPI program, or one that loads MPI later
  fill_next(&g_next, [](const char* name) { return dlsym(RTLD_NEXT, name); });
  findings::find_bindings();
  g_hot.bindings = findings::g_bindings.fortran_low;
  g_hot.bindings_bytes = findings::g_bindings.fortran_high - g_hot.bindings;
  g_hot.own = findings::g_bindings.own_low;
  g_hot.own_bytes = findings::g_bindings.own_high - g_hot.own;
  const bool known =
      &fgmpi_debug_table && fgmpi_debug_table.proclet_bytes == sizeof(sched::Proclet);
  g_moving = MovingRanks::make();
  if (known && !g_moving) g_hot.running = fgmpi_debug_table.current;
}

/// A rank of the first job has returned from MPI_Init. Spawned jobs are not tracked.
void rank_begins() {
  MPI_Comm parent = MPI_COMM_NULL;
  g_next.MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) return;
  if (!g_life.is_started(start_process)) return;
  int world = 0;
  g_next.MPI_Comm_rank(MPI_COMM_WORLD, &world);
  const int local = world - g_hot.first;
  if (local < 0 || local >= g_process.header->ranks) return;
  RankRecord* rank = g_moving ? g_moving->begin_rank(local, world) : &g_process.ranks[local];
  if (!rank) return;
  rank->flags = kStarted;
  rank->peer_unit = first_peer_unit(g_process.header->world_size);
  int level = MPI_THREAD_SINGLE;
  g_next.MPI_Query_thread(&level);
  if (level >= MPI_THREAD_SERIALIZED) g_hot.running = &HotFields::kNobody;
  if (!g_moving) *MPIX_Tool_word() = rank;
}

int begun(int result) {
  if (result == MPI_SUCCESS) rank_begins();
  return result;
}
int init(int* argc, char*** argv, const void*) { return begun(g_next.MPI_Init(argc, argv)); }
int init_thread(int* argc, char*** argv, int required, int* provided, const void*) {
  return begun(g_next.MPI_Init_thread(argc, argv, required, provided));
}

int finalize(const void* place) {
  CallScope scope(kCall_MPI_Finalize, place);
  auto* rank = static_cast<RankRecord*>(slow_word());
  if (rank) rank->ended_ns = time_now();
  if (!std::exchange(g_life.ends, true)) sample_now();
  const int result = g_next.MPI_Finalize();
  if (!rank) return result;
  rank->flags |= kEnded;
  if (g_moving) end_moving_rank(static_cast<const LiveRecord*>(rank)->world - g_hot.first);
  if (++g_life.ended == g_process.header->ranks) {
    g_process.header->flags |= kFinished;
    sample_now();
  }
  return result;
}

}  // namespace
}  // namespace fgmpi::report

using namespace fgmpi::report;

#include "watch/world_calls.inc"
