// Compares accesses to windows that this process can see, and reports conflicts.

#include "rma/check.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/count_words.h"
#include "base/settings.h"
#include "base/strings.h"
#include "comm/extras.h"
#include "rma/access_table.h"
#include "rma/check_message.h"
#include "rma/internal.h"
#include "rma/layout.h"

namespace fgmpi::rma {

namespace detail {
constinit bool g_checking = false, g_observing = false;
}

namespace {

/// FGMPI_RMA_CHECK, in the order of the table of settings.
enum class CheckSetting : uint8_t { kOff, kOn, kError };
static_assert(settings::has_choices(settings::kRmaCheck, "off|on|error"));
bool g_fails = false;
ConflictObserver g_observer = {nullptr, nullptr};

/// The place of the running call, as the observer returns it.
uint64_t place() { return g_observer.place ? g_observer.place() : 0; }

// ---- The order of events, as far as a tool knows it ---------------------------------------------

/// A time after all others, for a rank of which nothing is known any more.
constexpr int64_t kForEver = INT64_MAX;

bool follows_order() { return g_observer.ordered != nullptr; }
void learn(int64_t time) {
  if (follows_order() && time != 0) g_observer.learn(time);
}
OrderStamp stamp_now(bool fresh) {
  OrderStamp stamp{};
  if (follows_order()) g_observer.stamp(&stamp, fresh);
  return stamp;
}

}  // namespace

namespace {

/// Origin memory of an operation that is not complete at its origin.
struct PendingOrigin {
  uint64_t high;
  bool written;  ///< by the operation
  int32_t target;
  const char* call;
  uint64_t place;
  const Win* win;
};
/// Pending memory of all members in this process, by the first byte.
using PendingMemory = std::multimap<uint64_t, PendingOrigin>;
PendingMemory& pending_memory() {
  static auto* all = new PendingMemory;
  return *all;
}
/// The most bytes of an entry.
uint64_t g_longest_pending = 0;

/// What is stored about a member while accesses are checked.
struct CheckedMember {
  uint32_t phase = 0;
  uint64_t operations = 0;
  std::map<int32_t, uint64_t> targets;  ///< with records of epochs of locks: the last one's number
  std::vector<int32_t> reads;   ///< targets that were read since the last flush, with a tool
  std::set<int32_t> have_read;  ///< those that were read before that
  std::vector<PendingMemory::iterator> pending;
};
std::unordered_map<const Win*, CheckedMember>& members() {
  static auto* all = new std::unordered_map<const Win*, CheckedMember>;
  return *all;
}

uint32_t local_of(const Win* win) { return win->comm->peer(win->comm->rank).local; }

/// The windows of each rank of this process, by its local index.
std::unordered_map<uint32_t, std::vector<Win*>>& windows_of_ranks() {
  static auto* all = new std::unordered_map<uint32_t, std::vector<Win*>>;
  return *all;
}

const char* verb_of(MemoryUse use) {
  switch (use) {
    case MemoryUse::kRead:
      return "reads";
    case MemoryUse::kWrite:
      return "writes";
    case MemoryUse::kNoUpdates:
      return "forbids changes of";
    default:
      return "accumulates into";
  }
}

std::string words_of_window(const Win* win) {
  const auto handle = static_cast<unsigned>(win->handle);
  if (win->comm->extras && !win->comm->extras->name.empty())
    return format("window \"%s\" (0x%08x)", win->comm->extras->name.c_str(), handle);
  return format("window 0x%08x", handle);
}

/// Reports conflicts; those of the same words only once.
Status report(const std::string& words) {
  constexpr size_t kMostReports = 100;
  if (g_fails) return error(MPI_ERR_RMA_CONFLICT, "%s", words.c_str());
  static auto* reported = new std::set<std::string>;
  if (reported->size() > kMostReports || !reported->insert(words).second) return {};
  if (reported->size() <= kMostReports)
    std::fprintf(stderr, "fgmpi: conflicting accesses: %s\n", words.c_str());
  else
    std::fprintf(stderr, "fgmpi: conflicting accesses: more than %zu, the others are not listed\n",
                 kMostReports);
  return {};
}

/// "MPI_Get of rank 2 reads".
std::string words_of(const AccessRecord& r) {
  return format("%s of rank %d %s", r.call, r.origin, verb_of(r.use));
}

int32_t world_of(const Win* win, int32_t rank) { return win->comm->shared->map.world_of(rank); }

/// True where the running rank may know that a complete access comes before its own.
bool is_ordered(const Win* win, const AccessRecord& r) {
  return !follows_order() || r.origin == win->comm->rank ||
         g_observer.ordered(world_of(win, r.origin), r.stamp, r.done);
}

Observed observed(const Win* win, const AccessRecord& r, int32_t target) {
  return {r.call, verb_of(r.use), world_of(win, r.origin), world_of(win, target), r.place};
}

Status report_conflict(const Win* win, const AccessRecord& first, const AccessRecord& second,
                       uint64_t base, int32_t target) {
  const uint64_t low = std::max(first.low, second.low) - base;
  const uint64_t high = std::min(first.high, second.high) - base - 1;
  const bool addresses = win->shared->flavor == MPI_WIN_FLAVOR_DYNAMIC;
  const std::string range =
      addresses ? format("bytes 0x%llx to 0x%llx", static_cast<unsigned long long>(low),
                         static_cast<unsigned long long>(high))
                : format("bytes %llu to %llu", static_cast<unsigned long long>(low),
                         static_cast<unsigned long long>(high));
  if (g_observer.conflict && !g_fails) {
    g_observer.conflict(observed(win, second, target), observed(win, first, target), range.c_str());
    return {};
  }
  return report(words_of(second) + " " + range + format(" of rank %d in ", target) +
                words_of_window(win) + ", which " + words_of(first) + " in the same epoch");
}

/// The runs of `count` elements at `start`; runs that touch become one.
AddressRuns runs_of(const TypeTree& tree, int64_t count, uint64_t start) {
  AddressRuns runs;
  datatype::for_each_run(tree, count, [&](int64_t offset, int64_t bytes) {
    const uint64_t low = start + static_cast<uint64_t>(offset);
    if (!runs.empty() && runs.back().high == low)
      runs.back().high += static_cast<uint64_t>(bytes);
    else
      runs.push_back({low, low + static_cast<uint64_t>(bytes)});
  });
  return runs;
}

/// The runs of elements that an MPI call received as an argument.
Status runs_of(const void* address, int64_t count, const datatype::Type& type, AddressRuns* out) {
  out->clear();
  if (count <= 0 || type.size() == 0) return {};
  *out = runs_of(type.tree(), count, reinterpret_cast<uint64_t>(address));
  return {};
}

EpochKind kind_of(Epoch epoch) {
  return epoch == Epoch::kStart                              ? EpochKind::kStart
         : epoch == Epoch::kFence || epoch == Epoch::kFenced ? EpochKind::kFence
                                                             : EpochKind::kPassive;
}

/// The difference of an address in this process and of the address by which the owner numbers that
/// byte.
uint64_t numbering(const SharedWin& shared) {
  return shared.flavor == MPI_WIN_FLAVOR_SHARED ? reinterpret_cast<uint64_t>(shared.common.base())
                                                : 0;
}

/// Checks an access by the running rank to the bytes of a member's memory that lie in `runs`. Fills
/// in the record's member and origin.
Status check_exposed(Win* win, WindowPart* part, uint32_t member, const AddressRuns& runs,
                     AccessRecord mine, bool keeps) {
  SharedWin& shared = *win->shared;
  if (member == ~0u || !part->table) return {};
  const bool dynamic = shared.flavor == MPI_WIN_FLAVOR_DYNAMIC;
  const uint64_t base = dynamic ? 0 : static_cast<uint64_t>(part->bases[member]);
  const uint64_t end = dynamic ? UINT64_MAX : base + static_cast<uint64_t>(part->sizes[member]);
  const uint64_t shift = numbering(shared);
  AddressRuns within;
  for (auto [low, high] : runs) {
    low = std::max(low - shift, base);
    high = std::min(high - shift, end);
    if (low < high && (!dynamic || is_attached(shared, member, low, high - low)))
      within.push_back({low, high});
  }
  if (within.empty()) return {};
  mine.phase = members()[win].phase;
  mine.origin = win->comm->rank;
  mine.member = member;
  std::vector<Conflict> found;
  part->table->enter(mine, within, keeps, !g_fails, AccessTable::kMost, &found, {is_ordered, win});
  for (const auto& [first, second] : found)
    FGMPI_TRY(report_conflict(win, first, second, base, static_cast<int32_t>(part->ranks[member])));
  return {};
}

uint32_t own_member(Win* win) { return win->shared->own().locals.find(local_of(win)); }

/// Checks an access by the running rank to its own memory.
Status check_exposed(Win* win, const AddressRuns& runs, const AccessRecord& mine, bool keeps) {
  return check_exposed(win, &win->shared->own(), own_member(win), runs, mine, keeps);
}

/// Calls f(part) for each part whose memory the running rank's program has in its address space.
template <class F>
void for_each_mapped(Win* win, F&& f) {
  SharedWin& shared = *win->shared;
  if (shared.flavor != MPI_WIN_FLAVOR_SHARED) return f(shared.own());
  for (WindowPart& part : shared.parts) f(part);
}

/// Checks an access to memory of any member that the program has in its address space.
Status check_mapped(Win* win, const AddressRuns& runs, const AccessRecord& mine, bool keeps) {
  FGMPI_TRY(check_exposed(win, runs, mine, keeps));
  SharedWin& shared = *win->shared;
  if (shared.flavor != MPI_WIN_FLAVOR_SHARED) return {};
  const uint64_t shift = numbering(shared);
  AccessRecord there = mine;
  there.exposed = false;  // it says so of the rank's own memory
  const uint32_t own = own_member(win);
  for (WindowPart& part : shared.parts) {
    for (uint32_t m = 0; m < part.ranks.size(); ++m) {
      if (&part == &shared.own() && m == own) continue;
      const auto base = static_cast<uint64_t>(part.bases[m]) + shift,
                 end = base + static_cast<uint64_t>(part.sizes[m]);
      const bool meets = std::any_of(runs.begin(), runs.end(), [&](const AddressRun& run) {
        return run.low < end && base < run.high;
      });
      if (!meets) continue;
      reach_of(win, static_cast<int32_t>(part.ranks[m]));  // the table is known from then on
      FGMPI_TRY(check_exposed(win, &part, m, runs, there, keeps));
    }
  }
  return {};
}

AccessRecord record_of(bool writes, EpochKind kind, uint64_t place, const char* call) {
  AccessRecord record{};
  record.use = writes ? MemoryUse::kWrite : MemoryUse::kRead;
  record.kind = kind;
  record.place = place;
  std::snprintf(record.call, sizeof record.call, "%s", call);
  return record;
}

/// Reports that a call uses bytes from `low` up to `high`, which are origin memory of an operation
/// that is not complete.
Status report_pending(const PendingOrigin& p, uint64_t low, uint64_t high, bool writes,
                      const char* call) {
  const Win* win = p.win;
  if (g_observer.conflict && !g_fails) {
    const int32_t me = world_of(win, win->comm->rank), target = world_of(win, p.target);
    g_observer.conflict({call, writes ? "writes" : "reads", me, target, place()},
                        {p.call, p.written ? "writes" : "reads", me, target, p.place}, nullptr);
    return {};
  }
  return report(
      format("%s %s %s at 0x%llx, which %s of rank %d to rank %d %s (%s) and which is not "
             "complete",
             call, writes ? "writes" : "reads",
             count_words(static_cast<uint64_t>(high - low), "byte").c_str(),
             static_cast<unsigned long long>(low), p.call, win->comm->rank, p.target,
             p.written ? "writes" : "reads", words_of_window(win).c_str()));
}

/// Compares bytes with the origin memory of operations that are not complete.
Status compare_with_origins(const AddressRuns& runs, bool writes, const char* call) {
  const PendingMemory& all = pending_memory();
  std::vector<const PendingOrigin*> reported;
  for (const auto& [low, high] : runs) {
    const uint64_t first = low - std::min(low, g_longest_pending);
    for (auto at = all.lower_bound(first); at != all.end() && at->first < high; ++at) {
      const PendingOrigin& p = at->second;
      if (low >= p.high || (!writes && !p.written) ||
          std::find(reported.begin(), reported.end(), &p) != reported.end())
        continue;
      reported.push_back(&p);
      FGMPI_TRY(report_pending(p, std::max(low, at->first), std::min(high, p.high), writes, call));
    }
  }
  return {};
}

/// Calls f(win) for each window of the running rank.
template <class F>
Status for_each_window(F&& f) {
  const auto mine = windows_of_ranks().find(comm::rank_state()->local);
  if (mine == windows_of_ranks().end()) return {};
  for (Win* win : mine->second) FGMPI_TRY(f(win));
  return {};
}

/// A call of the owner on its memory, complete now.
AccessRecord record_of_call(bool writes, uint64_t place, const char* call, bool fresh) {
  AccessRecord record = record_of(writes, EpochKind::kLocal, place, call);
  record.stamp = stamp_now(fresh);
  record.done = stamp_ns();
  return record;
}

/// May bytes from `low` up to `high` lie in the running rank's memory in the window?
bool may_meet(Win* win, uint64_t low, uint64_t high) {
  const SharedWin& shared = *win->shared;
  if (shared.flavor == MPI_WIN_FLAVOR_DYNAMIC) return true;
  const uint32_t member = own_member(win);
  if (member == ~0u) return false;
  const WindowPart& own = win->shared->own();
  const uint64_t first = static_cast<uint64_t>(own.bases[member]) + numbering(shared);
  return low < first + static_cast<uint64_t>(own.sizes[member]) && first < high;
}

/// May these elements lie in memory that is compared: most buffers of calls are elsewhere.
bool may_be_checked(const void* address, int64_t count, const datatype::Type& type) {
  if (count <= 0 || type.size() == 0) return false;
  const auto mine = windows_of_ranks().find(comm::rank_state()->local);
  if (!pending_memory().empty()) return true;
  if (mine == windows_of_ranks().end()) return false;
  const int64_t last = (count - 1) * type.extent();
  const uint64_t at = reinterpret_cast<uint64_t>(address) + static_cast<uint64_t>(type.true_lb());
  const uint64_t low = at + static_cast<uint64_t>(std::min<int64_t>(last, 0));
  const uint64_t high = at + static_cast<uint64_t>(std::max<int64_t>(last, 0) + type.true_extent());
  return std::any_of(mine->second.begin(), mine->second.end(),
                     [&](Win* win) { return may_meet(win, low, high); });
}

/// Checks memory of a call, or of an operation of the window `of`, before MPI uses it.
Status check_runs(const AddressRuns& runs, bool writes, const char* call, const Win* of = nullptr) {
  if (runs.empty()) return {};
  FGMPI_TRY(compare_with_origins(runs, writes, call));
  uint64_t low = runs[0].low, high = runs[0].high;
  for (const AddressRun& run : runs) {
    low = std::min(low, run.low);
    high = std::max(high, run.high);
  }
  return for_each_window([&](Win* win) -> Status {
    if (!may_meet(win, low, high)) return {};
    if (!follows_order())
      return check_exposed(win, runs, record_of(writes, EpochKind::kPassive, place(), call), false);
    if (win == of) return {};
    // What a call writes is entered when the call is complete (check_used()).
    AccessRecord record = record_of_call(writes, place(), call, false);
    record.seen = writes;
    return check_exposed(win, runs, record, !writes);
  });
}

/// Enters memory of the caller itself in the window, which the operation uses as its origin.
Status check_own_origin(Win* win, const AddressRuns& runs, bool writes, const AccessRecord& of,
                        int32_t target) {
  if (runs.empty() || !follows_order()) return {};
  AccessRecord record = record_of(writes, of.kind, of.place, of.call);
  record.origin_of = target + 1;
  return check_exposed(win, runs, record, true);
}

/// Adds an entry. Bytes that touch an entry that is alike widen that entry instead.
void add_pending(CheckedMember* member, uint64_t low, PendingOrigin added) {
  PendingMemory& all = pending_memory();
  auto same = [&](PendingMemory::iterator old) {
    const PendingOrigin& p = old->second;
    return touch({old->first, p.high}, {low, added.high}) && p.written == added.written &&
           p.target == added.target && p.call == added.call && p.place == added.place;
  };
  std::vector<PendingMemory::iterator>& mine = member->pending;
  if (auto old = std::find_if(mine.rbegin(), mine.rend(), same); old != mine.rend()) {
    low = std::min(low, (*old)->first);
    added.high = std::max(added.high, (*old)->second.high);
    all.erase(*old);
    *old = all.emplace(low, added);
  } else {
    mine.push_back(all.emplace(low, added));
  }
  g_longest_pending = std::max(g_longest_pending, added.high - low);
}

void end_pending(CheckedMember* member, int32_t target) {
  std::erase_if(member->pending, [&](PendingMemory::iterator at) {
    if (target >= 0 && at->second.target != target) return false;
    pending_memory().erase(at);
    return true;
  });
  if (pending_memory().empty()) g_longest_pending = 0;
}

/// Ends the records of the member's own memory for which `over` is true.
template <class F>
void end_own_records(Win* win, F&& over) {
  WindowPart& own = win->shared->own();
  if (!own.table) return;
  const uint32_t member = own_member(win);
  own.table->erase_if([&](const AccessRecord& r) { return r.member == member && over(r); });
}

/// Ends the member's accesses to `target` by epochs of locks. May switch.
void end_passive(Win* win, int32_t target) {
  const Reach reach = reach_of(win, target);
  if (!reach.part->table) return end_far(win, target);
  const int32_t me = win->comm->rank;
  auto ended = [&](const AccessRecord& r) {
    return r.kind == EpochKind::kPassive && r.origin == me && r.member == reach.member &&
           !r.origin_of && !r.done;
  };
  if (!follows_order()) return reach.part->table->erase_if(ended);
  reach.part->table->finish_if(stamp_now(true), stamp_ns(), ended);
}

/// Ends the records of the member's own memory that operations to `rank`, or to all (-1), used.
void end_own_origins(Win* win, int32_t rank) {
  if (!follows_order()) return;
  const int32_t me = win->comm->rank;
  end_own_records(win, [&](const AccessRecord& r) {
    return r.origin_of && r.origin == me && (rank < 0 || r.origin_of == rank + 1);
  });
}

/// The operations that read `rank`, or all (-1), are complete: the member may have found there what
/// others have done. May switch.
void learn_from_reads(Win* win, CheckedMember* member, int32_t rank) {
  int64_t latest = 0;
  std::erase_if(member->reads, [&](int32_t target) {
    if (rank >= 0 && target != rank) return false;
    member->have_read.insert(target);
    const Reach& reach = reach_of(win, target);
    latest =
        std::max(latest, reach.part->table ? reach.part->table->updated(reach.member) : stamp_ns());
    return true;
  });
  learn(latest);
}

/// The member has completed reads of that memory. It may have found what the target has stored
/// there, also what the target has not reported yet.
bool has_read(const Win* win, int32_t rank) { return members()[win].have_read.contains(rank); }

/// Compares an access, and adds it to its table where `keeps` is set. May switch.
Status enter(Win* win, int32_t rank, const AccessRecord& record, const AddressRuns& runs,
             bool keeps) {
  const Reach reach = reach_of(win, rank);
  std::vector<Conflict> found;
  if (AccessTable* table = reach.part->table) {
    learn(table->released(true));
    if (has_read(win, rank)) learn(table->stored(reach.member));
    table->enter(record, runs, keeps, !g_fails, AccessTable::kMost, &found, {is_ordered, win});
  } else {
    enter_far(win, rank, record, runs, keeps, !g_fails, &found);
  }
  for (const auto& [first, second] : found)
    FGMPI_TRY(report_conflict(win, first, second, static_cast<uint64_t>(reach.base), rank));
  return {};
}

}  // namespace

bool start_checking() {
  const auto setting = settings::choice<CheckSetting>(settings::kRmaCheck);
  g_fails = setting == CheckSetting::kError;
  return detail::g_checking = setting != CheckSetting::kOff;
}

void set_observer(const ConflictObserver& observer) { g_observer = observer; }

bool start_observing() {
  if (!g_observer.place || checking()) return false;
  return detail::g_observing = detail::g_checking = true;
}

Status check_operation(Win* win, const Reach& reach, const RmaOperation& what, MemoryUse use,
                       int64_t offset, const datatype::Type& target_type) {
  CheckedMember& member = members()[win];
  AddressRuns target, origin, result;
  const TypeTree& tree = target_type.tree();
  target = runs_of(tree, what.target.count, static_cast<uint64_t>(reach.base + offset));
  if (target.empty()) return {};
  // Origin memory: an operation writes there only as a get, or the result of a fetch.
  datatype::Type type;
  if (what.origin.address && what.op != MPI_NO_OP) {
    FGMPI_TRY(datatype::Type::of(what.origin.type, &type));
    FGMPI_TRY(runs_of(what.origin.address, what.origin.count, type, &origin));
  }
  const Elements& sink = use == MemoryUse::kRead ? what.origin : what.result;
  if (sink.address) {
    FGMPI_TRY(datatype::Type::of(sink.type, &type));
    FGMPI_TRY(runs_of(sink.address, sink.count, type, &result));
  }
  learn_of_updates();
  FGMPI_TRY(check_runs(origin, false, what.call, win));
  FGMPI_TRY(check_runs(result, true, what.call, win));

  AccessRecord record{};
  record.phase = member.phase;
  record.origin = win->comm->rank;
  record.member = reach.member;
  record.use = use;
  record.kind = kind_of(win->access->epoch);
  record.op = what.op;
  record.element = tree.element;
  record.place = place();
  std::snprintf(record.call, sizeof record.call, "%s", what.call);
  const bool keeps = !what.request || use != MemoryUse::kRead;
  FGMPI_TRY(enter(win, what.rank, record, target, keeps));
  if (keeps && record.kind == EpochKind::kPassive) member.targets[what.rank] = ++member.operations;
  if (sink.address && follows_order()) {
    if (what.request) learn(kForEver);
    if (std::find(member.reads.begin(), member.reads.end(), what.rank) == member.reads.end())
      member.reads.push_back(what.rank);
  }
  if (what.request) return {};
  FGMPI_TRY(check_own_origin(win, origin, false, record, what.rank));
  FGMPI_TRY(check_own_origin(win, result, true, record, what.rank));
  for (const auto& [low, high] : origin)
    add_pending(&member, low, {high, false, what.rank, what.call, record.place, win});
  for (const auto& [low, high] : result)
    add_pending(&member, low, {high, true, what.rank, what.call, record.place, win});
  return {};
}

Status check_local(const void* address, int64_t count, const datatype::Type& type, bool writes,
                   const char* call) {
  if (!may_be_checked(address, count, type)) return {};
  AddressRuns runs;
  FGMPI_TRY(runs_of(address, count, type, &runs));
  return check_runs(runs, writes, call);
}

Status check_program(Win* win, uint64_t address, uint64_t bytes, bool writes, const char* call,
                     uint64_t place, bool keeps) {
  if (!keeps)
    for_each_mapped(win, [&](WindowPart& part) {
      if (part.table && part.table->size() > 0)
        part.table->erase_if([&](const AccessRecord& r) {
          return r.kind == EpochKind::kProgram && r.origin == win->comm->rank;
        });
    });
  if (bytes == 0) return {};
  AccessRecord record = record_of(writes, EpochKind::kProgram, place, call);
  record.exposed = win->access && win->access->exposed;
  return check_mapped(win, {{address, address + bytes}}, record, keeps);
}

Status check_program_now(Win* win, uint64_t address, uint64_t bytes, bool reads, bool writes,
                         const char* call, uint64_t place) {
  for (const bool write : {false, true})
    if (write ? writes : reads)
      FGMPI_TRY(check_mapped(win, {{address, address + bytes}},
                             record_of(write, EpochKind::kAtOnce, place, call), false));
  return {};
}

bool is_under_way(Win* win) {
  const bool others = win->shared->flavor == MPI_WIN_FLAVOR_SHARED;
  const uint32_t member = own_member(win);
  bool any = false;
  for_each_mapped(win, [&](WindowPart& part) {
    if (any || !part.table || part.table->size() == 0) return;
    any = part.table->any_of([&](const AccessRecord& r) {
      return r.kind == EpochKind::kPassive && !r.done && !r.origin_of &&
             (others || r.member == member);
    });
  });
  return any;
}

Status check_used(uint64_t address, uint64_t bytes, bool writes, const char* call, uint64_t place) {
  AccessRecord record = record_of_call(writes, place, call, true);
  record.exposed = std::strncmp(call, "MPI", 3) != 0;
  return for_each_window([&](Win* win) {
    return check_exposed(win, {{address, address + bytes}}, record, true);
  });
}

std::vector<const int64_t*> update_times() {
  std::vector<const int64_t*> times;
  const auto mine = windows_of_ranks().find(comm::rank_state()->local);
  if (!follows_order() || mine == windows_of_ranks().end()) return times;
  for (Win* win : mine->second)
    if (const AccessTable* table = win->shared->own().table)
      times.push_back(table->update_time(own_member(win)));
  return times;
}

void learn_of_updates() {
  const auto mine = windows_of_ranks().find(comm::rank_state()->local);
  if (!follows_order() || mine == windows_of_ranks().end()) return;
  int64_t latest = 0;
  for (Win* win : mine->second)
    if (const AccessTable* table = win->shared->own().table)
      latest = std::max(latest, table->updated(own_member(win)));
  learn(latest);
}

namespace {

/// The program asserts that nobody updates the member's memory in the epoch that begins.
Status forbid_updates(Win* win, EpochKind kind, const char* call) {
  WindowPart& own = win->shared->own();
  const uint32_t member = own_member(win);
  if (member == ~0u || win->shared->flavor == MPI_WIN_FLAVOR_DYNAMIC) return {};
  const uint64_t low = static_cast<uint64_t>(own.bases[member]) + numbering(*win->shared);
  AccessRecord record = record_of(false, kind, place(), call);
  record.use = MemoryUse::kNoUpdates;
  return check_exposed(win, {{low, low + static_cast<uint64_t>(own.sizes[member])}}, record, true);
}

/// The calls by which a member tells others of what it has done. A member returns from a fence
/// before others pass the next one, so two slots are enough.
uint32_t fence_of(Win* win) { return members()[win].phase & 1; }
constexpr uint32_t kPost = 2, kComplete = 3;

void tell(Win* win, uint32_t call) {
  if (AccessTable* own = win->shared->own().table; own && follows_order())
    own->set_told(call, stamp_ns());
}

/// The member has what all others of the window may have told. May switch.
void learn_what_was_told(Win* win, uint32_t call) {
  if (!follows_order()) return;
  int64_t latest = 0;
  for (WindowPart& part : win->shared->parts) {
    if (!part.table) reach_of(win, static_cast<int32_t>(part.ranks[0]));  // makes it known
    latest = std::max(latest, part.table ? part.table->told(call) : stamp_ns());
  }
  learn(latest);
}

}  // namespace

void fence_begins(Win* win, int assertion) {
  if (AccessTable* own = win->shared->own().table)
    own->record_assertions(members()[win].phase, assertion, win->comm->rank, place());
  tell(win, fence_of(win));
}

namespace {

/// The words for one of kAgreedAssertions.
const char* words_of_assertion(size_t assertion, bool given) {
  static const char* const kWords[][2] = {
      {"gives it without MPI_MODE_NOPRECEDE", "gives MPI_MODE_NOPRECEDE to it"},
      {"gives it without MPI_MODE_NOSUCCEED", "gives MPI_MODE_NOSUCCEED to it"}};
  return kWords[assertion][given];
}

/// Reports a member that has given other assertions to the fence, which this member has passed
/// (MPI-4.0 section 12.5.5: all members give these, or none).
Status compare_assertions(Win* win, int assertion) {
  const uint32_t fence = members()[win].phase;
  for (const WindowPart& part : win->shared->parts)
    for (size_t i = 0; part.table && i < std::size(kAgreedAssertions); ++i) {
      const bool given = (assertion & kAgreedAssertions[i]) != 0;
      const FenceAssertions::GivenBy other = part.table->asserted_by(fence, i, !given);
      if (!other.known) continue;
      const int32_t me = world_of(win, win->comm->rank), they = world_of(win, other.origin);
      const Observed mine = {"MPI_Win_fence", words_of_assertion(i, given), me, me, place()};
      const Observed theirs = {"MPI_Win_fence", words_of_assertion(i, !given), they, they,
                               other.place};
      if (g_observer.conflict && !g_fails)
        g_observer.conflict(mine, theirs, "");
      else
        FGMPI_TRY(
            report(format("MPI_Win_fence: rank %d %s, rank %d %s (%s)", win->comm->rank, mine.verb,
                          other.origin, theirs.verb, words_of_window(win).c_str())));
    }
  return {};
}

}  // namespace

Status fence_passed(Win* win, int assertion) {
  learn_what_was_told(win, fence_of(win));
  FGMPI_TRY(compare_assertions(win, assertion));
  CheckedMember& member = members()[win];
  const uint32_t phase = ++member.phase;
  member.reads.clear();
  end_pending(&member, -1);
  end_own_records(win, [&](const AccessRecord& r) {
    return (r.kind == EpochKind::kProgram || r.kind == EpochKind::kFence || r.done) &&
           r.phase < phase;
  });
  return assertion & MPI_MODE_NOPUT ? forbid_updates(win, EpochKind::kFence, "MPI_Win_fence")
                                    : Status();
}

Status exposure_begins(Win* win, int assertion) {
  tell(win, kPost);
  return assertion & MPI_MODE_NOPUT ? forbid_updates(win, EpochKind::kStart, "MPI_Win_post")
                                    : Status();
}

void access_begins(Win* win) { learn_what_was_told(win, kPost); }

void access_completed(Win* win) {
  CheckedMember& member = members()[win];
  end_pending(&member, -1);
  end_own_origins(win, -1);
  learn_from_reads(win, &member, -1);
  tell(win, kComplete);
}

void exposure_ended(Win* win) {
  learn_what_was_told(win, kComplete);
  end_own_records(win, [](const AccessRecord& r) {
    return (r.kind == EpochKind::kStart && !r.origin_of) || r.kind == EpochKind::kProgram;
  });
}

void lock_acquired(Win* win, int32_t rank, bool exclusive, bool known) {
  if (!follows_order()) return;
  const AccessTable* table = reach_of(win, rank).part->table;
  learn(known || !table ? stamp_ns() : table->released(!exclusive));
}

void lock_released(Win* win, int32_t rank, bool exclusive) {
  if (!follows_order()) return;
  if (AccessTable* table = reach_of(win, rank).part->table)
    table->set_released(exclusive, stamp_ns());
}

void flushed(Win* win, int32_t rank, bool local) {
  CheckedMember& member = members()[win];
  end_pending(&member, rank);
  end_own_origins(win, rank);
  learn_from_reads(win, &member, rank);
  if (local) return;
  // Others may run, and access memory, while a target's process ends its records. Another thread of
  // the rank may then wait for the same, or begin operations that are not complete.
  std::vector<std::pair<int32_t, uint64_t>> ended;
  if (rank < 0)
    ended.assign(member.targets.begin(), member.targets.end());
  else if (const auto at = member.targets.find(rank); at != member.targets.end())
    ended.emplace_back(*at);
  for (const auto& [target, last] : ended) {
    end_passive(win, target);
    const auto at = member.targets.find(target);
    if (at != member.targets.end() && at->second == last) member.targets.erase(at);
  }
}

void record_window(Win* win) {
  windows_of_ranks()[local_of(win)].push_back(win);
  // Ranks may order their accesses by loads and stores.
  if (win->shared->flavor == MPI_WIN_FLAVOR_SHARED) learn(kForEver);
}

void forget_window(const Win* win) {
  if (auto member = members().find(win); member != members().end()) {
    end_pending(&member->second, -1);
    members().erase(member);
  }
  const auto mine = windows_of_ranks().find(local_of(win));
  if (mine == windows_of_ranks().end()) return;
  std::erase(mine->second, win);
  if (mine->second.empty()) windows_of_ranks().erase(mine);
}

}  // namespace fgmpi::rma
