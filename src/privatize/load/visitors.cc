// Ranks that go to another process of the host, and that come from there.
#include "privatize/load/visitors.h"
#include "privatize/load/file_mappings.h"

#include <fcntl.h>
#include <fenv.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/checkpoint_link.h"
#include "base/error_line.h"
#include "base/hash.h"
#include "base/modules.h"
#include "privatize/image/images.h"
#include "privatize/image/slot_record.h"
#include "privatize/image/swap.h"
#include "privatize/internal.h"
#include "privatize/libc/children.h"
#include "privatize/libc/handlers.h"
#include "privatize/libc/output.h"
#include "privatize/libc/rank_descriptors.h"
#include "privatize/libc/rank_streams.h"
#include "privatize/load/plugins.h"
#include "privatize/load/rank_heaps.h"
#include "privatize/load/saved_ranks.h"
#include "proclet-sched/coroutine/jump.h"
#include "proclet-sched/coroutine/limits.h"
#include "proclet-sched/coroutine/stacks.h"
#include "proclet-sched/coroutine/visitors.h"
#include "proclet-sched/threads/threads.h"

#pragma weak fgmpi_checkpoint_hooks

namespace fgmpi::privatize {
namespace {

using checkpoint::MovingRank;
using checkpoint::RankSlot;
using Deliver = void(const MovingRank*, void*);

/// What the proclet of a rank waits for at home while the rank is elsewhere.
constexpr sched::WaitSite kAway{"in another process of the host", nullptr, true};

/// On the stack of a rank that moves.
struct MovingFrame {
  MovingRank rank;
  void* goes_on_at[5];
  fenv_t modes;
};

struct VisitingRank {
  uint32_t index;
  std::unique_ptr<Image> image;
  MovingRank came;  ///< the record by which it has come
};

/// Slots of another process that are mapped here.
struct MappedSlots {
  uint64_t first;
  uint32_t count;
  int file;
};

/// A rank that has left this process, as far as it is known not to have arrived yet.
struct GivenRank {
  uint64_t world_rank, departure;
};

struct RankMoves {
  uint64_t code = 0;  ///< MovingRank::code of this process
  const char* impossible = nullptr;
  std::vector<VisitingRank> visitors;
  std::vector<MappedSlots> mapped;
  std::vector<GivenRank> given;
  uint64_t departures = 0;
  /// World ranks whose slots have code and a guard here; true: they have been here.
  std::unordered_map<uint64_t, bool> prepared;
  int64_t room = 0;   ///< for so many more of them there are mappings, at least
  bool full = false;  ///< there was no room when mappings were counted last
  std::chrono::steady_clock::time_point count_again;
  std::string reason;  ///< outlives the call that returns it
  /// The rank that is leaving, when nothing of it runs any more.
  MovingRank leaving;
  Deliver* deliver = nullptr;
  void* data = nullptr;
  uint32_t index = 0;
};
/// Made when it is first used, and never destroyed: ranks may move until the process ends.
RankMoves& moves() {
  static auto* made = new RankMoves;
  return *made;
}

uint64_t hash_of_code() {
  uint64_t hash = reinterpret_cast<uint64_t>(__builtin_thread_pointer());
  for_each_loaded_module([&](const dl_phdr_info& module) {
    const std::string path = path_of(module);
    if (path.find('/') == path.npos) return;  // the kernel's own
    hash = mix(hash, hash_bytes(path.data(), path.size(), module.dlpi_addr));
  });
  return hash;
}

const char* refuse(std::string why) {
  moves().reason = std::move(why);
  return moves().reason.c_str();
}

/// nullptr, or why no rank can leave this process or come to it.
const char* reason_against_moves() {
  if (const char* reason = reason_against_saving()) return reason;
  if (slot_places().file < 0) return "ranks have no slots in files (FGMPI_BALANCE)";
  if (moves().impossible) return moves().impossible;
  if (sched::threads_enabled()) return "ranks of its process have threads";
  return nullptr;
}

bool read_folder(uint64_t* folder) {
  struct stat here;
  if (stat(".", &here) != 0) return false;
  folder[0] = here.st_dev;
  folder[1] = here.st_ino;
  return true;
}

VisitingRank* find_visitor(uint32_t index) {
  for (VisitingRank& visitor : moves().visitors)
    if (visitor.index == index) return &visitor;
  return nullptr;
}

void forget_visitor(uint32_t index) {
  sched::remove_visitor(index);
  g_images.forget_visitor(index);
  forget_slot_of_visitor(index);
  std::erase_if(moves().visitors, [&](const VisitingRank& v) { return v.index == index; });
}

// ---- Leaving ------------------------------------------------------------------------------------

/// Fills the record of the running rank. Returns nullptr, or why it must stay.
const char* describe(MovingRank* rank) {
  if (const char* reason = reason_against_moves()) return reason;
  const sched::Proclet* p = sched::running();
  if (!p || p->kind != sched::ProcletKind::kRank || sched::on_host_stack()) return "no rank runs";
  if (has_children(p)) return "it has children";
  if (has_protected_memory(p->index)) return "it has changed the protection of memory (mprotect)";
  if (in_handler()) return "it is in a handler of a signal";
  if (const char* reason = plugins::why_rank_stays(p->index)) return reason;
  if (!read_folder(rank->folder)) return "its working folder is gone";
  if (const char* reason = describe_rank(&rank->root)) return reason;
  if (const char* reason = describe_other_mapping(p->index)) return reason;
  if (const char* reason = list_descriptors(p->index, &rank->descriptors)) return reason;
  rank->root.layer = p->tool;
  rank->giver = getpid();
  rank->code = moves().code;
  return nullptr;
}

/// Gives back the memory, in the rank's slot, of a description.
void forget_description(MovingRank* rank) {
  std::free(rank->root.actions);
  std::free(rank->root.lines);
  std::free(rank->descriptors);
  rank->root.actions = rank->root.lines = rank->descriptors = nullptr;
}

/// The last thing that runs of a rank that leaves, on the host stack.
void finish_leaving(void*) {
  RankMoves& all = moves();
  sched::Proclet* const p = sched::rank_proclet(all.index);
  if (sched::is_visitor(p))
    forget_visitor(all.index);
  else
    p->image = nullptr;  // its helpers here leave its thread-local variables to the rank
  all.deliver(&all.leaving, all.data);
}

[[noreturn]] void leave(MovingRank* rank, Deliver* deliver, void* data) {
  const sched::Proclet* p = sched::running();
  auto* image = static_cast<Image*>(p->image);
  RankMoves& all = moves();
  rank->signals = let_handlers_leave();
  all.leaving = *rank;
  all.leaving.departure = ++all.departures;
  all.given.push_back({rank->world_rank, all.departures});
  all.deliver = deliver;
  all.data = data;
  all.index = p->index;
  store_loaded_areas();
  forget_loaded_areas(image);
  drop_output();
  unlink_streams(image->record);
  sched::depart(&kAway, finish_leaving, nullptr);
}

/// Saves the frames of the rank and leaves; returns in the other process. A function of its own, of
/// which nothing is in registers that the other process does not have.
[[gnu::noinline]] const char* give(Deliver* deliver, void* data) {
  MovingFrame frame = {};
  frame.rank.saved_errno = errno;
  if (const char* reason = describe(&frame.rank)) {
    forget_description(&frame.rank);
    return reason;
  }
  static_cast<RankSlot&>(frame.rank) = slot_of_running_rank();
  fegetenv(&frame.modes);
  if (__builtin_setjmp(frame.goes_on_at) == 0) {
    constexpr size_t kRedZone = 256;
    frame.rank.frame = &frame;
    frame.rank.root.stack = static_cast<char*>(frame.goes_on_at[2]) - kRedZone;
    leave(&frame.rank, deliver, data);
  }
  fesetenv(&frame.modes);
  return nullptr;
}

// ---- Coming -------------------------------------------------------------------------------------

/// nullptr, or why a rank of another process cannot go on here.
const char* reason_against(const MovingRank& rank) {
  if (const char* reason = reason_against_moves()) return reason;
  if (rank.code != moves().code)
    return "the process has its code at other addresses than the one that the rank has left";
  uint64_t folder[2] = {};
  if (!read_folder(folder) || !std::equal(folder, folder + 2, rank.folder))
    return "the process has another working folder than the one that the rank has left";
  if (rank.root.areas_bytes != swapped_bytes())
    return "the process has thread-local variables of another size";
  return nullptr;
}

/// Are there mappings for one more slot? Counts all mappings of the process now and then: the
/// program and libraries make some, too.
bool has_room_for_slot() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kCountAgain(100);
  constexpr int kCostShare = 50;  // a count of many mappings takes long: at most 2 % of the time
  constexpr int64_t kMostUncounted = 256;
  // The guard, stack, image and heap of a slot are mappings of their own.
  const int64_t each = 4 + static_cast<int64_t>(g_images.mappings_per_image());
  RankMoves& all = moves();
  const Clock::time_point now = Clock::now();
  if (now >= all.count_again || (all.room == 0 && !all.full)) {
    const int64_t most = sched::max_map_count() - sched::max_map_count() / 8;
    const int64_t left = most - sched::mappings_in_use() - sched::promised_mappings();
    all.room = std::clamp<int64_t>(left / each, 0, kMostUncounted);
    all.full = all.room == 0;
    const Clock::time_point end = Clock::now();
    all.count_again = end + std::max<Clock::duration>(kCountAgain, kCostShare * (end - now));
  }
  if (all.room == 0) return false;
  --all.room;
  return true;
}

/// Maps the slots of the rank's home, unless they are mapped.
const char* map_home(const RankSlot& rank) {
  const auto is_home = [&](const MappedSlots& slots) { return slots.first == rank.home_first; };
  if (std::any_of(moves().mapped.begin(), moves().mapped.end(), is_home)) return nullptr;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", rank.home, rank.file);
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return refuse(std::string(path) + ": " + std::strerror(errno));
  const bool mapped = map_slots_of_process(file, rank.home_first, rank.home_count);
  const int failed = errno;
  if (!mapped) {
    close(file);
    return refuse(std::string("mmap of slots: ") + std::strerror(failed));
  }
  moves().mapped.push_back({rank.home_first, rank.home_count, file});
  return nullptr;
}

bool is_own(uint64_t world_rank) { return world_rank - first_world_rank() < g_program.ranks; }

char* slot_of_world_rank(uint64_t world_rank) {
  const auto here = static_cast<int64_t>(world_rank) - static_cast<int64_t>(first_world_rank());
  return slot_places().slots + here * static_cast<int64_t>(slot_places().stride);
}

/// Makes the proclet and the image of a rank whose home is another process.
const char* make_visitor(const MovingRank& rank, uint32_t* index) {
  if (const char* reason = prepare_visit(rank)) return reason;
  RankMoves& all = moves();
  const heap::SlotPlaces& places = slot_places();
  char* const slot = slot_of_world_rank(rank.world_rank);
  const uintptr_t image = reinterpret_cast<uintptr_t>(slot) + places.images;
  bool& has_been_here = all.prepared.at(rank.world_rank);
  const Status added =
      sched::add_visitor({slot, places.stride, places.stacks_end, slot_record_bytes(),
                          static_cast<uint32_t>(rank.world_rank), 0, true},
                         !has_been_here, index);
  if (!added.ok()) return refuse(added.what());
  has_been_here = true;
  add_slot_of_visitor(*index, rank.world_rank);
  g_images.add_visitor(*index, image);
  auto made = std::make_unique<Image>();
  made->index = *index;
  all.visitors.push_back({*index, std::move(made), rank});
  return nullptr;
}

/// Goes on in fgmpi_give_rank(). A function of its own, as __builtin_longjmp() demands.
[[noreturn, gnu::noinline]] void resume(MovingFrame* frame) {
  __builtin_longjmp(frame->goes_on_at, 1);
}

/// Runs at first on the stack of a rank that has come, below its frames.
void go_on(void* argument) {
  auto* frame = static_cast<MovingFrame*>(argument);
  let_handlers_come(frame->rank.signals, frame->rank.root.actions);
  forget_description(&frame->rank);
  errno = frame->rank.saved_errno;
  resume(frame);
}

}  // namespace

