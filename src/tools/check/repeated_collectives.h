// A collective call that the rank has made before, after another member of this process has made the same one (repeated.h): it
// enters and leaves the collective (agreement.cc), and is a step of the rank (unbuffered.h). A nonblocking one takes the
// operation that the last one like it has left, with its regions (KeptCall::operation).
// Thread rule: as Call (call.h). Never switches.
#pragma once

#include <cstdint>

#include "tools/check/repeated.h"

namespace fgmpi::check {

struct Entry;

class RepeatedCall : Repeated {
 public:
  /// Before MPI makes the call; false: nothing was done, Call is to look at it.
  template <size_t kCount>
  bool begin(Calls id, const void* place, const int64_t (&words)[kCount]) {
    return find(id, place, words) && (look() || give_up());
  }
  /// MPI has made the call. REQUIRES: begin() has returned true.
  void after(int result);

 private:
  bool look();
  [[gnu::always_inline]] inline bool buffers_are_free(const CallInfo& info) const;
  [[gnu::always_inline]] inline bool may_enter(const CallInfo& info);

  OwnComm* own_ = nullptr;
  Entry* entry_ = nullptr;
  CollectiveCall collective_;
};

/// MPI_Wait for a nonblocking collective, as RepeatedCall.
class CollectiveWait : Repeated {
 public:
  ~CollectiveWait() {
    if (rank_) rank_->given = {};
  }
  template <size_t kCount>
  bool begin(Calls id, const void* place, const int64_t (&words)[kCount]) {
    return find(id, place, words) && (look() || give_up());
  }
  void after(int result);

 private:
  bool look();

  Rank::Requests::Entry* request_ = nullptr;
  MPI_Request handle_ = MPI_REQUEST_NULL;
};

}  // namespace fgmpi::check
