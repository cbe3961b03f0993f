// A call that the rank has made before, with nothing wrong about its arguments: looked at in a few comparisons, in place of by
// Call. Such are nearly all calls of a loop. What Call does with such a call is done here too, and no more; whatever is not
// known to be as before is for Call.
// Thread rule: as Call (call.h). Never switches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tools/check/call.h"
#include "tools/check/extensions.h"
#include "tools/check/outbox.h"

namespace fgmpi::check {

/// What repeated_collectives.h and repeated_messages.h have in common: the rank is in the call, and it is counted.
class Repeated {
 public:
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;

 protected:
  Repeated() = default;
  ~Repeated() {
    if (rank_) leave();
  }
  /// Is the rank in no call, and has it made this one before? Sets rank_ and same_.
  template <size_t kCount>
  [[gnu::always_inline]] bool find(Calls id, const void* place, const int64_t (&words)[kCount]) {
    Rank* rank = running_rank();
    if (!rank || !may_be_followed(*rank)) return false;
    take_arrived();
    KeptCall* guess = rank->guessed_call();
    if (!guess || !guess->is(id, place, words, kCount) ||
        !guess->is_known(rank->epoch, KeptCall::kFine))
      return false;
    rank_ = rank;
    same_ = guess;
    return true;
  }
  /// It is left to Call.
  bool give_up() {
    rank_ = nullptr;
    return false;
  }
  /// It is looked at here.
  [[gnu::always_inline]] void enter() {
    Rank* rank = rank_;
    rank->last_call = same_;
    same_->prefetch_next();
    ++rank->calls;
    ++rank->communications;
    before_ = rank->current;
    rank->current = same_;
    rank->in_call = true;
  }
  /// MPI has made the call.
  [[gnu::always_inline]] void return_from_mpi() {
    // Another rank of the process may have raised the level of threads meanwhile.
    locked_ = g_process.threads ? MPIX_Tool_enter() : 0;
    take_arrived();
    if (!g_process.deadlock.empty()) withdraw_deadlock();
  }
  void leave() {
    if (locked_) MPIX_Tool_leave(locked_);
    --rank_->calls;
    rank_->current = before_;
    rank_->in_call = false;
  }
  Waiting waiting() const { return {rank_, same_, same_}; }

  Rank* rank_ = nullptr;
  KeptCall* same_ = nullptr;

 private:
  static bool may_be_followed(const Rank& rank) {
    return !rank.in_call && !rank.ended && !rank.owned && !g_process.threads &&
           !g_process.unbuffered && pthread_equal(pthread_self(), rank.thread);
  }

  const CallRecord* before_ = nullptr;
  int locked_ = 0;
};

/// Class::look() says whether the call that was found is as before in all that the class looks at; then it has entered it.
template <class Class>
class Begins : protected Repeated {
 public:
  /// Before MPI makes the call; false: nothing was done, Call is to look at it.
  template <size_t kCount>
  bool begin(Calls id, const void* place, const int64_t (&words)[kCount]) {
    return find(id, place, words) && (static_cast<Class*>(this)->look() || give_up());
  }
};

}  // namespace fgmpi::check