void prepare_for_visitors() {
  follow_signals_of_moved_ranks();
  moves().code = hash_of_code();
  const int now = personality(0xffffffff);
  if (now < 0 || !(now & ADDR_NO_RANDOMIZE)) moves().impossible = "addresses are random";
}

RankSlot slot_of_running_rank() {
  const sched::Proclet* p = sched::running();
  if (const VisitingRank* visitor = find_visitor(p->index)) return visitor->came;
  return {p->slot, getpid(), slot_places().file, first_world_rank(), g_program.ranks};
}

const char* prepare_visit(const RankSlot& rank) {
  if (is_own(rank.world_rank) || moves().prepared.count(rank.world_rank)) return nullptr;
  if (!has_room_for_slot()) return "the process has no more mappings left (vm.max_map_count)";
  if (const char* reason = map_home(rank)) return reason;
  char* const slot = slot_of_world_rank(rank.world_rank);
  const Status mapped = g_images.map_code(reinterpret_cast<uintptr_t>(slot) + slot_places().images);
  if (!mapped.ok()) return refuse(mapped.what());
  if (mprotect(slot, sched::guard_bytes(), PROT_NONE) != 0)
    return refuse(std::string("mprotect of a guard: ") + std::strerror(errno));
  // What was mapped before one of these failed stays, and is mapped again at the next try.
  moves().prepared.emplace(rank.world_rank, false);
  return nullptr;
}

