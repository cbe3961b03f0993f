// Epochs: fence, post-start-complete-wait, locks, flushes (MPI-4.0 section 12.5). A member that
// waits parks.

#include <algorithm>
#include <map>

#include "base/raw_call.h"
#include "base/strings.h"
#include "coll/coll.h"
#include "comm/broken.h"
#include "pt2pt/engine.h"
#include "pt2pt/lost.h"
#include "pt2pt/message_decider.h"
#include "pt2pt/polls.h"
#include "pt2pt/short_spin.h"
#include "rma/access_decider.h"
#include "rma/internal.h"
#include "rma/message.h"

namespace fgmpi::rma {

AccessDecider* g_access_decider = nullptr;

namespace {

/// Why a member waits, for the deadlock report.
struct SyncWait : sched::WaitSite {
  SyncWait(const char* name, const Win* w, const char* why, int32_t r)
      : WaitSite{name, words, true}, win(w), what(why), rank(r) {}
  static void words(const WaitSite* site, std::string* out) {
    const auto* s = static_cast<const SyncWait*>(site);
    *out += s->what;
    if (s->rank >= 0) *out += format(" rank %d", s->rank);
    *out += ", " + name_of(s->win);
  }
  const Win* win;
  const char* what;
  int32_t rank;
};

/// Parks until done(); whoever changes what done() reads wakes `*parked`. Polls a little first
/// where no other rank could run. May switch.
template <class F>
void wait_until(ParkedThreads* parked, const SyncWait& site, F&& done) {
  for (pt2pt::ShortSpin spin; !done() && spin.may_continue();) pt2pt::progress();
  while (!done()) parked->park(&site);
}

/// The error of a wait for rank `rank` of the window, or for all of its members (-1), that cannot
/// end because processes have failed.
Status hopeless(const Win* win, int32_t rank) {
  const comm::SharedComm& shared = *win->comm->shared;
  if (__builtin_expect(!(shared.broken & comm::kLostMember), 1)) return {};
  if (rank < 0) return comm::broken_status(shared);
  const uint32_t process = win->comm->peer(rank).process;
  return pt2pt::is_lost(process) ? pt2pt::process_failed(process) : Status();
}

/// As wait_until(); returns the error of a wait that cannot end.
template <class F>
Status wait_for_member(ParkedThreads* parked, const SyncWait& site, F&& done) {
  for (pt2pt::ShortSpin spin; !done() && spin.may_continue();) pt2pt::progress();
  while (!done()) {
    FGMPI_TRY(hopeless(site.win, site.rank));
    parked->park(&site);
  }
  return {};
}

/// Makes stores before this visible before loads behind it, as MPI orders. Without stores it keeps
/// loads behind it from being done before earlier ones: a rank that has got a flag, and flushes,
/// gets the data that another rank put before it set the flag. x86 needs no instruction for that.
void make_visible(MemberEpochs* access) {
  if (!access->stores) return __atomic_thread_fence(__ATOMIC_ACQUIRE);
  access->stores = false;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

Status extract_failure(MemberEpochs* access) {
  if (__builtin_expect(access->failure.ok(), 1)) return {};
  Status failure = std::move(access->failure);
  access->failure = Status();
  return failure;
}

const char* words_of(Epoch epoch) {
  switch (epoch) {
    case Epoch::kFence:
      return "an access epoch of MPI_Win_fence with operations in it";
    case Epoch::kStart:
      return "an access epoch of MPI_Win_start";
    case Epoch::kLock:
      return "an access epoch of MPI_Win_lock";
    case Epoch::kLockAll:
      return "an access epoch of MPI_Win_lock_all";
    default:
      return "no access epoch";
  }
}

Status wrong_epoch(const Win* win, const char* allowed) {
  const Epoch epoch = win->access ? win->access->epoch : Epoch::kNone;
  return error(MPI_ERR_RMA_SYNC, "%s is in %s; allowed is %s", name_of(win).c_str(),
               words_of(epoch), allowed);
}

Status check_assertion(int assertion, int allowed, const char* words) {
  if (!(assertion & ~allowed)) return {};
  return error(MPI_ERR_ASSERT, "assert is %d; allowed is 0 or %s", assertion, words);
}

/// Checks that a new access epoch may begin.
Status check_idle(const Win* win) {
  const Epoch epoch = win->access ? win->access->epoch : Epoch::kNone;
  if (epoch == Epoch::kNone || epoch == Epoch::kFenced) return {};
  return wrong_epoch(win, "it outside of access epochs");
}

}  // namespace

void drain(Win* win, const char* call) {
  MemberEpochs& a = access_of(win);
  if (a.outstanding)
    wait_until(&a.parked, SyncWait(call, win, "for the answers to its operations", -1),
               [&] { return a.outstanding == 0; });
  make_visible(&a);
}

void wait_for_accumulates(Win* win, int32_t rank, const uint32_t* count, const char* call) {
  wait_until(&access_of(win).parked, SyncWait(call, win, "for earlier accumulates at", rank),
             [&] { return *count == 0; });
}

void yield_on_repeated_call() {
  constexpr uint32_t kEvery = 256;
  static uint32_t calls = 0;
  if (__builtin_expect(++calls % kEvery != 0, 1)) return;
  const uint64_t switches = sched::switch_count();
  pt2pt::progress();
  pt2pt::yield_before_retry("a call that looks at a window again and again");
  // No other rank of this process could run: the process that this one waits for may need the core.
  if (sched::switch_count() == switches && g_av.processes() > 1) raw_call(SYS_sched_yield);
}

// ---- Locks --------------------------------------------------------------------------------------

namespace {

// ---- The locks that a rank's threads wait for ----

LockWait* find_wait_at(const SharedWin& shared, int32_t rank, const WindowPart* part) {
  auto found = shared.lock_waits.find(rank);
  LockWait* wait = found == shared.lock_waits.end() ? nullptr : found->second;
  while (wait && wait->part != part) wait = wait->next;
  return wait;
}

void add_wait(SharedWin* shared, int32_t rank, LockWait* wait) {
  LockWait*& first = shared->lock_waits[rank];
  wait->next = first;
  first = wait;
}

void remove_wait(SharedWin* shared, int32_t rank, const LockWait* wait) {
  auto found = shared->lock_waits.find(rank);
  LockWait** at = &found->second;
  while (*at != wait) at = &(*at)->next;
  *at = wait->next;
  if (!found->second) shared->lock_waits.erase(found);
}

/// Parks while another thread of the rank waits for a lock of the same process. May switch.
void await_other_thread(Win* win, int32_t rank, const char* call) {
  if (__builtin_expect(win->shared->lock_waits.empty(), 1)) return;
  const WindowPart* part = reach_of(win, rank).part;
  wait_until(&access_of(win).parked,
             SyncWait(call, win, "until another thread of the rank has the lock of", rank),
             [&] { return !find_wait_at(*win->shared, win->comm->rank, part); });
}

/// Parks until `wait` has ended, which is in the list, or cannot end. May switch.
template <class F>
Status await_end(LockWait* wait, const SyncWait& site, F&& hopeless_now) {
  for (pt2pt::ShortSpin spin; !wait->granted && !wait->refused && spin.may_continue();)
    pt2pt::progress();
  while (!wait->granted && !wait->refused) {
    FGMPI_TRY(hopeless_now());
    sched::park(&site);
  }
  return {};
}

/// In a window that has lost a member no rank waits for a lock, because its holder may be gone. May
/// switch.
Status acquire_at_once(Win* win, int32_t rank, LockKind kind, const char* call) {
  FGMPI_TRY(hopeless(win, rank));
  const Reach reach = reach_of(win, rank);
  if (reach.part->control) {
    if (reach.part->control->try_acquire(reach.member, kind)) return {};
    pt2pt::progress();
    pt2pt::yield_before_retry(call);  // the holder may be collocated, and be asked again and again
    return hopeless(win, -1);
  }
  LockWait wait{sched::current(), rank, reach.part};
  add_wait(win->shared, win->comm->rank, &wait);
  request_lock(win, reach, kind, RmaMessageKind::kTryLock);
  const SyncWait site(call, win, "for an answer about the lock of", rank);
  Status vain = await_end(&wait, site, [&] { return hopeless(win, rank); });
  if (!vain.ok()) remove_wait(win->shared, win->comm->rank, &wait);
  wake(win->access.get());
  FGMPI_TRY(std::move(vain));
  return wait.granted ? Status() : hopeless(win, -1);
}

/// Parks until the decider gives this member its turn for the lock. May switch.
[[gnu::cold]] void await_lock(const Win* win, int32_t rank, LockKind kind, const char* call) {
  MemoryAccess access;
  access.use = MemoryAccess::kLock;
  access.detail = kind == LockKind::kExclusive;
  access.window = win->shared->id.bits;
  access.target = rank;
  access.local = win->comm->peer(rank).local;
  const SyncWait site(
      call, win, kind == LockKind::kShared ? "for the shared lock of" : "for the exclusive lock of",
      rank);
  g_access_decider->await_access(access, &site);
}

/// Acquires the lock of `rank`. REQUIRES: await_other_thread() has returned, without a switch since
/// then. May switch.
Status acquire(Win* win, int32_t rank, LockKind kind, const char* call) {
  if (__builtin_expect(g_access_decider != nullptr, 0)) await_lock(win, rank, kind, call);
  if (__builtin_expect(win->comm->shared->broken & comm::kLostMember, 0))
    return acquire_at_once(win, rank, kind, call);
  const Reach reach = reach_of(win, rank);
  LockWait wait{sched::current(), rank, reach.part};
  SharedWin* shared = win->shared;
  const int32_t me = win->comm->rank;
  if (reach.part->control) {
    if (reach.part->control->acquire(reach.member, me, kind)) return {};
    add_wait(shared, me, &wait);
  } else {
    add_wait(shared, me, &wait);
    request_lock(win, reach, kind, RmaMessageKind::kLock);
  }
  const SyncWait site(
      call, win, kind == LockKind::kShared ? "for the shared lock of" : "for the exclusive lock of",
      rank);
  Status vain = await_end(&wait, site, [&] { return hopeless(win, -1); });
  if (!vain.ok()) {
    remove_wait(shared, me, &wait);
    shared->late_locks.insert({me, {rank, kind}});
  }
  wake(win->access.get());
  return vain;
}

void release(Win* win, int32_t rank, LockKind kind) {
  if (__builtin_expect(g_access_decider != nullptr, 0))
    g_access_decider->record_unlock(win->shared->id.bits, rank, kind == LockKind::kExclusive);
  const Reach reach = reach_of(win, rank);
  if (!reach.part->control) return request_unlock(win, rank, reach, kind);
  std::vector<int32_t> granted;
  reach.part->control->release(reach.member, kind, &granted);
  if (!granted.empty()) notify_granted_ranks(win->shared, rank, std::move(granted));
}

/// Ends the wait of `rank` for the lock of `target`, and returns it; nullptr: the rank does not
/// wait for it.
LockWait* end_wait(SharedWin* shared, int32_t target, int32_t rank) {
  auto found = shared->lock_waits.find(rank);
  LockWait* wait = found == shared->lock_waits.end() ? nullptr : found->second;
  while (wait && wait->target != target) wait = wait->next;
  if (!wait) return nullptr;
  remove_wait(shared, rank, wait);
  if (wait->proclet->state == sched::ProcletState::kParked) sched::ready(wait->proclet);
  return wait;
}

struct MemberLocation {
  WindowPart* part;
  uint32_t at;  ///< its place in the part
};
MemberLocation member_of(SharedWin* shared, int32_t rank) {
  const RankMap& ranks = comm::find_shared(shared->id)->map;
  const Location where = g_av.locate(static_cast<uint32_t>(ranks.world_of(rank)));
  WindowPart& part = shared->part_of(where.process);
  return {&part, part.locals.find(where.local)};
}

/// Called when `rank`, which lives here, holds the lock of `target`. Returns the kind of lock that
/// has to be released at once because the rank does not wait any more; kNone: nothing.
LockKind grant_here(SharedWin* shared, int32_t target, int32_t rank) {
  if (LockWait* wait = end_wait(shared, target, rank)) {
    wait->granted = true;
    return LockKind::kNone;
  }
  auto [late, past] = shared->late_locks.equal_range(rank);
  while (late != past && late->second.target != target) ++late;
  if (late == past) {
    pt2pt::refuse_notice();
    return LockKind::kNone;
  }
  const LockKind kind = late->second.kind;
  shared->late_locks.erase(late);
  return kind;
}

}  // namespace

void lock_granted(SharedWin* shared, int32_t target, int32_t rank) {
  const LockKind kind = grant_here(shared, target, rank);
  if (__builtin_expect(kind == LockKind::kNone, 1)) return;
  const MemberLocation of = member_of(shared, target);
  if (!of.part->control) {
    if (!pt2pt::is_lost(of.part->process)) request_lock_return(shared, *of.part, of.at, kind);
    return;
  }
  std::vector<int32_t> granted;
  of.part->control->release(of.at, kind, &granted);
  notify_granted_ranks(shared, target, std::move(granted));
}

void lock_refused(SharedWin* shared, int32_t target, int32_t rank) {
  if (LockWait* wait = end_wait(shared, target, rank)) wait->refused = true;
}

void notify_granted_ranks(SharedWin* shared, int32_t target, std::vector<int32_t> ranks) {
  const comm::SharedComm* comm = comm::find_shared(shared->id);
  const MemberLocation of = member_of(shared, target);
  std::map<uint32_t, std::vector<int32_t>> others;
  while (!ranks.empty()) {
    const int32_t rank = ranks.back();
    ranks.pop_back();
    const uint32_t process = g_av.process_of(static_cast<uint32_t>(comm->map.world_of(rank)));
    LockKind back = LockKind::kNone;
    if (process == g_av.me())
      back = grant_here(shared, target, rank);
    else if (__builtin_expect(pt2pt::is_lost(process), 0))
      back = of.part->control->wanted_by(rank);
    else
      others[process].push_back(rank);
    if (__builtin_expect(back != LockKind::kNone, 0))
      of.part->control->release(of.at, back, &ranks);
  }
  for (const auto& [process, theirs] : others)
    notify_ranks(shared, process, RmaMessageKind::kGranted, target, theirs);
}

namespace {
Status check_locks_allowed(const Win* win) {
  if (__builtin_expect(!win->shared->no_locks, 1)) return {};
  return error(MPI_ERR_RMA_SYNC,
               "%s has the info key no_locks; allowed are locks of windows where that is false",
               name_of(win).c_str());
}
}  // namespace

Status lock(Win* win, int type, int32_t rank, int assertion) {
  FGMPI_TRY(check_locks_allowed(win));
  if (type != MPI_LOCK_SHARED && type != MPI_LOCK_EXCLUSIVE)
    return error(MPI_ERR_LOCKTYPE,
                 "lock_type is %d; allowed are MPI_LOCK_SHARED and MPI_LOCK_EXCLUSIVE", type);
  FGMPI_TRY(check_assertion(assertion, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK"));
  if (rank == MPI_PROC_NULL) return {};
  MemberEpochs& a = access_of(win);
  const bool check = !(assertion & MPI_MODE_NOCHECK);
  if (check) await_other_thread(win, rank, "MPI_Win_lock");
  if (a.epoch != Epoch::kLock) FGMPI_TRY(check_idle(win));
  if (auto found = a.targets.find(rank);
      found != a.targets.end() && found->second.lock != LockKind::kNone)
    return error(MPI_ERR_RMA_SYNC,
                 "%s has locked rank %d already; allowed is once until its unlock",
                 name_of(win).c_str(), rank);
  const LockKind kind = type == MPI_LOCK_SHARED ? LockKind::kShared : LockKind::kExclusive;
  if (check) FGMPI_TRY(acquire(win, rank, kind, "MPI_Win_lock"));
  if (checking()) lock_acquired(win, rank, kind == LockKind::kExclusive, !check);
  Target& target = a.targets[rank];
  target.lock = kind;
  target.no_check = !check;
  ++a.locks;
  a.epoch = Epoch::kLock;
  a.hot_rank = -1;
  return {};
}

Status unlock(Win* win, int32_t rank) {
  if (rank == MPI_PROC_NULL) return {};
  MemberEpochs& a = access_of(win);
  auto found = a.targets.find(rank);
  if (a.epoch != Epoch::kLock || found == a.targets.end() || found->second.lock == LockKind::kNone)
    return error(MPI_ERR_RMA_SYNC,
                 "%s has not locked rank %d by MPI_Win_lock; allowed is unlocking what it has",
                 name_of(win).c_str(), rank);
  Status failure = flush(win, rank, false, "MPI_Win_unlock");
  Target& target = a.targets[rank];
  const LockKind kind = target.lock;
  const bool held_ranks = !target.no_check;
  target.lock = LockKind::kNone;
  a.hot_rank = -1;
  if (--a.locks == 0) a.epoch = Epoch::kNone;
  if (target.outstanding == 0 && target.unsent == 0) a.targets.erase(rank);
  if (checking()) lock_released(win, rank, kind == LockKind::kExclusive);
  if (held_ranks && hopeless(win, rank).ok()) release(win, rank, kind);
  return failure;
}

Status lock_all(Win* win, int assertion) {
  FGMPI_TRY(check_locks_allowed(win));
  FGMPI_TRY(check_assertion(assertion, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK"));
  FGMPI_TRY(check_idle(win));
  MemberEpochs& a = access_of(win);
  a.epoch = Epoch::kLockAll;
  a.no_check = assertion & MPI_MODE_NOCHECK;
  a.hot_rank = -1;
  return {};
}

Status unlock_all(Win* win) {
  MemberEpochs& a = access_of(win);
  if (a.epoch != Epoch::kLockAll) return wrong_epoch(win, "it after MPI_Win_lock_all");
  drain(win, "MPI_Win_unlock_all");
  if (checking()) flushed(win, -1, false);
  a.epoch = Epoch::kNone;
  a.hot_rank = -1;
  std::vector<int32_t> held_ranks;
  for (const auto& [rank, target] : a.targets)
    if (target.lock != LockKind::kNone && !target.no_check) held_ranks.push_back(rank);
  a.targets.clear();
  for (int32_t rank : held_ranks) release(win, rank, LockKind::kShared);
  yield_on_repeated_call();
  return extract_failure(&a);
}

namespace {

Status check_passive(const Win* win, int32_t rank) {
  const MemberEpochs* a = win->access.get();
  const Epoch epoch = a ? a->epoch : Epoch::kNone;
  if (epoch == Epoch::kLockAll) return {};
  if (epoch != Epoch::kLock) return wrong_epoch(win, "it between a lock and its unlock");
  if (rank < 0) return {};
  auto found = a->targets.find(rank);
  if (found != a->targets.end() && found->second.lock != LockKind::kNone) return {};
  return error(MPI_ERR_RMA_SYNC, "%s has not locked rank %d; allowed are ranks that it has locked",
               name_of(win).c_str(), rank);
}

}  // namespace

namespace {

void wait_for_answers(Win* win, int32_t rank, bool local, const char* call) {
  MemberEpochs* a = win->access.get();
  const Target& target = a->targets[rank];
  wait_until(&a->parked, SyncWait(call, win, "for the answers of", rank),
             [&] { return (local ? target.unsent : target.outstanding) == 0; });
}

}  // namespace

Status flush(Win* win, int32_t rank, bool local, const char* call) {
  if (rank == MPI_PROC_NULL) return {};
  MemberEpochs* a = win->access.get();
  // The target reached last is one that the epoch allows. While accesses are checked, none is
  // remembered.
  if (!a || a->hot_rank != rank || a->epoch < Epoch::kLock) {
    FGMPI_TRY(check_passive(win, rank));
    a = win->access.get();
    if (checking()) {
      if (a->outstanding != 0) wait_for_answers(win, rank, local, call);
      flushed(win, rank, local);
    }
  }
  if (__builtin_expect(a->outstanding != 0, 0)) wait_for_answers(win, rank, local, call);
  if (!local) make_visible(a);
  yield_on_repeated_call();
  return extract_failure(a);
}

Status flush_all(Win* win, bool local, const char* call) {
  MemberEpochs& a = access_of(win);
  FGMPI_TRY(check_passive(win, -1));
  if (a.outstanding)
    wait_until(&a.parked, SyncWait(call, win, "for the answers to its operations", -1),
               [&] { return (local ? a.unsent : a.outstanding) == 0; });
  if (checking()) flushed(win, -1, local);
  if (!local) make_visible(&a);
  yield_on_repeated_call();
  return extract_failure(&a);
}

Status sync(Win*) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  yield_on_repeated_call();
  return {};
}

// ---- Fence --------------------------------------------------------------------------------------

Status fence_after_all(Win* win, int assertion) {
  constexpr int kAllowed =
      MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
  FGMPI_TRY(check_assertion(assertion, kAllowed,
                            "a sum of MPI_MODE_NOSTORE, _NOPUT, _NOPRECEDE and _NOSUCCEED"));
  MemberEpochs& a = access_of(win);
  if (a.epoch > Epoch::kFence) return wrong_epoch(win, "it when they are closed");
  if (a.exposed)
    return error(MPI_ERR_RMA_SYNC,
                 "%s is in an exposure epoch of MPI_Win_post; allowed is it after MPI_Win_wait",
                 name_of(win).c_str());
  if (__builtin_expect(a.outstanding != 0 || a.stores, 0)) drain(win, "MPI_Win_fence");
  if (checking()) fence_begins(win, assertion);
  // The barrier's messages order what is stored and loaded on either side
  __atomic_thread_fence(__ATOMIC_ACQ_REL);
  // Even with MPI_MODE_NOPRECEDE the epoch that begins must not reach a member that has not come.
  // Nothing ends and nothing begins only with both.
  const int idle = MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
  if ((assertion & idle) != idle) FGMPI_TRY(coll::barrier(win->comm, "MPI_Win_fence"));
  Status checked = checking() ? fence_passed(win, assertion) : Status();
  a.epoch = assertion & MPI_MODE_NOSUCCEED ? Epoch::kNone : Epoch::kFenced;
  a.hot_rank = -1;
  if (!a.targets.empty()) a.targets.clear();
  FGMPI_TRY(std::move(checked));
  return extract_failure(&a);
}

// ---- Post, start, complete, wait ----------------------------------------------------------------

namespace {

/// The ranks in the window of a group's members. Errors: MPI_ERR_GROUP.
Status ranks_of(const Win* win, const comm::Group* group, std::vector<int32_t>* out) {
  const RankMap& all = win->comm->shared->map;
  out->clear();
  for (int32_t i = 0; i < group->map.size(); ++i) {
    const int32_t world = group->map.world_of(i);
    const int32_t rank = all.rank_of(world);
    if (rank < 0)
      return error(MPI_ERR_GROUP,
                   "rank %d of group (rank %d of MPI_COMM_WORLD) is not in the window's group", i,
                   world);
    out->push_back(rank);
  }
  return {};
}

/// Sends one message to each process of the group.
void notify_group(Win* win, RmaMessageKind kind, const std::vector<int32_t>& ranks) {
  std::map<uint32_t, std::vector<int32_t>> by_process;
  for (int32_t rank : ranks) by_process[win->comm->peer(rank).process].push_back(rank);
  for (const auto& [process, theirs] : by_process)
    notify_ranks(win->shared, process, kind, win->comm->rank, theirs);
}

// These two inform the decider of the notices that members send to each other.
void record_notices_sent(const Win* win, const std::vector<int32_t>& ranks,
                         WindowNotice::NoticeKind kind) {
  if (__builtin_expect(g_access_decider == nullptr, 1)) return;
  for (int32_t rank : ranks)
    g_access_decider->record_notice_sent(
        {win->shared->id.bits, win->comm->rank, rank, kind, win->comm->peer(rank).local});
}
void record_notice_received(const Win* win, int32_t from, WindowNotice::NoticeKind kind) {
  if (__builtin_expect(g_access_decider != nullptr, 0))
    g_access_decider->record_notice_received(
        {win->shared->id.bits, from, win->comm->rank, kind, win->comm->peer(from).local});
}

void wake(Handshake* handshake) {
  handshake->parked.wake();
  if (sched::Waiter* waiter = std::exchange(handshake->news, nullptr)) waiter->count_down();
}

}  // namespace

void wake_waiting(SharedWin* shared) {
  for (auto& [rank, handshake] : shared->handshakes) wake(&handshake);
  for (auto& [rank, first] : shared->lock_waits)
    for (const LockWait* wait = first; wait; wait = wait->next)
      if (wait->proclet->state == sched::ProcletState::kParked) sched::ready(wait->proclet);
}

void on_posted(SharedWin* shared, int32_t from, const int32_t* ranks, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Handshake& handshake = shared->handshakes[ranks[i]];
    handshake.posted.insert(from);
    wake(&handshake);
  }
}

void on_completed(SharedWin* shared, const int32_t* ranks, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Handshake& handshake = shared->handshakes[ranks[i]];
    ++handshake.completed;
    wake(&handshake);
  }
}

Status post(Win* win, const comm::Group* group, int assertion) {
  FGMPI_TRY(check_assertion(assertion, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT,
                            "a sum of MPI_MODE_NOCHECK, _NOSTORE and _NOPUT"));
  MemberEpochs& a = access_of(win);
  if (a.exposed)
    return error(MPI_ERR_RMA_SYNC,
                 "%s is in an exposure epoch already; allowed is it after MPI_Win_wait",
                 name_of(win).c_str());
  if (a.epoch == Epoch::kFence) return wrong_epoch(win, "it after a fence with MPI_MODE_NOSUCCEED");
  std::vector<int32_t> ranks;
  FGMPI_TRY(ranks_of(win, group, &ranks));
  if (a.epoch == Epoch::kFenced) a.epoch = Epoch::kNone;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  a.exposed = true;
  a.expected = static_cast<uint32_t>(ranks.size());
  Status checked = checking() ? exposure_begins(win, assertion) : Status();
  record_notices_sent(win, ranks, WindowNotice::kPosted);
  if (!(assertion & MPI_MODE_NOCHECK)) notify_group(win, RmaMessageKind::kPosted, ranks);
  return checked;
}

Status start(Win* win, const comm::Group* group, int assertion) {
  FGMPI_TRY(check_assertion(assertion, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK"));
  FGMPI_TRY(check_idle(win));
  MemberEpochs& a = access_of(win);
  FGMPI_TRY(ranks_of(win, group, &a.started));
  std::sort(a.started.begin(), a.started.end());
  if (!(assertion & MPI_MODE_NOCHECK)) {
    Handshake& handshake = win->shared->handshakes[win->comm->rank];
    for (int32_t rank : a.started) {
      FGMPI_TRY(wait_for_member(&handshake.parked,
                                SyncWait("MPI_Win_start", win, "for MPI_Win_post of", rank),
                                [&] { return handshake.posted.count(rank) > 0; }));
      handshake.posted.erase(rank);
      record_notice_received(win, rank, WindowNotice::kPosted);
    }
  }
  if (checking()) access_begins(win);
  a.epoch = Epoch::kStart;
  a.hot_rank = -1;
  return {};
}

Status complete(Win* win) {
  MemberEpochs& a = access_of(win);
  if (a.epoch != Epoch::kStart) return wrong_epoch(win, "it after MPI_Win_start");
  drain(win, "MPI_Win_complete");
  if (checking()) access_completed(win);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  a.epoch = Epoch::kNone;
  a.hot_rank = -1;
  a.targets.clear();
  record_notices_sent(win, a.started, WindowNotice::kCompleted);
  notify_group(win, RmaMessageKind::kCompleted, a.started);
  a.started.clear();
  return extract_failure(&a);
}

namespace {

/// True where so many origins have completed. May switch.
bool test_exposure(Win* win, Handshake& handshake, uint32_t expected, const char* call) {
  if (expected == 0) return true;  // the group of MPI_Win_post was empty: nobody can be late
  if (__builtin_expect(pt2pt::g_message_decider != nullptr, 0))
    return pt2pt::g_message_decider->decide_test(
        win, expected,
        [](const void* w, uint64_t wanted) {
          const auto* looking = static_cast<const Win*>(w);
          return looking->shared->handshakes[looking->comm->rank].completed >= wanted;
        },
        call);
  if (handshake.completed < expected) {
    pt2pt::progress();
    SyncWait site(call, win, "for MPI_Win_complete of its origins", -1);
    pt2pt::let_others_run_after_look(&handshake.news, &site);
  }
  return handshake.completed >= expected;
}

}  // namespace

Status wait(Win* win, int* flag, const char* call) {
  MemberEpochs& a = access_of(win);
  if (!a.exposed)
    return error(MPI_ERR_RMA_SYNC, "%s is in no exposure epoch; allowed is it after MPI_Win_post",
                 name_of(win).c_str());
  Handshake& handshake = win->shared->handshakes[win->comm->rank];
  if (flag) {
    *flag = test_exposure(win, handshake, a.expected, call);
    if (!*flag) return hopeless(win, -1);
  } else {
    Status waited = wait_for_member(&handshake.parked,
                                    SyncWait(call, win, "for MPI_Win_complete of its origins", -1),
                                    [&] { return handshake.completed >= a.expected; });
    if (!waited.ok()) {
      a.exposed = false;
      handshake.completed = 0;
      return waited;
    }
  }
  handshake.completed -= a.expected;
  if (__builtin_expect(g_access_decider != nullptr, 0))
    for (int32_t rank = 0; rank < win->comm->size(); ++rank)
      record_notice_received(win, rank, WindowNotice::kCompleted);
  if (checking()) exposure_ended(win);
  a.exposed = false;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return {};
}

// ---- Targets ------------------------------------------------------------------------------------

Status open_another_target(Win* win, int32_t rank, const char* call) {
  MemberEpochs& a = access_of(win);
  switch (a.epoch) {
    case Epoch::kNone:
      return wrong_epoch(win,
                         "it after MPI_Win_fence, MPI_Win_start, MPI_Win_lock or MPI_Win_lock_all");
    case Epoch::kFenced:
      a.epoch = Epoch::kFence;
      break;
    case Epoch::kFence:
      break;
    case Epoch::kStart:
      if (std::binary_search(a.started.begin(), a.started.end(), rank)) break;
      return error(MPI_ERR_RMA_SYNC,
                   "target_rank is %d; allowed are ranks of the group that MPI_Win_start of %s had",
                   rank, name_of(win).c_str());
    case Epoch::kLock:
      FGMPI_TRY(check_passive(win, rank));
      break;
    case Epoch::kLockAll: {
      if (a.no_check) break;
      Target& target = a.targets[rank];
      if (target.lock != LockKind::kNone) break;
      await_other_thread(win, rank, call);
      if (target.lock != LockKind::kNone) break;
      FGMPI_TRY(acquire(win, rank, LockKind::kShared, call));
      target.lock = LockKind::kShared;
      break;
    }
  }
  if (a.hot_of != rank) a.hot = reach_of(win, rank);
  a.hot_of = rank;
  a.hot_rank = checking() || g_access_decider ? -1 : rank;
  return {};
}

}  // namespace fgmpi::rma
