// A call between its entry and its return: filling its record, checking it, and
// returning its lists.

#include "check/call.h"

#include <unistd.h>

#include <cstring>

#include "base/hash.h"
#include "check/collectives/arrays.h"
#include "check/extensions.h"
#include "check/memory/accesses.h"
#include "check/memory/own_memory.h"
#include "watch/places.h"

namespace fgmpi::check {

void CheckedCall::lock() {
  if (g_process.threads && !locked_) locked_ = MPIX_Tool_enter();
}

void CheckedCall::unlock() {
  if (locked_) MPIX_Tool_leave(1);
  locked_ = false;
}

uint64_t agreed_of(const CallRecord& call) {
  const CallInfo& info = call.info();
  uint64_t hash = call.id;
  if (is_in_place_for_all(call)) hash = mix(hash, 1);
  for (unsigned set = info.sets.agreed; set; set &= set - 1) {
    const int i = __builtin_ctz(set);
    if (info.parameters[i].object == Object::kDatatype &&
        !is_predefined(static_cast<int>(call.words[i])))
      return 0;
    hash = mix(hash, static_cast<uint64_t>(call.words[i]));
  }
  return hash | 1;
}

uint64_t CheckedCall::agreed() const {
  return remembered_ ? remembered_->enters.agreed : agreed_of(*record_);
}

namespace {

void fill(CallRecord* record, Calls id, const void* place, const int64_t* words) {
  record->id = id;
  record->place = 0;
  std::memcpy(record->words, words, sizeof(int64_t) * kCalls[id].count);
  record->site = site_of(place);
}

/// Finds the rank's record of an equal call, or makes one for the next time.
RememberedCall* remember(Rank* rank, Calls id, const void* place, const int64_t* words) {
  const CallInfo& info = kCalls[id];
  const uint64_t hash = call_hash(id, place, words, info.count);
  if (RememberedCall* same = rank->find_remembered(hash, id, place, words, info.count)) return same;
  SharedCall& r = rank->remembered_at(hash)[rank->next_way++ % kRememberedWays];
  if (r) {
    if (r->info().at.target >= 0) write_rank_given(rank, *r);
    r->rank = nullptr;
    r->known_in = 0;
  }
  if (!r || r.shared())
    r = SharedCall::make();
  else
    r->let_go();
  fill(r.get(), id, place, words);
  r->rank = rank;
  r->place = reinterpret_cast<uintptr_t>(place);
  r->next_call = nullptr;
  const bool collective = info.role == CallRole::kCollective || info.role == CallRole::kCreation;
  if (collective) {
    r->enters = {};
    if (info.role == CallRole::kCollective) r->enters.agreed = agreed_of(r);
  } else {
    r->messages = {};
  }
  return r.get();
}

}  // namespace

void CheckedCall::begin(Calls id, const void* place, const int64_t* words) {
  // A call within a call must not change the outer one's record, and all of Fortran's calls return
  // to one address.
  if (!outer_ || g_process.threads || findings::from_fortran(place)) {
    fill(&own_.emplace(), id, place, words);
    record_ = &*own_;
    if (outer_ && !g_process.threads) write_rank_given(rank_, *record_);
    return;
  }
  RememberedCall* r = rank_->last_call ? rank_->last_call->next_call : nullptr;
  if (!r || r->rank != rank_ || !r->is(id, place, words, kCalls[id].count)) {
    r = remember(rank_, id, place, words);
    if (rank_->last_call) rank_->last_call->next_call = r;
  }
  rank_->last_call = remembered_ = r;
  record_ = r;
  r->prefetch_next();
}

namespace {

/// A hash of a collective's arrays; 0 where there are none or their length is unknown.
uint64_t arrays_of(Rank* rank, const CallRecord& call) {
  const auto id = static_cast<Calls>(call.id);
  if (!has_arrays(id)) return 0;
  const OwnComm* own = rank->comm_of(static_cast<MPI_Comm>(call.at(call.info().at.comm)));
  return own ? hash_of_arrays(id, call.words, *own) : 0;
}

}  // namespace

template <RulePhase kPhase>
[[gnu::always_inline]] inline void CheckedCall::run_rules(RuleSet set) {
#define FGMPI_CHECK_RULE(function, phase, depends_on, calls) \
  if constexpr (RulePhase::phase == kPhase)                  \
    if (set & set_of_rules(kRule_##function)) function(this);
#define FGMPI_CHECK_MODE_RULE(function, mode)
#include "check/rules.def"
}

/// Checks the call's arguments, as far as its record does not show that they are correct.
void CheckedCall::check_arguments() {
  constexpr RuleSet kOfState = rules_that_depend_on(DependsOn::kState);
  RememberedCall* const kept = remembered_;
  const uint64_t arrays = kept ? arrays_of(rank_, *kept) : 0;
  const bool may_keep = kept && (info().sets.in_words || arrays);
  if (kept && kept->arrays != arrays) kept->known_in = 0;
  const RuleSet rules = kRulesOf[record_->id];
  if (may_keep && kept->is_known(rank_->epoch, RememberedCall::kFine))
    return run_rules<RulePhase::kCheck>(rules & kOfState);
  const uint64_t before = g_process.reports;
  run_rules<RulePhase::kCheck>(rules);
  if (!may_keep || g_process.reports != before || uses_windows(*this)) return;
  kept->set_known(rank_->epoch, RememberedCall::kFine);
  kept->arrays = arrays;
}

CheckedCall::CheckedCall(Calls id, const void* place, int64_t* words) : rank_(current_rank()) {
  if (!rank_ || rank_->ended) {
    rank_ = nullptr;
    return;
  }
  const bool own_thread = pthread_equal(thread_, rank_->thread);
  if (!own_thread && !may_call(rank_, id, place, words)) {
    rank_ = nullptr;  // this thread must not change the rank's state
    return;
  }
  calls_ = own_thread ? &rank_->calls : &g_calls_of_thread;
  ++*calls_;
  lock();
  handle_arrived();
  if (!rank_->begun.empty()) make_operations(rank_);
  if (rank_->owned || g_process.threads) report_accesses();
  if (rank_->owned) g_process.pid = process_number();
  outer_ = !rank_->in_call || g_process.threads;
  begin(id, place, words);
  before_ = rank_->current;
  rank_->begin_call(record_);
  if (g_process.threads) enter_call(this);
  const uint64_t before = g_process.reports;
  // Loads and stores since the last call come before what this call lets the rank know. But those
  // of a rank with threads may follow what one of them has found in the memory.
  if (rank_->has_windows && g_process.threads) learn_of_windows(this);
  if (rank_->owned && (own_thread || g_process.threads) && outer_) compare_exposed_accesses(this);
  if (rank_->has_windows && !g_process.threads) learn_of_windows(this);
  if (rank_->owned && own_thread && outer_) check_program_objects(this);
  if (!rank_->regions.empty() && rank_->regions.size() <= kFewPending && own_thread && outer_)
    check_frames(this, place, static_cast<const char*>(__builtin_frame_address(0)));
  const uint64_t of_arguments = g_process.of_arguments;
  check_arguments();
  if (rank_->order) begin_threaded_call(this);
  rank_->arguments_told = g_process.of_arguments != of_arguments;
  if (info().role != CallRole::kOther) ++rank_->communications;
  run_rules<RulePhase::kBegin>(kRulesOf[record_->id]);
  reported_ = g_process.reports != before;
  progress_by_call();
  unlock();
}

CheckedCall::~CheckedCall() {
  if (!rank_) return;
  --*calls_;
  rank_->current = before_;
  if (lists_) return_lists();  // MPI has thrown an exception
  if (!outer_) return;
  rank_->in_call = rank_->arguments_told = false;
  rank_->guess_next();
}

Lists* CheckedCall::borrow_lists() {
  auto& spare = rank_->spare_lists;
  if (spare.empty()) return new Lists;
  Lists* taken = spare.back().release();
  spare.pop_back();
  return taken;
}

void CheckedCall::return_lists() {
  lists_->clear();
  rank_->spare_lists.emplace_back(lists_);
  lists_ = nullptr;
  rank_->given = {};
}

void CheckedCall::after(int result) {
  if (!rank_) return;
  result_ = result;
  lock();
  attend_to_others();
  const RuleSet rules = kRulesOf[record_->id];
  if (result == MPI_SUCCESS || info().role == CallRole::kCompletion) {
    run_rules<RulePhase::kReturn>(rules);
    if (rank_->has_windows && result == MPI_SUCCESS) record_used_memory_after(this);
  } else {
    reports_at_error_ = g_process.reports;
    run_rules<RulePhase::kError>(rules);
  }
  progress_by_call();
  if (rank_->owned && !rank_->windows.empty() && outer_) update_exposed(rank_);
  if (rank_->order) end_threaded_call(this);
  if (had_threads_) leave_call(this);
  // Counts of records' users are not atomic, so a record must be released under the lock.
  posted.reset();
  if (lists_) return_lists();
  unlock();
}

MPI_Status* CheckedCall::status(MPI_Status* of_program) {
  if (!rank_) return of_program;
  status_.clear_own();
  return status_.choose(of_program, of_program && (alone || posted));
}

MPI_Status* CheckedCall::statuses(MPI_Status* of_program, int count) {
  if (!rank_ || count <= 0) return of_program;
  if (of_program != MPI_STATUSES_IGNORE) {
    status_.set(of_program, true);
    return of_program;
  }
  std::vector<MPI_Status>& own = lists().statuses;
  if (own.size() < static_cast<size_t>(count)) own.resize(static_cast<size_t>(count));
  status_.set(own.data(), false);
  return own.data();
}

MPI_Request CheckedCall::real(MPI_Request request) {
  return rank_ ? real_request(rank_, request) : request;
}

std::vector<MPI_Request> CheckedCall::real(const MPI_Request* requests, int count) {
  std::vector<MPI_Request> found(requests, requests + (requests ? std::max(count, 0) : 0));
  for (MPI_Request& request : found) request = real(request);
  return found;
}

int CheckedCall::find(const char* name) const {
  for (int i = 0; i < info().count; ++i)
    if (!std::strcmp(info().parameters[i].name, name)) return i;
  return -1;
}

}  // namespace fgmpi::check