Image* image_of_visitor(uint32_t index) {
  const VisitingRank* visitor = find_visitor(index);
  return visitor ? visitor->image.get() : nullptr;
}

bool find_slot_in_file(const sched::Proclet* rank, SlotInFile* out) {
  const heap::SlotPlaces& places = slot_places();
  if (!rank || rank->kind != sched::ProcletKind::kRank || !has_slot_in_file(rank->index))
    return false;
  out->at = slot_of_rank(rank->index);
  out->bytes = places.stride;
  out->file = places.file;
  uint64_t first = first_world_rank();
  for (const MappedSlots& other : moves().mapped)
    if (rank->slot - other.first < other.count) {
      out->file = other.file;
      first = other.first;
    }
  out->offset = (rank->slot - first) * places.stride;
  return out->at != nullptr;
}

namespace {

bool is_visitor_running() {
  const sched::Proclet* p = sched::running();
  return p && sched::is_visitor(p);
}

/// Brings the running rank home, if it can go; else says what keeps it. Changes no errno.
const char* reason_not_to_be_home() {
  if (!on_scheduler_thread() || !on_proclet() || !is_visitor_running()) return nullptr;
  const auto* hooks = &fgmpi_checkpoint_hooks ? fgmpi_checkpoint_hooks() : nullptr;
  if (!hooks || !hooks->try_to_go_home) return nullptr;  // a test gives ranks by itself
  const int error = errno;
  const char* reason = fgmpi_why_rank_stays();
  if (!reason) reason = hooks->try_to_go_home();
  errno = error;
  return reason;
}

}  // namespace

