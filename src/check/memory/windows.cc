// Windows: conflicting accesses, which the library finds (src/rma/check.h), and epochs.
#include <algorithm>
#include <cstring>

#include "base/strings.h"
#include "check/call.h"
#include "check/extensions.h"
#include "check/memory/accesses.h"
#include "check/threads/strands.h"

namespace fgmpi::check {

MPI_Win window_of(const CallRecord& call) {
  const CallInfo& info = call.info();
  for (int i = 0; i < info.count; ++i) {
    const Parameter& p = info.parameters[i];
    if (p.object != Object::kWin || p.life == Life::kCreated) continue;
    return p.pointer ? *reinterpret_cast<const MPI_Win*>(call.words[i])
                     : static_cast<MPI_Win>(call.words[i]);
  }
  return MPI_WIN_NULL;
}

const CallRecord* call_here(const Rank* rank) {
  if (!rank) return nullptr;
  if (!g_process.threads) return rank->current;
  const auto found = std::find_if(
      rank->inside.rbegin(), rank->inside.rend(),
      [](const CheckedCall* call) { return pthread_equal(call->thread(), pthread_self()); });
  return found == rank->inside.rend() ? nullptr : &(*found)->record();
}

namespace {

/// Accesses in epochs of fences or MPI_Win_post are being passed to the library outside of a call.
/// The process has no threads then.
bool g_tells_epochs = false;

/// Accesses outside of such epochs are being passed to the library.
bool g_tells_used = false;

unsigned long long place_of_call() {
  const CallRecord* call = call_here(current_rank());
  return call ? call->site : 0;
}

enum class Verb : uint8_t { kReads, kWrites, kAccumulates, kForbids };
Verb verb_of(const MPIX_Tool_access& access) {
  return *access.verb == 'r'   ? Verb::kReads
         : *access.verb == 'w' ? Verb::kWrites
         : *access.verb == 'f' ? Verb::kForbids
                               : Verb::kAccumulates;
}

const char* sentence_of(Verb a, Verb b) {
  if (a > b) std::swap(a, b);
  if (b == Verb::kForbids)
    return "memory of a window is changed for which MPI_MODE_NOPUT says that it is not";
  if (b == Verb::kAccumulates)
    return a == b ? "accumulates of different operations or types use the same memory of a window "
                    "at the same time"
                  : "an accumulate and another access use the same memory of a window at the same "
                    "time";
  return a == b ? "two accesses write the same memory of a window at the same time"
                : "memory of a window is written that another access reads at the same time";
}

/// Is it a load or store of the program, or of a function of the C library that it called?
bool is_of_program(const MPIX_Tool_access& access) { return std::strncmp(access.call, "MPI", 3); }

bool is_load(const MPIX_Tool_access& access) {
  return is_of_program(access) && verb_of(access) == Verb::kReads;
}

/// Reports a store of the program to memory that another access in a lock epoch is updating.
void report_of_locks(std::vector<findings::Participant> calls) {
  report(FindingKind::kWindows,
         "the program writes memory of a window that another access changes and has not completed",
         "the other flushes or unlocks, and tells it, before that begins", std::move(calls));
}

/// Reports a load of the program and an operation in an epoch of locks, of which neither need come
/// first: with the unified model only the value is open (MPI-4.0 section 12.7).
void report_load(std::vector<findings::Participant> calls) {
  report(
      FindingKind::kWindows,
      "the program reads memory of a window that another access changes, and nothing orders them",
      "the other flushes or unlocks and tells the program, by a message or a collective, before "
      "it reads; with MPI_WIN_UNIFIED harmless if either value may be read",
      std::move(calls), true);
}

/// Reports two ranks that give a fence different assertions.
void report_assertions(const MPIX_Tool_access& a, const MPIX_Tool_access& b) {
  std::vector<findings::Participant> calls = {{a.rank, a.call, "", a.place, a.verb},
                                              {b.rank, b.call, "", b.place, b.verb}};
  if (std::strstr(a.verb, "without")) std::swap(calls[0], calls[1]);
  report(FindingKind::kWindows, "members of a window give MPI_Win_fence different assertions",
         "all give MPI_MODE_NOPRECEDE, or none does, and so with MPI_MODE_NOSUCCEED",
         std::move(calls));
}

/// Is the current call made in an epoch of locks?
bool is_in_locks(const Rank& rank) {
  const CallRecord* call = call_here(&rank);
  const auto found = call ? rank.epochs.find(window_of(*call)) : rank.epochs.end();
  return found != rank.epochs.end() && (found->second.all_locked || !found->second.locked.empty());
}

/// Reports a store of the program before an operation of an epoch of locks that need not follow it.
void report_unordered(std::vector<findings::Participant> calls) {
  report(FindingKind::kWindows,
         "the program writes memory of a window that another access uses, and nothing orders them",
         "after the store a message, a collective or a lock tells the other that it may begin",
         std::move(calls));
}

/// Reports a conflict of the program with a one-sided operation in an epoch of fences or
/// MPI_Win_post. In the separate memory model a load that meets an update is wrong, and so is a
/// store that meets a get. The unified model only leaves open which value is read (MPI-4.0 section
/// 12.7), so these are notes if the program has asked for the model.
void report_of_program(const MPIX_Tool_access& program, const MPIX_Tool_access& other,
                       std::vector<findings::Participant> calls) {
  const bool writes = *program.verb == 'w', updates = *other.verb != 'r', both = writes && updates;
  std::string allowed =
      "it does so in another epoch: MPI_Win_fence or MPI_Win_wait is between them";
  if (!both) allowed += "; with MPI_WIN_UNIFIED harmless only if either value may be read";
  report(FindingKind::kWindows,
         format("the program %s memory of a window that another access %s in the same epoch",
                writes ? "writes" : "reads", updates ? "changes" : "reads"),
         allowed, std::move(calls), !both && g_process.asked_model);
}

/// The known arguments of a call that has returned: the target of a one-sided operation.
std::string arguments_of(const MPIX_Tool_access& access) {
  for (const char* word : {"put", "Put", "get", "Get", "ccumulate", "Fetch_and_op", "Compare_and"})
    if (std::strstr(access.call, word)) return format("target_rank=%d", access.target);
  return "";
}

/// Called by the library in the call that makes the second access.
void on_conflict(const MPIX_Tool_access* second, const MPIX_Tool_access* first, const char* where) {
  const Rank* rank = current_rank();
  const CallRecord* call = call_here(rank);
  if (!g_process.on || !rank || (!call && !is_of_program(*second))) return;
  if (where && !*where) return report_assertions(*second, *first);
  const char* use = where ? where : "the same memory of its own";
  auto role = [&](const MPIX_Tool_access& access) {
    return where ? format("%s %s of the memory of rank %d", access.verb, use, access.target)
                 : format("%s it", access.verb);
  };
  findings::Participant now =
      is_of_program(*second) || second->place != call->site
          ? findings::Participant{second->rank, second->call, arguments_of(*second), second->place,
                                  role(*second)}
          : participant(rank, *call, role(*second).c_str());
  findings::Participant before{first->rank, first->call, arguments_of(*first), first->place,
                               role(*first)};
  std::vector<findings::Participant> calls = {std::move(now), std::move(before)};
  if (!where) {
    calls[1].role = format("%s it and is not complete", first->verb);
    report(FindingKind::kWindows,
           "the origin memory of a one-sided operation is used before it is complete",
           "it is the program's again when a flush or the end of the epoch has completed the "
           "operation",
           std::move(calls));
    return;
  }
  // The two orders of the same accesses are one finding.
  if (calls[1].site < calls[0].site) std::swap(calls[0], calls[1]);
  const bool outside = g_process.threads ? !call : rank->calls == 0;
  if (outside && !g_tells_epochs) return report_of_locks(std::move(calls));
  if (is_load(*second) ? g_tells_used : is_load(*first) && is_in_locks(*rank))
    return report_load(std::move(calls));
  if (is_of_program(*first) && is_in_locks(*rank)) return report_unordered(std::move(calls));
  if (is_of_program(*second)) return report_of_program(*second, *first, std::move(calls));
  if (is_of_program(*first)) return report_of_program(*first, *second, std::move(calls));
  const Verb verbs[] = {verb_of(*first), verb_of(*second)};
  if (verbs[0] == Verb::kForbids || verbs[1] == Verb::kForbids)
    return void(report(FindingKind::kWindows, sentence_of(verbs[0], verbs[1]),
                       "MPI_MODE_NOPUT where no put or accumulate of the epoch reaches the memory",
                       std::move(calls)));
  report(
      FindingKind::kWindows, sentence_of(verbs[0], verbs[1]),
      "one ends its epoch, or flushes, and tells the other before that begins; or both accumulate "
      "with the same operation",
      std::move(calls));
}

/// The windows of the rank, or their memory, have changed.
void update_windows(Rank* rank) {
  rank->has_windows = !rank->windows.empty();
  ++rank->epoch;  // calls may have buffers in windows now that had none
  rank->update_times.clear();
  if (MPIX_Tool_update_times && rank->has_windows) {
    rank->update_times.resize(static_cast<size_t>(MPIX_Tool_update_times(nullptr, 0)));
    MPIX_Tool_update_times(rank->update_times.data(), static_cast<int>(rank->update_times.size()));
  }
  if (rank->owned) rank->owned->expose(rank->windows);
}

/// Adds the memory of other members of a shared window: the ranges in front of the rank's own and
/// behind it. Gaps between segments are included; nobody accesses them.
void add_segments(Rank* rank, MPI_Win window, uintptr_t low, uintptr_t high) {
  MPI_Group group = MPI_GROUP_NULL;
  int size = 0;
  g_next.MPI_Win_get_group(window, &group);
  g_next.MPI_Group_size(group, &size);
  g_next.MPI_Group_free(&group);
  uintptr_t first = low, last = high;
  for (int i = 0; i < size; ++i) {
    MPI_Aint bytes = 0;
    int unit = 0;
    void* base = nullptr;
    g_next.MPI_Win_shared_query(window, i, &bytes, &unit, static_cast<void*>(&base));
    if (bytes <= 0) continue;
    const auto at = reinterpret_cast<uintptr_t>(base);
    if (first == last) first = low = high = last = at;  // the rank has no memory of its own
    first = std::min(first, at);
    last = std::max(last, at + static_cast<uintptr_t>(bytes));
  }
  if (first < low) rank->windows.push_back({first, low, window, false, false, false, false, false});
  if (high < last) rank->windows.push_back({high, last, window, false, false, false, false, false});
}

/// Tracks the memory of a window that the rank has made.
void add_window(Rank* rank, MPI_Win window) {
  void *base = nullptr, *size = nullptr, *flavor = nullptr;
  int found[3] = {};
  g_next.MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, static_cast<void*>(&flavor), &found[0]);
  g_next.MPI_Win_get_attr(window, MPI_WIN_BASE, static_cast<void*>(&base), &found[1]);
  g_next.MPI_Win_get_attr(window, MPI_WIN_SIZE, static_cast<void*>(&size), &found[2]);
  if (!found[0] || !found[1] || !found[2] ||
      *static_cast<const int*>(flavor) == MPI_WIN_FLAVOR_DYNAMIC)
    return;
  const auto low = reinterpret_cast<uintptr_t>(base);
  const auto bytes = static_cast<uintptr_t>(*static_cast<const MPI_Aint*>(size));
  const bool shared = *static_cast<const int*>(flavor) == MPI_WIN_FLAVOR_SHARED;
  if (bytes > 0)
    rank->windows.push_back({low, low + bytes, window, true, false, false, false, !shared});
  if (shared) add_segments(rank, window, low, low + bytes);
  update_windows(rank);
}

void record_window_made(const CheckedCall* call, MPI_Win window) {
  Rank* rank = call->rank();
  Epochs& epochs = rank->epochs[window];
  g_process.has_windows = true;
  epochs.stack = reinterpret_cast<uintptr_t>(call);
  MPI_Group group = MPI_GROUP_NULL;
  g_next.MPI_Win_get_group(window, &group);
  g_next.MPI_Group_rank(group, &epochs.rank);
  g_next.MPI_Group_free(&group);
  if (g_process.wants(FindingKind::kWindows)) add_window(rank, window);
}

void remove_window(Rank* rank, MPI_Win window) {
  std::erase_if(rank->windows, [&](const Exposed& e) { return e.win == window; });
  update_windows(rank);
}

/// MPI_Win_attach and MPI_Win_detach of dynamic windows.
void record_attached(Rank* rank, const CheckedCall& call, MPI_Win window, bool in_epoch) {
  const auto low = static_cast<uintptr_t>(call.at(call.find("base")));
  if (call.record().id == kCall_MPI_Win_detach)
    std::erase_if(rank->windows, [&](const Exposed& e) { return e.win == window && e.low == low; });
  else if (const auto bytes = static_cast<uintptr_t>(call.at(call.find("size"))); bytes > 0)
    rank->windows.push_back({low, low + bytes, window, true, in_epoch, false, false, true});
  update_windows(rank);
}

/// `own`: changes only the rank's own memory, which the rank exposes itself.
void set_epoch(Rank* rank, MPI_Win window, bool epoch, bool own) {
  for (Exposed& e : rank->windows) {
    if (e.win != window || e.epoch == epoch || (own && !e.own)) continue;
    e.epoch = epoch;
    if (rank->owned) rank->owned->expose(rank->windows);
  }
}

void set_synchronised(Rank* rank, MPI_Win window) {
  for (Exposed& e : rank->windows) {
    if (e.win != window || e.synchronised) continue;
    e.synchronised = true;
    if (rank->owned) rank->owned->expose(rank->windows);
  }
}

/// The most operations that are tracked at a time for one window.
constexpr size_t kMostOperations = 4096;

/// The buffers of a one-sided operation, as regions.
Regions regions_of(const CheckedCall& call) {
  const CallInfo& info = call.info();
  Regions regions;
  for (unsigned set = info.sets.buffers; set; set &= set - 1) {
    const int i = __builtin_ctz(set);
    const Parameter& p = info.parameters[i];
    // The functions for single elements have neither a count nor a datatype for each buffer.
    const int type = p.second >= 0 ? p.second : call.find("datatype");
    Region r;
    r.base = reinterpret_cast<const char*>(call.at(i));
    r.writes = p.what != ParameterUse::kRead;
    if (type < 0 || !r.base ||
        (!r.writes && call.has(&Positions::op) && call.value(&Positions::op) == MPI_NO_OP))
      continue;
    r.type = static_cast<MPI_Datatype>(call.at(type));
    r.count = p.length >= 0 ? call.at(p.length) : 1;
    const TypeLayout* layout = layout_of(r.type);
    if (!layout || layout->size == 0 || r.count <= 0) continue;
    set_reach(&r, *layout);
    r.begun = true;
    regions.push_back(std::move(r));
  }
  return regions;
}

/// Marks the origin buffers of a one-sided operation as owned until its epoch ends or a flush
/// completes it. An operation with a request is tracked by that request.
void begin_one_sided(CheckedCall* call, Epochs* epochs) {
  const CallInfo& info = call->info();
  Rank* rank = call->rank();
  epochs->requested |= info.at.target >= 0 && info.starts == Starts::kNonblocking;
  if (!rank->owned || info.at.target < 0 || info.starts != Starts::kBlocking) return;
  const int64_t target = call->value(&Positions::target);
  if (target == MPI_PROC_NULL || epochs->operations.size() >= kMostOperations) return;
  Regions regions = regions_of(*call);
  if (regions.empty()) return;
  // A loop over an array gets one operation for all its adjoining buffers.
  if (!epochs->operations.empty() && regions.size() == 1 && regions[0].exact) {
    OneSided& last = epochs->operations.back();
    const bool same_strand = !rank->order || last.strand == rank->order->strand_here();
    Region& old = last.operation->regions[0];
    const Region& fresh = regions[0];
    if (same_strand && last.target == target && last.operation->call->id == call->record().id &&
        last.operation->call->site == call->record().site && last.operation->regions.size() == 1 &&
        old.exact && old.low <= fresh.high && fresh.low <= old.high) {
      rank->owned->remove(last.operation.get());
      old.low = std::min(old.low, fresh.low);
      old.high = std::max(old.high, fresh.high);
      return rank->owned->add(last.operation.get());
    }
  }
  auto operation = std::make_unique<RequestOperation>();
  operation->call = call->kept();
  operation->regions = std::move(regions);
  rank->owned->add(operation.get());
  if (rank->order) begin_threaded_use(rank, *operation);
  epochs->operations.push_back(
      {target, std::move(operation), rank->order ? rank->order->strand_here() : 0});
}

/// A flush completes the operations of all strands of its rank. A strand whose own flush comes
/// after another's knows by its own that they are complete.
void end_again(Rank* rank, Epochs* epochs, int64_t target) {
  std::erase_if(epochs->ended_by_others, [&](const OneSided& one) {
    if ((target >= 0 && one.target != target) || one.strand != rank->order->strand_here())
      return false;
    rank->order->end_use_again(one.operation.get());
    return true;
  });
}

/// The operations to a target, or all (-1), are complete at their origin.
void end_one_sided(Rank* rank, Epochs* epochs, int64_t target = -1) {
  if (rank->order) end_again(rank, epochs, target);
  std::erase_if(epochs->operations, [&](OneSided& one) {
    if (target >= 0 && one.target != target) return false;
    if (rank->owned) rank->owned->remove(one.operation.get());
    if (!rank->order) return true;
    end_threaded_use(rank, *one.operation);
    if (one.strand == rank->order->strand_here()) return true;
    if (epochs->ended_by_others.size() < kMostOperations)
      epochs->ended_by_others.push_back(std::move(one));
    return true;
  });
}

/// A flush, or the end of an epoch of locks, completes the operations with requests, too: their
/// buffers are the program's again, though MPI_Wait has not completed the requests.
void end_requested(Rank* rank, MPI_Win window, Epochs* epochs, int64_t target = -1) {
  if (!epochs->requested) return;
  epochs->requested = false;
  rank->requests.for_each([&](MPI_Request handle, RequestOperation& operation) {
    const CallRecord& call = *operation.call;
    if (call.info().at.target < 0 || window_of(call) != window || operation.released) return;
    if (target < 0 || call.at(call.info().at.target) == target)
      end_regions(rank, handle, &operation);
    else
      epochs->requested = true;
  });
}

/// The operations in epochs of locks to a target, or to all (-1), are complete at their origin.
void end_passive(Rank* rank, MPI_Win window, Epochs* epochs, int64_t target = -1) {
  end_one_sided(rank, epochs, target);
  end_requested(rank, window, epochs, target);
}

void end_target(const CheckedCall* call, MPI_Win window, Epochs* epochs) {
  if (const int64_t target = call->at(call->find("rank")); target != MPI_PROC_NULL)
    end_passive(call->rank(), window, epochs, target);
}

template <class Visit>
void for_each_call(const Epochs& epochs, Visit visit) {
  if (epochs.fence && epochs.fence_operation) visit(*epochs.fence, "MPI_Win_fence");
  if (epochs.started) visit(*epochs.started, "MPI_Win_complete");
  if (epochs.posted) visit(*epochs.posted, "MPI_Win_wait");
  if (epochs.all_locked) visit(*epochs.all_locked, "MPI_Win_unlock_all");
  for (const auto& [target, call] : epochs.locked) visit(call, "MPI_Win_unlock");
}

}  // namespace

