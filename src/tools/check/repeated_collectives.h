// A collective call that the rank has made before, after another member of this process has made the same one (repeated.h): it
// enters and leaves the collective (agreement.cc), and is a step of the rank (unbuffered.h). A nonblocking one takes the
// operation that the last one like it has left, with its regions (KeptCall::operation).
// Thread rule: as Call (call.h). Never switches.
#pragma once

#include <cstdint>

#include "tools/check/repeated.h"

namespace fgmpi::check {

struct Entry;

class RepeatedCall : public Begins<RepeatedCall> {
 public:
  /// MPI has made the call. REQUIRES: begin() has returned true.
  void after(int result);

 private:
  friend Begins;
  bool look();
  [[gnu::always_inline]] inline bool buffers_are_free(const CallInfo& info) const;
  [[gnu::always_inline]] inline bool may_enter(const CallInfo& info);

  OwnComm* own_ = nullptr;
  Entry* entry_ = nullptr;
  CollectiveCall collective_;
};

/// MPI_Wait for a nonblocking collective, as RepeatedCall.
class CollectiveWait : public Begins<CollectiveWait> {
 public:
  ~CollectiveWait() {
    if (rank_) rank_->given = {};
  }
  void after(int result);

 private:
  friend Begins;
  bool look();

  Rank::Requests::Entry* request_ = nullptr;
  MPI_Request handle_ = MPI_REQUEST_NULL;
};

}  // namespace fgmpi::check
