// Sends and receives that the rank has made before, with nothing wrong about them, and the calls that wait for such: looked at
// in a few comparisons, in place of by Call, as collective calls are by RepeatedCall (repeated.h).
//
// A nonblocking one leaves a Begun (rank.h). As soon as the rank makes a call that is not looked at here, or somebody asks what
// the rank waits for, make_operations() makes of all that has begun what Call would have made of it.
// Thread rule: as Call (call.h). Never switches.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "tools/check/call.h"

namespace fgmpi::check {

/// What all of them do.
class RepeatedOne {
 public:
  RepeatedOne(const RepeatedOne&) = delete;
  RepeatedOne& operator=(const RepeatedOne&) = delete;

 protected:
  RepeatedOne() = default;
  ~RepeatedOne() {
    if (rank_) leave();
  }
  /// Is the rank in no call, and has it made this one before, with nothing wrong about its arguments? Sets rank_ and same_.
  template <size_t kCount>
  [[gnu::always_inline]] bool find(Calls id, const void* place, const int64_t (&words)[kCount]) {
    Rank* rank = current_rank();
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
  /// It is looked at here.
  [[gnu::always_inline]] inline void enter();
  /// MPI has made the call.
  [[gnu::always_inline]] inline void return_from_mpi();
  /// It is left to Call.
  bool give_up() {
    rank_ = nullptr;
    return false;
  }
  void leave();
  Waiting waiting() const { return {rank_, same_, same_}; }

  Rank* rank_ = nullptr;
  KeptCall* same_ = nullptr;
  const CallRecord* before_ = nullptr;
  int entered_ = 0;

 private:
  static bool may_be_followed(const Rank& rank) {
    return !rank.in_call && !rank.ended && !rank.owned && !g_process.threads &&
           !g_process.unbuffered && pthread_equal(pthread_self(), rank.thread);
  }
};

/// MPI_Send, MPI_Recv and MPI_Sendrecv.
class RepeatedMessage : RepeatedOne {
 public:
  /// Before MPI makes the call; false: nothing was done, Call is to look at it.
  template <size_t kCount>
  bool begin(Calls id, const void* place, const int64_t (&words)[kCount]) {
    return find(id, place, words) && look();
  }
  /// MPI has made the call. REQUIRES: begin() has returned true.
  void after(int result);
  /// Where MPI is to write the status: the program's place, or one of our own.
  MPI_Status* status(MPI_Status* of_program);

 private:
  bool look();

  uint64_t message_ = 0;  ///< that it sends
  bool receives_ = false, status_read_ = false;
  bool taken_ = false;  ///< the receive of that has begun
  MPI_Status* told_ = nullptr;
  MPI_Status own_status_;
};

/// MPI_Isend, or MPI_Irecv.
template <bool kSends>
class RepeatedStart : RepeatedOne {
 public:
  template <size_t kCount>
  bool begin(Calls id, const void* place, const int64_t (&words)[kCount]) {
    return find(id, place, words) && look();
  }
  void after(int result);

 private:
  bool look();

  bool taken_ = false;
  uint64_t id_ = 0;  ///< Begun::id
};

/// MPI_Wait and MPI_Waitall.
class RepeatedWait : RepeatedOne {
 public:
  ~RepeatedWait();
  template <size_t kCount>
  bool begin(Calls id, const void* place, const int64_t (&words)[kCount]) {
    return find(id, place, words) && look();
  }
  void after(int result);
  /// What has begun is about to be made operations: they will be completed as by Call. Returns the requests that it was given.
  const std::vector<MPI_Request>* leave_to_call();

 private:
  bool look();
  bool find_begun();
  void complete();
  void complete_by_call(int result);
  void fill(MPI_Status* statuses) const;

  MPI_Request* list_ = nullptr;
  int count_ = 0;
  bool left_to_call_ = false;
  std::vector<MPI_Request> given_;
};

}  // namespace fgmpi::check