void follow_conflicts() {
  if (is_wanted() && MPIX_Tool_conflicts &&
      (kinds_asked() & findings::bit_of(FindingKind::kWindows))) {
    follow_order();
    MPIX_Tool_conflicts(place_of_call, on_conflict);
  }
}

namespace {

/// Can another rank begin, because of this call, something that must follow the accesses that the
/// rank made before it?
bool orders_accesses_of_others(const CallRecord& call) {
  const CallInfo& info = call.info();
  const bool operation = info.at.target >= 0;
  if (info.hides_order) return !operation && call.id != kCall_MPI_Win_test;
  return info.role != CallRole::kOther || info.has_file;
}

}  // namespace

namespace {

/// Was the access in an epoch of fences or MPI_Win_post?
bool is_in_epoch(const Rank& rank, const OwnedMemory::Touched& t) {
  return std::any_of(rank.windows.begin(), rank.windows.end(), [&](const Exposed& e) {
    return e.win == t.win && e.epoch && e.meets(t.low, t.high - t.low);
  });
}

void record_store(Rank* rank, const OwnedMemory::Touched& t, uint64_t site) {
  if (t.writes)
    record_change(
        rank, t.low, t.high,
        {rank->world, words_of(t.function, t.writes), "", site, "has changed the memory"});
}

}  // namespace

