// A call that the rank has made before, with nothing wrong about its arguments: looked at in a few
// comparisons, in place of by Call. Such are nearly all calls of a loop. What Call does with such a
// call is done here too, and no more; whatever is not known to be as before is for Call.
//
//   repeated_call() -> a class's begin() -> MPI -> its after()
//       | null              | false: nothing was done
//       v                   v
//   remembered_call()      Call
//
// Thread rule: as Call (call.h). Never switches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "check/call.h"
#include "check/extensions.h"
#include "check/outbox.h"

namespace fgmpi::check {

/// The call, if it is what followed the rank's last one the last time, with nothing wrong about its
/// arguments; else null.
template <size_t kCount>
[[gnu::always_inline]] inline KeptCall* repeated_call(Calls id, const void* place,
                                                      const int64_t (&words)[kCount]) {
  const Rank* rank = running_rank();
  if (!rank || rank->short_path != __builtin_thread_pointer()) return nullptr;
  KeptCall* guess = rank->guess;
  const bool same = guess->is(id, place, words, kCount) &&
                    guess->is_known(rank->epoch, KeptCall::kFine);  // of this rank, too
  return same ? guess : nullptr;
}

/// The same where another call of the rank followed then, as where a loop ends: any call that it
/// remembers.
KeptCall* remembered_call(Calls id, const void* place, const int64_t* words, size_t count);

/// What repeated_collectives.h and repeated_messages.h have in common: the rank is in the call, and
/// it is counted.
class Repeated {
 public:
  explicit Repeated(KeptCall* same) : rank_(running_rank()), same_(same) {}
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;

 protected:
  [[gnu::always_inline]] ~Repeated() {
    if (rank_) leave();
  }
  /// It is left to Call.
  bool give_up() {
    rank_ = nullptr;
    return false;
  }
  /// It is looked at here.
  [[gnu::always_inline]] void enter() {
    Rank* rank = rank_;
    rank->short_path = nullptr;
    rank->last_call = same_;
    rank->guess = same_->next_call;
    same_->prefetch_next();
    ++rank->calls;
    ++rank->communications;
    rank->current = same_;
    rank->in_call = true;
  }
  /// MPI has made the call.
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
  Waiting waiting() const { return {rank_, same_, same_}; }

  Rank* rank_;
  KeptCall* same_;

 private:
  // Static, so that what a wrapper keeps of the call need not be in memory.
  static int attend();
  static void leave_attended(Rank* rank, int locked);

  int locked_ = 0;
};

}  // namespace fgmpi::check
