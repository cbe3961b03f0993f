// A collective call that the rank has made before, after another member of this process has made
// the same one (repeated.h). The call enters and leaves the collective (agreement.cc) and adds a
// step to the unbuffered run of the rank (unbuffered.h). A nonblocking call reuses the operation of
// the last one like it, with its regions (RememberedCall::operation). Thread rule: as CheckedCall
// (call.h). Never switches.
#pragma once

#include <cstdint>

#include "check/collectives/agreement.h"
#include "check/collectives/arrays.h"
#include "check/repeated/repeated.h"

namespace fgmpi::check {

class RepeatedCall : public Repeated {
 public:
  static constexpr RuleSet kRuns = set_of_rules(
      kRule_check_pending_buffers, kRule_check_collective_before, kRule_record_requests_after,
      kRule_record_collective_after, kRule_report_error_after);
  using Repeated::Repeated;
  /// Before MPI makes the call. Returns false without effect where CheckedCall must handle the
  /// call.
  [[gnu::always_inline]] bool begin() {
    CollectiveEntry* e = find_quickly();
    blocks_ = e != nullptr;
    if (!e && !(e = find_entry(rank_, same_))) return leave_to_full_call();
    const RememberedCall::Enters& enters = same_->enters;
    own_ = enters.own;
    if (rank_->knows.left_early_by(own_->comm->key, own_->collectives) >= 0) [[unlikely]]
      return leave_to_full_call();
    enter();
    entry_ = e;
    CheckedComm* c = own_->comm;
    const uint64_t number = own_->collectives++;
    step_enter_at_once(c, own_->rank, number);
    count_arrival(rank_, *c, e, enters.tells);
    if (enters.has_details && e->details) store_repeater(same_, e);
    if (e->arrived == c->local_members) all_here_have_called(*c, number, e);
    progress_by_call();
    return true;
  }

  static bool arrays_are_same(const RememberedCall& call) {
    return hash_of_arrays(static_cast<Calls>(call.id), call.words, *call.enters.own) == call.arrays;
  }
  /// Does a call that has_details() repeat what it declared in the base of the entry?
  static bool repeats(const RememberedCall& call, const CollectiveEntry& e) {
    return (call.known & RememberedCall::kDeclared) && e.details && repeats_base(call, e) &&
           (!call.enters.has_arrays || arrays_are_same(call));
  }

  /// MPI has returned. REQUIRES: begin() has returned true.
  [[gnu::always_inline]] void after(int result) {
    // Other ranks have run meanwhile: prefetch what is read below and by the rank's next call.
    __builtin_prefetch(own_);
    __builtin_prefetch(&same_->enters);
    __builtin_prefetch(&rank_->knows);
    __builtin_prefetch(rank_);
    return_from_mpi();
    const CollectiveCall collective = {own_->comm, own_->collectives - 1, same_->enters.is_root};
    if (result != MPI_SUCCESS) [[unlikely]] {
      report_error_result(rank_, *same_, result);
    } else if (blocks_ || same_->enters.is_blocking) {
      const CheckedComm& c = *collective.comm;
      leave_collective(rank_, same_->enters.learns_of, c, collective.number, entry_);
      if (may_wait(c, collective.number)) step_need_members(waiting(), collective, nullptr);
    } else {
      record_repeated_collective(rank_, same_, collective);
    }
    progress_by_call();
  }

 private:
  /// The entry of a blocking call, where no operation is pending; null where a quick
  /// answer is impossible.
  [[gnu::always_inline]] CollectiveEntry* find_quickly() const {
    const RememberedCall& call = *same_;
    const RememberedCall::Enters& enters = call.enters;
    if (!(call.known & RememberedCall::kEnters) || !enters.is_blocking || !is_quiet(*rank_) ||
        g_attention.load(std::memory_order_acquire))
      return nullptr;
    CollectiveEntry* e = enters.own->comm->calls->find(enters.own->collectives);
    if (!e) return nullptr;
    if (enters.is_plain) {
      if (!enters.root_differs) return e->agreed == enters.agreed ? e : nullptr;
      return repeats_first(*e, enters.agreed, true, enters.is_root) ? e : nullptr;
    }
    return enters.has_details && e->arrived && repeats(call, *e) ? e : nullptr;
  }
  /// Is it possible that a member for which the rank waits has not entered the call yet?
  bool may_wait(const CheckedComm& c, uint64_t number) const {
    const RememberedCall::Enters& enters = same_->enters;
    if (awaits_nobody_known(enters.awaits)) return false;
    if (rank_->unbuffered.written) return true;
    if (c.entered->all() > number) return false;
    return enters.awaits == AwaitedMembers::kAll || !enters.root_is_here ||
           c.entered->calls[static_cast<size_t>(enters.root)] <= number;
  }
  /// Has the rank no pending operation, and no step to be made, that its collective calls would
  /// have to be compared with or wait behind?
  static bool is_quiet(const Rank& rank) {
    return rank.begun.empty() && rank.regions.empty() && is_free(rank.unbuffered) && !rank.events;
  }
  /// The entry of any call; null where CheckedCall must handle it.
  static CollectiveEntry* find_entry(Rank* rank, RememberedCall* call);
  static void store_repeater(RememberedCall* call, CollectiveEntry* e);

  CollectiveEntry* entry_;
  OwnComm* own_;
  bool blocks_;  ///< find_quickly() has found the entry, so the call is blocking
};

/// MPI_Wait for a nonblocking collective. As RepeatedCall.
class CollectiveWait : public Repeated {
 public:
  static constexpr RuleSet kRuns =
      set_of_rules(kRule_check_requests_before, kRule_record_requests_after);
  using Repeated::Repeated;
  /// Before MPI makes the call. Returns false without effect where CheckedCall must handle the
  /// call.
  bool begin();
  ~CollectiveWait() {
    if (rank_) rank_->given = {};
  }
  void after(int result);

 private:
  Rank::Requests::TableEntry* request_ = nullptr;
  MPI_Request handle_ = MPI_REQUEST_NULL;
};

}  // namespace fgmpi::check