void compare_exposed_accesses(CheckedCall* call) {
  Rank* rank = call->rank();
  if (!MPIX_Tool_accessed || rank->windows.empty()) return;
  const CallRecord& record = call->record();
  const bool keeps_all = !orders_accesses_of_others(record);
  // Other ranks may make accesses in the epoch that this call ends until all have come to the call.
  const bool ends = record.id == kCall_MPI_Win_fence || record.id == kCall_MPI_Win_wait;
  const MPI_Win ended = ends ? window_of(record) : MPI_WIN_NULL;
  for (Exposed& e : rank->windows) {
    if (!e.kept || keeps_all || e.win == ended) continue;
    MPIX_Tool_accessed(e.win, nullptr, 0, 0, "", 0, 0);
    e.kept = false;
  }
  for (const OwnedMemory::Touched& t : rank->owned->extract_touched()) {
    const bool keeps = keeps_all || t.win == ended;
    const uint64_t site = site_of(t.place);
    record_store(rank, t, site);
    if (!is_in_epoch(*rank, t)) {
      g_tells_used = true;
      MPIX_Tool_used(reinterpret_cast<const void*>(t.low), static_cast<MPI_Count>(t.high - t.low),
                     t.writes, words_of(t.function, t.writes), site);
      g_tells_used = false;
      continue;
    }
    MPIX_Tool_accessed(t.win, reinterpret_cast<const void*>(t.low),
                       static_cast<MPI_Count>(t.high - t.low), t.writes,
                       words_of(t.function, t.writes), site, keeps);
    if (!keeps) continue;
    for (Exposed& e : rank->windows) e.kept |= e.win == t.win;
  }
}

