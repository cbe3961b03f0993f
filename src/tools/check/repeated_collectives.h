// A collective call that the rank has made before, after another member of this process has made the same one (repeated.h): it
// enters and leaves the collective (agreement.cc), and is a step of the rank (unbuffered.h). A nonblocking one takes the
// operation that the last one like it has left, with its regions (KeptCall::operation).
// Thread rule: as Call (call.h). Never switches.
#pragma once

#include <cstdint>

#include "tools/check/agreement.h"
#include "tools/check/repeated.h"

namespace fgmpi::check {

struct Entry;

class RepeatedCall : public Repeated {
 public:
  using Repeated::Repeated;
  /// Before MPI makes the call; false: nothing was done, Call is to look at it.
  [[gnu::always_inline]] bool begin() {
    Entry* e = find_plain();
    plain_ = e != nullptr;
    if (!e && !(e = find_entry(rank_, same_))) return give_up();
    enter();
    const KeptCall::Enters& enters = same_->enters;
    own_ = enters.own;
    entry_ = e;
    Comm* c = own_->comm;
    const uint64_t number = own_->collectives++;
    step_enter_at_once(c, own_->rank, number);
    e->known_by_all.learn(rank_->knows);
    if (enters.tells) e->known_by_root = rank_->knows;
    if (!plain_ && e->details) keep_repeater(same_, e);
    if (++e->arrived == c->local_members) all_here_have_called(*c, number, e);
    progress_by_call();
    return true;
  }

  /// MPI has made the call. REQUIRES: begin() has returned true.
  [[gnu::always_inline]] void after(int result) {
    // What is read from here on, and by the rank's next call: other ranks have run.
    __builtin_prefetch(own_);
    __builtin_prefetch(&same_->enters);
    __builtin_prefetch(&rank_->knows);
    __builtin_prefetch(rank_);
    return_from_mpi();
    const CollectiveCall collective = {own_->comm, own_->collectives - 1, same_->enters.is_root};
    if (result != MPI_SUCCESS) [[unlikely]] {
      note_error(rank_, *same_, result);
    } else if (plain_ || same_->info().starts == Starts::kBlocking) {
      const Comm& c = *collective.comm;
      leave_collective(rank_, same_->enters.learns, c, collective.number, entry_);
      // A rank with no steps left, as one whose call is plain, gets none while it is in the call.
      if (!plain_ || c.entered->all() <= collective.number)
        step_need_members(waiting(), collective, nullptr);
    } else {
      note_again(rank_, same_, collective);
    }
    progress_by_call();
  }

 private:
  /// The entry of one that is_plain, where nothing is under way; null: not known.
  [[gnu::always_inline]] Entry* find_plain() const {
    const KeptCall& call = *same_;
    if (!(call.known & KeptCall::kEnters) || !call.enters.is_plain || !is_quiet(*rank_) ||
        g_attention.load(std::memory_order_acquire))
      return nullptr;
    const OwnComm& own = *call.enters.own;
    Entry* e = own.comm->calls->find(own.collectives);
    return e && e->agreed == call.enters.agreed ? e : nullptr;
  }
  /// Is no operation of the rank under way that its collective calls would have to be compared with, or wait behind?
  static bool is_quiet(const Rank& rank) {
    return rank.begun.empty() && rank.regions.empty() && is_free(rank.unbuffered) && !rank.events;
  }
  /// The entry of a call of any kind; null: Call is to look at it.
  static Entry* find_entry(Rank* rank, KeptCall* call);
  static void keep_repeater(KeptCall* call, Entry* e);

  Entry* entry_;
  OwnComm* own_;
  bool plain_;  ///< found by find_plain()
};

/// MPI_Wait for a nonblocking collective, as RepeatedCall.
class CollectiveWait : public Repeated {
 public:
  using Repeated::Repeated;
  /// Before MPI makes the call; false: nothing was done, Call is to look at it.
  bool begin();
  ~CollectiveWait() {
    if (rank_) rank_->given = {};
  }
  void after(int result);

 private:
  Rank::Requests::Entry* request_ = nullptr;
  MPI_Request handle_ = MPI_REQUEST_NULL;
};

}  // namespace fgmpi::check
