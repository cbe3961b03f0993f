// The ranges that operations under way own, and the lookup that decides whether an access meets
// one.

#include "check/memory/accesses.h"

#include <execinfo.h>
#include <pthread.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/relax_cpu.h"
#include "check/call.h"
#include "check/extensions.h"
#include "check/memory/own_memory.h"
#include "check/threads/strands.h"

namespace fgmpi::check {

using access::AccessView;
using access::ProgramAccess;

constexpr int kMostSpins = 200;

void AccessSpinLock::lock() {
  if (__libc_single_threaded) return;
  // Where there are more threads than processors, the holder may not run.
  for (int spins = 0; held_.exchange(true, std::memory_order_acquire); ++spins)
    if (spins < kMostSpins)
      relax_cpu();
    else
      syscall(SYS_sched_yield);
}
void AccessSpinLock::unlock() { held_.store(false, std::memory_order_release); }

namespace {

/// Does the region cover a byte of the access? Regions whose bytes are unknown are
/// not in this table.
bool covers(const Region& r, uintptr_t address, size_t bytes) {
  if (r.exact) return true;
  const int64_t begin = static_cast<int64_t>(address - reinterpret_cast<uintptr_t>(r.base));
  auto at = std::lower_bound(r.blocks.begin(), r.blocks.end(), begin + static_cast<int64_t>(bytes),
                             [](const ByteBlock& b, int64_t end) { return b.offset < end; });
  return at != r.blocks.begin() && at[-1].offset + at[-1].bytes > begin;
}

size_t class_of(uintptr_t bytes) { return static_cast<size_t>(std::bit_width(bytes) - 1) / 2; }

}  // namespace

// ---- OwnedMemory --------------------------------------------------------------------------------
OwnedMemory::Owner OwnedMemory::OwnedRegions::find(uintptr_t address, size_t bytes) const {
  if (address >= high || address + bytes <= low) return {};
  for (uint32_t set = classes; set; set &= set - 1) {
    const auto c = static_cast<size_t>(std::countr_zero(set));
    const uintptr_t longest = uintptr_t{4} << 2 * c;
    const auto& list = of_class[c];
    auto at = std::lower_bound(list.begin(), list.end(), address + bytes,
                               [](const OwnedRegion& e, uintptr_t end) { return e.low < end; });
    const Region* last = nullptr;
    while (at != list.begin()) {
      const OwnedRegion& e = *--at;
      if (e.low + longest <= address) break;
      // A buffer that is sent to many ranks is checked once. A region without a count holds the
      // parts of a v-collective, whose displacements may differ, so it is always checked.
      if (last && last->count > 0 && last->base == e.region->base && last->type == e.region->type &&
          last->count == e.region->count)
        continue;
      last = e.region;
      if (e.high > address && covers(*e.region, address, bytes)) return {e.operation, e.region};
    }
  }
  return {};
}

OwnedMemory::Owner OwnedMemory::find(const ProgramAccess& a) const {
  Owner owner = entries_[1].find(a.address, a.bytes);
  if (!owner.operation && a.writes) owner = entries_[0].find(a.address, a.bytes);
  return owner;
}

/// Sets the bounds of all regions.
void OwnedMemory::OwnedRegions::find_reach() {
  low = ~uintptr_t{0};
  high = 0;
  for (uint32_t set = classes; set; set &= set - 1) {
    const auto& list = of_class[static_cast<size_t>(std::countr_zero(set))];
    low = std::min(low, list.front().low);
    // The last region begins last; only a longer one can end behind it.
    const uintptr_t longest = uintptr_t{4} << 2 * static_cast<size_t>(std::countr_zero(set));
    for (auto at = list.rbegin(); at != list.rend() && at->low + longest > high; ++at)
      high = std::max(high, at->high);
  }
}

/// Adds `step` to the filter's counters for these bytes.
void OwnedMemory::mark(uintptr_t low, uintptr_t high, int step) {
  constexpr unsigned kBits = access::kGranuleBits;
  const uintptr_t first = low >> kBits,
                  count = std::min<uintptr_t>(((high - 1) >> kBits) - first + 1, filter_.size());
  for (uintptr_t i = 0; i < count; ++i) {
    uint8_t& n = filter_[(first + i) % filter_.size()];
    if (n != 255) n = static_cast<uint8_t>(n + step);
  }
}

void OwnedMemory::mark(const Region& r, int step) {
  if (r.exact)
    return mark(reinterpret_cast<uintptr_t>(r.low), reinterpret_cast<uintptr_t>(r.high), step);
  for (const ByteBlock& b : r.blocks) {
    const auto low = reinterpret_cast<uintptr_t>(r.base + b.offset);
    if (b.bytes > 0) mark(low, low + static_cast<uintptr_t>(b.bytes), step);
  }
}

/// Publishes the bounds of what is owned in the views.
void OwnedMemory::show() {
  const OwnedRegions &reads = entries_[0], &writes = entries_[1];
  uintptr_t low[2] = {writes.low, std::min(reads.low, writes.low)};
  uintptr_t high[2] = {writes.high, std::max(reads.high, writes.high)};
  for (const Exposed& e : exposed_)
    for (int how = 0; how < 2; ++how) {
      low[how] = std::min(low[how], e.low);
      high[how] = std::max(high[how], e.high);
    }
  for (AccessView* view : views_) {
    view->threads = follows_all_;
    view->filter = follows_all_ ? nullptr : filter_.data();
    for (int how = 0; how < 2; ++how) {
      constexpr uintptr_t kBefore = access::kMost - 1;
      // All but the length by which a view shows that it is not attached.
      if (follows_all_) {
        __atomic_store_n(&view->low[how], 0, __ATOMIC_RELAXED);
        __atomic_store_n(&view->length[how], ~uintptr_t{0} - 1, __ATOMIC_RELAXED);
        continue;
      }
      const bool none = high[how] <= low[how];
      __atomic_store_n(&view->low[how], none ? 0 : low[how] - kBefore, __ATOMIC_RELAXED);
      __atomic_store_n(&view->length[how], none ? 0 : high[how] - low[how] + kBefore,
                       __ATOMIC_RELAXED);
    }
  }
}

void OwnedMemory::follow_all(bool all) {
  std::lock_guard guard(lock);
  follows_all_ = all;
  show();
}

void OwnedMemory::add_one(RequestOperation* operation, const Region& r) {
  if (!r.exact && r.blocks.empty()) return;
  const OwnedRegion entry = {reinterpret_cast<uintptr_t>(r.low),
                             reinterpret_cast<uintptr_t>(r.high), operation, &r};
  OwnedRegions& all = entries_[r.writes];
  const size_t c = std::min(class_of(entry.high - entry.low), kClasses - 1);
  auto& list = all.of_class[c];
  list.insert(std::lower_bound(list.begin(), list.end(), entry.low,
                               [](const OwnedRegion& e, uintptr_t low) { return e.low < low; }),
              entry);
  all.classes |= 1u << c;
  ++all.count;
  changes_.fetch_add(1, std::memory_order_relaxed);
  all.low = std::min(all.low, entry.low);
  all.high = std::max(all.high, entry.high);
  mark(r, 1);
}

void OwnedMemory::remove_one(const Region& r) {
  if (!r.exact && r.blocks.empty()) return;
  const auto low = reinterpret_cast<uintptr_t>(r.low), high = reinterpret_cast<uintptr_t>(r.high);
  OwnedRegions& all = entries_[r.writes];
  const size_t c = std::min(class_of(high - low), kClasses - 1);
  auto& list = all.of_class[c];
  auto at = std::lower_bound(list.begin(), list.end(), low,
                             [](const OwnedRegion& e, uintptr_t from) { return e.low < from; });
  while (at != list.end() && at->low == low && at->region != &r) ++at;
  if (at == list.end() || at->region != &r) return;
  list.erase(at);
  if (list.empty()) all.classes &= ~(1u << c);
  --all.count;
  mark(r, -1);
  // The bounds change only if this region was at one of them.
  if (low == all.low || high == all.high) all.find_reach();
  if (entries_[0].count + entries_[1].count + exposed_.size() == 0) filter_.fill(0);
}

void OwnedMemory::add(RequestOperation* operation) {
  std::lock_guard guard(lock);
  for (const Region& r : operation->regions)
    if (r.begun) add_one(operation, r);
  show();
}

void OwnedMemory::remove(RequestOperation* operation) {
  std::lock_guard guard(lock);
  for (const Region& r : operation->regions)
    if (r.begun) remove_one(r);
  show();
}

void OwnedMemory::add(RequestOperation* operation, const Region& region) {
  std::lock_guard guard(lock);
  add_one(operation, region);
  show();
}

void OwnedMemory::remove(const Region& region) {
  std::lock_guard guard(lock);
  remove_one(region);
  show();
}

void OwnedMemory::clear() {
  std::lock_guard guard(lock);
  for (OwnedRegions& e : entries_) e = OwnedRegions();
  exposed_.clear();
  touched_.clear();
  filter_.fill(0);
  show();
}

void OwnedMemory::expose(const std::vector<Exposed>& windows) {
  std::lock_guard guard(lock);
  for (const Exposed& e : exposed_) mark(e.low, e.high, -1);
  exposed_.clear();
  for (const Exposed& e : windows)
    if (e.epoch || e.under_way || e.ordered) exposed_.push_back(e);
  for (const Exposed& e : exposed_) mark(e.low, e.high, 1);
  changes_.fetch_add(1, std::memory_order_relaxed);
  show();
}

bool OwnedMemory::cut_clear(uintptr_t at, uintptr_t* low, uintptr_t* high) {
  constexpr size_t kMostSearched = 64;
  std::lock_guard guard(lock);
  if (entries_[0].count + entries_[1].count + exposed_.size() > kMostSearched) return false;
  const auto cut = [&](uintptr_t from, uintptr_t to) {
    if (to <= at)
      *low = std::max(*low, to);
    else
      *high = std::min(*high, std::max(from, at));
  };
  for (const OwnedRegions& all : entries_)
    for (const auto& list : all.of_class)
      for (const OwnedRegion& region : list) cut(region.low, region.high);
  for (const Exposed& e : exposed_) cut(e.low, e.high);
  return true;
}

bool OwnedMemory::is_exposed(uintptr_t address, size_t bytes) const {
  for (const Exposed& e : exposed_)
    if (e.meets(address, bytes)) return true;
  return false;
}

bool OwnedMemory::touch(const ProgramAccess& a) {
  for (const Exposed& e : exposed_) {
    if (!(e.epoch || e.ordered) || !e.meets(a.address, a.bytes)) continue;
    const uintptr_t low = std::max(a.address, e.low), high = std::min(a.address + a.bytes, e.high);
    // An atomic change, or a load in a loop, may be how the program waits for an operation of
    // another rank. Loads do not displace stores.
    if (!e.epoch && a.reads &&
        (a.writes || e.synchronised || !g_process.has_facts || is_polled(low, high) ||
         touched_.size() + 1 >= kMostTouched))
      continue;
    auto widen = [&, low, high](Touched& old) {
      if (old.place != a.place || old.writes != a.writes || old.win != e.win || old.low > high ||
          low > old.high)
        return false;
      old.low = std::min(old.low, low);
      old.high = std::max(old.high, high);
      return true;
    };
    if (last_touched_ < touched_.size() && widen(touched_[last_touched_])) continue;
    const auto found = std::find_if(touched_.begin(), touched_.end(), widen);
    last_touched_ = static_cast<size_t>(found - touched_.begin());
    if (found == touched_.end() && touched_.size() < kMostTouched)
      touched_.push_back({low, high, e.win, a.writes, a.function, a.place});
  }
  return touched_.size() >= kMostTouched;
}

void OwnedMemory::add_polled(uintptr_t address, size_t bytes) {
  has_polled_ = true;
  if (is_polled(address, address + bytes)) return;
  if (polled_.size() < kMostPolled) polled_.resize(polled_.size() + 1);
  polled_[next_polled_] = {address, address + bytes};
  next_polled_ = (next_polled_ + 1) % kMostPolled;
}

bool OwnedMemory::is_polled(uintptr_t low, uintptr_t high) const {
  return std::any_of(polled_.begin(), polled_.end(),
                     [&](const PolledBytes& p) { return p.low <= low && high <= p.high; });
}

std::vector<OwnedMemory::Touched> OwnedMemory::extract_touched() {
  std::lock_guard guard(lock);
  has_polled_ = false;
  return std::exchange(touched_, {});
}

void OwnedMemory::attach(AccessView* view, void* owner) {
  std::lock_guard guard(lock);
  view->owner = owner;
  views_.push_back(view);
  show();
}

void OwnedMemory::detach(AccessView* view) {
  std::lock_guard guard(lock);
  std::erase(views_, view);
}

// ---- Views and ranks ----------------------------------------------------------------------------
namespace {

/// Views of ranks that have not called MPI_Init yet, by MPIX_Tool_word(). Such a view is
/// closed until then.
std::mutex g_waiting_lock;
std::vector<std::pair<const void*, AccessView*>>& g_waiting =
    *new std::vector<std::pair<const void*, AccessView*>>;

/// Is the calling thread in the checker's code (Looking)?
thread_local bool t_looking = false;

bool is_main_thread(const Rank* rank) { return pthread_equal(pthread_self(), rank->thread); }

/// Is the access outside of functions of the program that MPI has called, such as a
/// reduction's operation?
bool is_in_program(const Rank* rank) {
  if (!is_main_thread(rank)) return g_calls_of_thread == 0;
  // Helpers, on which nonblocking collectives run, have words of their own.
  return rank->calls == 0 && MPIX_Tool_word() == rank->word;
}

void set_open(AccessView* view, bool open) {
  view->low[0] = view->low[1] = 0;
  view->length[0] = view->length[1] = open ? ~uintptr_t{0} : 0;
}

bool wants_accesses() {
  return g_process.wants(FindingKind::kBuffers) || g_process.wants(FindingKind::kWindows);
}

/// Makes the rank's OwnedMemory, at the first sign that its program is compiled with -check.
void follow(Rank* rank) {
  if (rank->owned) return;
  Looking looking;
  make_operations(rank);
  rank->owned = new OwnedMemory;
  rank->short_path = nullptr;
  rank->owned->expose(rank->windows);
  rank->requests.for_each([&](MPI_Request, RequestOperation& operation) {
    if (operation.active && !operation.released) rank->owned->add(&operation);
  });
}

/// Finds the rank that makes the access and attaches the view to its memory. nullptr: the access
/// cannot be checked.
Rank* adopt(AccessView* view) {
  void** word = MPIX_Tool_word ? MPIX_Tool_word() : nullptr;
  // Constructors run by the dynamic linker; threads that belong to no rank.
  if (!word) return nullptr;
  auto* rank = static_cast<Rank*>(*word);
  if (!rank) {
    Looking looking;
    std::lock_guard guard(g_waiting_lock);
    set_open(view, false);
    g_waiting.emplace_back(word, view);
    return nullptr;
  }
  // Another thread would read the requests while they change, and a helper is not the rank. The
  // rank itself will make an access, too.
  if (word != rank->word || !is_main_thread(rank)) return nullptr;
  if (rank->ended || !wants_accesses()) {
    set_open(view, false);
    return nullptr;
  }
  const int entered = MPIX_Tool_enter();
  follow(rank);
  MPIX_Tool_leave(entered);
  // A view that several ranks share stays open: each access finds its rank anew.
  if (!g_process.ranks_share) rank->owned->attach(view, rank);
  return rank;
}

constexpr int kMostCallers = 12;

struct ReportedAccess {
  Rank* rank;
  ProgramAccess access;
  bool operation_writes;
  CallRecord call;
  bool is_over;  ///< the operation is complete: only its order with the access is unknown
  void* callers[kMostCallers + 1] = {};  ///< ends with null
};
constexpr const char* kAllowedOrder =
    "a barrier, a join, or what else orders threads in every run is between the access and the "
    "call";
/// Conflicts found on other threads, until a rank calls MPI.
std::mutex g_seen_lock;
std::atomic<bool> g_any_seen = false;
std::vector<ReportedAccess>& g_seen = *new std::vector<ReportedAccess>;

const char* sentence_of_access(bool writes, bool operation_writes, bool is_over) {
  if (is_over)
    return !writes ? "a thread reads from a buffer that another thread's call writes, and nothing "
                     "orders them"
           : operation_writes
               ? "a thread writes into a buffer that another thread's call writes, and nothing "
                 "orders them"
               : "a thread writes into a buffer that another thread's call reads, and nothing "
                 "orders them";
  return !writes ? "the program reads from a buffer that a pending operation writes"
         : operation_writes
             ? "the program writes into a buffer that a pending operation writes, too"
             : "the program writes into a buffer that a pending operation reads";
}

void report_access(const ReportedAccess& s) {
  const ProgramAccess& a = s.access;
  findings::Participant access;
  access.rank = s.rank->world;
  access.call = words_of(a.function, a.writes);
  access.site = site_of(a.place);
  for (int i = 0; s.callers[i]; ++i) access.callers.push_back(site_of(s.callers[i]));
  report(FindingKind::kBuffers, sentence_of_access(a.writes, s.operation_writes, s.is_over),
         s.is_over ? kAllowedOrder
                   : "an operation's buffer is left alone until the operation is complete",
         {access, participant(s.rank, s.call, s.is_over ? "may be under way" : "is not complete")});
}

/// Finds the callers of the function that makes the access, because C++'s library may have made it
/// for the program.
void find_callers(ReportedAccess* s) {
  void* frames[2 * kMostCallers];
  const int n = backtrace(frames, 2 * kMostCallers);
  auto* end = frames + n;
  auto* at = std::find(frames, end, s->access.place);
  for (int i = 0; i < kMostCallers && at < end && ++at < end; ++i) s->callers[i] = *at;
}

/// Compares the access with pending operations of lock epochs on the rank's windows.
void meet_under_way(Rank* rank, const ProgramAccess& a) {
  Looking looking;
  OwnedMemory& owned = *rank->owned;
  for (const Exposed& e : owned.exposed()) {
    if (!e.under_way || !e.meets(a.address, a.bytes)) continue;
    if (!is_in_program(rank) || process_number() != g_process.pid) return;
    const uint64_t key = mix(reinterpret_cast<uintptr_t>(a.place), e.low);
    if (!a.reads && owned.reported.contains(key)) continue;
    const uint64_t place = a.writes ? site_of(a.place) : 0;
    if (MPIX_Tool_accesses(e.win, reinterpret_cast<const void*>(a.address),
                           static_cast<MPI_Count>(a.bytes), a.reads, a.writes,
                           words_of(a.function, a.writes), place))
      owned.reported.insert(key);
  }
}

/// The program waits by a load of memory of windows: it has what operations of others have done so
/// far, where the value shows that.
void record_poll(Rank* rank, const ProgramAccess& a) {
  Looking looking;
  OwnedMemory& owned = *rank->owned;
  if (!owned.is_exposed(a.address, a.bytes) || !is_in_program(rank) ||
      process_number() != g_process.pid)
    return;
  owned.record_load();
  {
    std::lock_guard guard(owned.lock);
    owned.add_polled(a.address, a.bytes);
  }
  // A rank with threads learns at its next call (CheckedCall).
  if (!g_process.threads) MPIX_Tool_updates();
}

/// Records an access to windows' memory. The next call of MPI compares it; if the list is full, it
/// is compared at once.
void record_exposed_access(Rank* rank, const ProgramAccess& a) {
  Looking looking;
  OwnedMemory& owned = *rank->owned;
  if (!owned.is_exposed(a.address, a.bytes) || !is_in_program(rank)) return;
  if (a.reads) owned.record_load();
  if (owned.has_polled() && process_number() == g_process.pid) MPIX_Tool_updates();
  bool full = false;
  {
    std::lock_guard guard(owned.lock);
    full = owned.touch(a);
  }
  if (!full) return;
  if (process_number() == g_process.pid)
    compare_touched_now(rank);
  else
    owned.extract_touched();
}

/// Records an access to windows' memory by a thread that the rank's other threads may change the
/// windows beside. The rank's next call of MPI compares it; what is more than the list takes until
/// then is not compared.
void record_in_epoch(Rank* rank, const ProgramAccess& a) {
  Looking looking;
  if (!is_in_program(rank)) return;
  OwnedMemory& owned = *rank->owned;
  std::lock_guard guard(owned.lock);
  if (!owned.is_exposed(a.address, a.bytes)) return;
  if (a.reads) owned.record_load();
  owned.touch(a);
}

/// The finding for an access, unless it is legal or was found before.
std::optional<ReportedAccess> finding_of(Rank* rank, const ProgramAccess& a) {
  Looking looking;
  OwnedMemory& owned = *rank->owned;
  std::lock_guard guard(owned.lock);
  const OwnedMemory::Owner owner = owned.find(a);
  if (!owner.operation || !is_in_program(rank) || process_number() != g_process.pid) return {};
  owner.operation->touched = true;
  const uint64_t key = mix(reinterpret_cast<uintptr_t>(a.place), owner.operation->call->site);
  if (!owned.reported.insert(mix(key, a.writes)).second) return {};
  return ReportedAccess{rank, a, owner.region->writes, owner.operation->call, false};
}

/// The finding for an access that conflicts with a call of another strand, the first time.
std::optional<ReportedAccess> finding_of_use(Rank* rank, const ProgramAccess& a,
                                             const StrandUse& use) {
  OwnedMemory& owned = *rank->owned;
  std::lock_guard guard(owned.lock);
  const uint64_t key = mix(reinterpret_cast<uintptr_t>(a.place), use.call.site);
  if (!owned.reported.insert(mix(key, a.writes)).second) return {};
  return ReportedAccess{rank, a, use.writes, use.call, !use.open};
}

void keep_for_later(const ReportedAccess& seen) {
  std::lock_guard guard(g_seen_lock);
  g_seen.push_back(seen);
  g_any_seen.store(true, std::memory_order_release);
}

/// Records an access of a rank with several threads, and returns the finding for it if a call of
/// another strand uses the memory, or has, and nothing orders them.
std::optional<ReportedAccess> meet_strands(Rank* rank, const ProgramAccess& a) {
  Looking looking;
  if (!rank->order->is_active() || !is_in_program(rank) || process_number() != g_process.pid)
    return {};
  const StrandUse use =
      rank->order->record_access(a, reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
  return use.of ? finding_of_use(rank, a, use) : std::nullopt;
}

/// Records an access where no call can conflict, which takes no lock. False: nothing was done.
bool joins_run(Rank* rank, const ProgramAccess& a) {
  return rank->order && rank->order->is_active() && is_in_program(rank) &&
         rank->order->join_run(a, reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
}

/// The rank's view, registered if it is not yet. REQUIRES: as adopt().
Rank* rank_of_view(AccessView* view) {
  auto* rank = static_cast<Rank*>(view->owner);
  return rank ? rank : adopt(view);
}

}  // namespace

Looking::Looking(bool in_checker) : before_(std::exchange(t_looking, in_checker)) {}
Looking::~Looking() { t_looking = before_; }

void report_strand_conflicts(Rank* rank, const CallRecord& call,
                             const std::vector<StrandConflict>& conflicts) {
  for (const StrandConflict& c : conflicts) {
    if (!c.place) {
      report(FindingKind::kBuffers,
             "calls of two threads use the same memory, and nothing orders them",
             "a barrier, a join, or what else orders threads in every run is between the calls",
             {participant(rank, call),
              participant(rank, c.call, c.open ? "has not returned" : "may be under way")});
      continue;
    }
    const bool call_writes = c.call_writes;
    const uint64_t key = mix(reinterpret_cast<uintptr_t>(c.place), call.site);
    if (!rank->owned->reported.insert(mix(key, c.writes)).second) continue;
    report_access({rank, {0, 0, c.writes, !c.writes, nullptr, c.place}, call_writes, call, true});
  }
}

void record_late_conflict(Rank* rank, const ProgramAccess& a, const StrandUse& use) {
  Looking looking;
  if (const auto seen = finding_of_use(rank, a, use)) keep_for_later(*seen);
}

thread_local int g_calls_of_thread = 0;

void follow_program(Rank* rank) {
  if (rank->owned || !is_main_thread(rank) || !wants_accesses()) return;
  const int entered = MPIX_Tool_enter();
  follow(rank);
  MPIX_Tool_leave(entered);
}

void report_accesses() {
  if (!g_any_seen.load(std::memory_order_acquire)) return;
  std::vector<ReportedAccess> list;
  {
    std::lock_guard guard(g_seen_lock);
    g_any_seen.store(false, std::memory_order_relaxed);
    list.swap(g_seen);
  }
  for (const ReportedAccess& s : list) report_access(s);
}

void follow_accesses(Rank* rank) {
  rank->word = MPIX_Tool_word();
  rank->thread = pthread_self();
  if (g_process.has_heap && wants_accesses() && !g_process.ranks_share) follow(rank);
  std::lock_guard guard(g_waiting_lock);
  std::erase_if(g_waiting, [&](const auto& waiting) {
    if (waiting.first != rank->word) return false;
    // From here on other threads of the rank may be the first to make an access.
    if (wants_accesses() && !g_process.ranks_share) {
      follow(rank);
      rank->owned->attach(waiting.second, rank);
    } else {
      set_open(waiting.second, true);
    }
    return true;
  });
}

}  // namespace fgmpi::check

using namespace fgmpi::check;

/// The function behind access::Look.
EXPORT void fgmpi_check_access(AccessView* view, const ProgramAccess* access) {
  if (t_looking) return;
  auto* rank = static_cast<Rank*>(view->owner);
  if (!rank) rank = adopt(view);
  if (!rank || !rank->owned) return;
  if (fgmpi::access::is_poll(*access)) {
    record_poll(rank, *access);
    return;
  }
  if (joins_run(rank, *access)) return;
  // With threads, the rank's next call compares the access, by the order that is known then.
  if (!g_process.threads && is_main_thread(rank)) {
    meet_under_way(rank, *access);
    record_exposed_access(rank, *access);
  } else {
    record_in_epoch(rank, *access);
  }
  auto seen = finding_of(rank, *access);
  if (rank->order)
    if (auto met = meet_strands(rank, *access); met && !seen) seen = met;
  if (!seen) return;
  find_callers(&*seen);
  // Another thread must not touch state that a call of the rank uses at the same time.
  if (is_main_thread(rank) && !g_process.threads) return report_access(*seen);
  keep_for_later(*seen);
}

/// The function behind access::Touches.
EXPORT bool fgmpi_check_touches(AccessView* view, uintptr_t address, size_t bytes, bool writes) {
  if (t_looking) return true;
  auto* rank = static_cast<Rank*>(view->owner);
  if (!rank || !rank->owned) return true;
  Looking looking;
  std::lock_guard guard(rank->owned->lock);
  // Each access of a rank with several threads is recorded.
  return view->threads || rank->owned->is_exposed(address, bytes) ||
         rank->owned->find({address, bytes, writes, !writes, nullptr, nullptr}).operation !=
             nullptr;
}

/// The function behind access::Order.
EXPORT uint64_t fgmpi_check_order(AccessView* view, fgmpi::access::Sync what, const void* object,
                                  uint64_t value) {
  if (t_looking) return 0;
  Rank* rank = rank_of_view(view);
  if (!rank || !rank->owned || rank->ended) return 0;
  Looking looking;
  if (!rank->order) {
    if (!is_main_thread(rank)) return 0;
    rank->order = new ThreadOrder(rank);
  }
  return rank->order->tell(what, object, value);
}

/// The function behind access::Forget.
EXPORT void fgmpi_check_forget(AccessView* view) {
  if (auto* rank = static_cast<Rank*>(view->owner)) rank->owned->detach(view);
  std::lock_guard guard(g_waiting_lock);
  std::erase_if(g_waiting, [&](const auto& waiting) { return waiting.second == view; });
}