void compare_touched_now(Rank* rank) {
  g_tells_epochs = true;
  for (const OwnedMemory::Touched& t : rank->owned->extract_touched()) {
    if (!is_in_epoch(*rank, t)) continue;
    const uint64_t site = site_of(t.place);
    record_store(rank, t, site);
    MPIX_Tool_accessed(t.win, reinterpret_cast<const void*>(t.low),
                       static_cast<MPI_Count>(t.high - t.low), t.writes,
                       words_of(t.function, t.writes), site, 1);
    for (Exposed& e : rank->windows) e.kept |= e.win == t.win;
  }
  g_tells_epochs = false;
}

void update_exposed(Rank* rank) {
  bool changed = false;
  for (Exposed& e : rank->windows) {
    const bool is = MPIX_Tool_under_way && MPIX_Tool_under_way(e.win);
    changed |= is != e.under_way;
    e.under_way = is;
  }
  if (changed) rank->owned->expose(rank->windows);
}

bool is_of_epochs(int error_class) {
  return error_class == MPI_ERR_RMA_SYNC || error_class == MPI_ERR_RMA_CONFLICT;
}

void record_unknown_order(CheckedCall* call) {
  g_process.order_unknown = true;
  const CallInfo& info = call->info();
  const bool has_window = std::any_of(info.parameters, info.parameters + info.count,
                                      [](const Parameter& p) { return p.object == Object::kWin; });
  if (!has_window) learn_everything(call->rank());
}

