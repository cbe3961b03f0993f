// A call that the rank has made before, with correct arguments. Nearly all calls of a loop are like
// that. A few comparisons suffice for it in place of the work of CheckedCall. The classes derived
// from Repeated do what CheckedCall does for such a call and no more; any difference from the
// earlier call leaves the call to CheckedCall. They skip the rules that depend on arguments alone.
// Each class lists in kRuns the other rules of its calls, which its code runs (rules.h); the steps
// of these rules are the functions that CheckedCall's rules use, too (messages.h, agreement.h).
//
//   repeated_call() -> a class's begin() -> MPI -> its after()
//       | null              | false: nothing was done
//       v                   v
//   remembered_call()      CheckedCall
//
// Thread rule: as CheckedCall (call.h). Never switches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "check/call.h"
#include "check/extensions.h"
#include "check/wire/outbox.h"

namespace fgmpi::check {

/// The record of this call, if the last time it also followed the rank's previous call and its
/// arguments are correct; else null.
template <size_t kCount>
[[gnu::always_inline]] inline RememberedCall* repeated_call(Calls id, const void* place,
                                                            const int64_t (&words)[kCount]) {
  const Rank* rank = running_rank();
  if (!rank || rank->short_path != __builtin_thread_pointer()) return nullptr;
  RememberedCall* guess = rank->guess;
  const bool same = guess->is(id, place, words, kCount) &&
                    guess->is_known(rank->epoch, RememberedCall::kFine);  // also of this rank
  return same ? guess : nullptr;
}

/// As repeated_call(), where the last time another call followed, as at the end of a loop: searches
/// all calls that the rank remembers.
RememberedCall* remembered_call(Calls id, const void* place, const int64_t* words, size_t count);

/// The common base of the classes of repeated_collectives.h and repeated_messages.h: marks the rank
/// as being in the call, and counts the call.
class Repeated {
 public:
  explicit Repeated(RememberedCall* same) : rank_(running_rank()), same_(same) {}
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;

 protected:
  [[gnu::always_inline]] ~Repeated() {
    if (rank_) leave();
  }
  /// Leaves the call to CheckedCall.
  bool leave_to_full_call() {
    rank_ = nullptr;
    return false;
  }
  /// The call is handled by this object.
  [[gnu::always_inline]] void enter() {
    Rank* rank = rank_;
    // Calls with buffers in windows are never kFine.
    if (rank->has_windows) [[unlikely]]
      learn_of_updates_quickly(rank);
    rank->begin_call(same_);
    rank->last_call = same_;
    rank->guess = same_->next_call;
    same_->prefetch_next();
    ++rank->calls;
    ++rank->communications;
  }
  /// MPI has returned.
  [[gnu::always_inline]] void return_from_mpi() {
    if (g_attention.load(std::memory_order_acquire)) [[unlikely]]
      locked_ = attend();
  }
  [[gnu::always_inline]] void leave() {
    --rank_->calls;
    rank_->current = nullptr;
    rank_->in_call = false;
    rank_->short_path = rank_->guess ? __builtin_thread_pointer() : nullptr;
    if (g_attention.load(std::memory_order_relaxed)) [[unlikely]]
      leave_attended(rank_, locked_);
  }
  WaitingCall waiting() const { return {rank_, same_, same_}; }

  Rank* rank_;
  RememberedCall* same_;

 private:
  // Static, so that the compiler can hold the wrapper's copy of this object in registers.
  static int attend();
  static void leave_attended(Rank* rank, int locked);

  int locked_ = 0;
};

}  // namespace fgmpi::check