bool bring_home(const char* for_what) {
  const char* reason = reason_not_to_be_home();
  if (!reason) return true;
  const int error = errno;
  write_error_line(
      "rank " + std::to_string(sched::running()->slot) + ": " + for_what +
      " is refused in a process that is not its home, to which it cannot go: " + reason);
  errno = error;
  return false;
}

void try_to_bring_home() { reason_not_to_be_home(); }

void take_home_to_end(int status) {
  if (!is_visitor_running()) return;
  const auto* hooks = &fgmpi_checkpoint_hooks ? fgmpi_checkpoint_hooks() : nullptr;
  if (hooks && hooks->go_home_to_end) hooks->go_home_to_end();
  if (!is_visitor_running()) return;
  write_error_line("rank " + std::to_string(sched::running()->slot) +
                   " has ended in a process that is not its home");
  end_process(status == 0 ? 1 : status);
}

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;
using fgmpi::checkpoint::MovingRank;

const char* fgmpi_why_rank_stays() {
  MovingRank unused;
  const char* reason = describe(&unused);
  forget_description(&unused);
  return reason;
}

const char* fgmpi_give_rank(void (*deliver)(const MovingRank* rank, void* data), void* data) {
  return give(deliver, data);
}

const char* fgmpi_take_rank(const MovingRank* rank, uint32_t* index) {
  if (const char* reason = reason_against(*rank)) return reason;
  const bool comes_home = is_own(rank->world_rank);
  *index = static_cast<uint32_t>(rank->world_rank - first_world_rank());
  if (!comes_home)
    if (const char* reason = make_visitor(*rank, index)) return reason;
  if (const char* reason = fetch_descriptors(*index, rank->descriptors, rank->giver)) {
    if (!comes_home) forget_visitor(*index);
    return reason;
  }
  std::erase_if(moves().given,
                [rank](const GivenRank& given) { return given.world_rank == rank->world_rank; });
  fgmpi::sched::Proclet* p = adopt_rank(*index, rank->root);
  p->wait = nullptr;
  fgmpi::sched::begin_below(p, static_cast<char*>(rank->root.stack), go_on, rank->frame);
  fgmpi::sched::ready(p);
  return nullptr;
}

void fgmpi_rank_has_arrived(const MovingRank* rank) {
  // A rank that has come back since then uses its descriptors, or lets another process take them.
  const size_t erased = std::erase_if(moves().given, [rank](const GivenRank& given) {
    return given.world_rank == rank->world_rank && given.departure == rank->departure;
  });
  if (erased) close_descriptors_of(rank->world_rank);
}