void record_epochs_after(CheckedCall* call) {
  const CallRecord& record = call->record();
  if (record.id == kCall_MPI_Win_free) {
    const int at = call->find("win");
    const auto freed = static_cast<MPI_Win>(call->old[at]);
    end_one_sided(call->rank(), &call->rank()->epochs[freed]);
    write_targets_given(call->rank(), freed);
    call->rank()->epochs.erase(freed);
    remove_window(call->rank(), freed);
    return;
  }
  const CallInfo& info = call->info();
  for (int i = 0; i < info.count; ++i)
    if (info.parameters[i].object == Object::kWin && info.parameters[i].life == Life::kCreated)
      record_window_made(call, *reinterpret_cast<const MPI_Win*>(record.words[i]));
  const MPI_Win window = window_of(record);
  if (window == MPI_WIN_NULL) return;
  Epochs& epochs = call->rank()->epochs[window];
  auto expose = [&](bool exposed) { set_epoch(call->rank(), window, exposed, true); };
  switch (record.id) {
    case kCall_MPI_Win_get_attr:
      if (call->at(call->find("win_keyval")) == MPI_WIN_MODEL) g_process.asked_model = true;
      break;
    case kCall_MPI_Win_fence:
      end_one_sided(call->rank(), &epochs);
      record_fence(*call, &epochs);
      set_epoch(call->rank(), window, epochs.fenced, false);
      break;
    case kCall_MPI_Win_attach:
    case kCall_MPI_Win_detach:
      if (g_process.wants(FindingKind::kWindows))
        record_attached(call->rank(), *call, window, epochs.fenced || epochs.posted);
      break;
    case kCall_MPI_Win_start:
      epochs.started = record;
      break;
    case kCall_MPI_Win_complete:
      end_one_sided(call->rank(), &epochs);
      epochs.started.reset();
      break;
    case kCall_MPI_Win_post:
      epochs.posted = record;
      expose(true);
      break;
    case kCall_MPI_Win_test:
      if (!*reinterpret_cast<const int*>(call->at(call->find("flag")))) break;
      [[fallthrough]];
    case kCall_MPI_Win_wait:
      epochs.posted.reset();
      expose(false);
      break;
    case kCall_MPI_Win_lock:
      if (const int64_t target = call->at(call->find("rank")); target != MPI_PROC_NULL)
        epochs.locked[target] = record;
      break;
    case kCall_MPI_Win_flush:
    case kCall_MPI_Win_flush_local:
      end_target(call, window, &epochs);
      break;
    case kCall_MPI_Win_flush_all:
    case kCall_MPI_Win_flush_local_all:
      end_passive(call->rank(), window, &epochs);
      break;
    case kCall_MPI_Win_unlock:
      end_target(call, window, &epochs);
      epochs.locked.erase(call->at(call->find("rank")));
      break;
    case kCall_MPI_Win_sync:
      set_synchronised(call->rank(), window);
      break;
    case kCall_MPI_Win_lock_all:
      epochs.all_locked = record;
      break;
    case kCall_MPI_Win_unlock_all:
      end_passive(call->rank(), window, &epochs);
      epochs.all_locked.reset();
      break;
    default:
      record_operation(*call, &epochs);
      begin_one_sided(call, &epochs);
      break;
  }
}

void add_epochs(const Rank* rank, const CallRecord& call,
                std::vector<findings::Participant>* calls) {
  if (auto found = rank->epochs.find(window_of(call)); found != rank->epochs.end())
    for_each_call(found->second, [&](const CallRecord& opening, const char*) {
      calls->push_back(participant(rank, opening, "has begun an epoch that is open"));
    });
}

void report_epochs_left(Rank* rank) {
  for (const auto& [window, epochs] : rank->epochs)
    for_each_call(epochs, [&](const CallRecord& opening, const char* end) {
      report(FindingKind::kWindows, format("an epoch of a window is never ended by %s", end),
             "an epoch ends before the window is freed", {participant(rank, opening)});
    });
}

}  // namespace fgmpi::check
