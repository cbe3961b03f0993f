// A collective call that the rank has made before, after another member of this process has made the same one (repeated.h): it
// enters and leaves the collective (agreement.cc), and is a step of the rank (unbuffered.h). A nonblocking one takes the
// operation that the last one like it has left, with its regions (KeptCall::operation).
// Thread rule: as Call (call.h). Never switches.
#pragma once

#include <cstdint>

#include "tools/check/repeated.h"

namespace fgmpi::check {

struct Entry;

class RepeatedCall : public Repeated {
 public:
  using Repeated::Repeated;
  /// Before MPI makes the call; false: nothing was done, Call is to look at it.
  bool begin();
  /// MPI has made the call. REQUIRES: begin() has returned true.
  void after(int result);

 private:
  [[gnu::noinline]] Entry* find_entry();
  [[gnu::always_inline]] inline Entry* find_plain() const;

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
