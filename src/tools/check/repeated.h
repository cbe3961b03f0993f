// A collective call that the rank has made before, with nothing wrong about it, after another member of this process has made
// the same one: looked at in a few comparisons, in place of by Call. Such are nearly all calls of a loop.
//
// What Call does with such a call is done here too, and no more: the rank is in it, it is counted, it enters and leaves the
// collective (agreement.cc), and is a step of the rank (unbuffered.h). Whatever is not known to be as before is for Call. A
// nonblocking one takes the operation that the last one like it has left, with its regions (KeptCall::operation).
// Thread rule: as Call (call.h). Never switches.
#pragma once

#include <cstdint>

#include "tools/check/rank.h"

namespace fgmpi::check {

struct Entry;

/// What both have in common: the rank is in a call that it has made before.
class Repeated {
 public:
  Repeated() = default;
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;

 protected:
  [[gnu::always_inline]] inline bool find(Calls id, const void* place, const int64_t* words);
  [[gnu::always_inline]] inline void enter();
  [[gnu::always_inline]] inline void returned();
  [[gnu::always_inline]] inline void leave();

  Rank* rank_ = nullptr;
  KeptCall* same_ = nullptr;

 private:
  const CallRecord* before_ = nullptr;
  int locked_ = 0;
};

class RepeatedCall : Repeated {
 public:
  /// Before MPI makes the call; false: nothing was done, Call is to look at it.
  bool begin(Calls id, const void* place, const int64_t* words);
  /// MPI has made the call. REQUIRES: begin() has returned true.
  void after(int result);

 private:
  [[gnu::always_inline]] inline bool buffers_are_free(const CallInfo& info) const;
  [[gnu::always_inline]] inline bool may_enter(const CallInfo& info, const int64_t* words);

  OwnComm* own_ = nullptr;
  Entry* entry_ = nullptr;
  CollectiveCall collective_;
};

/// MPI_Wait for a nonblocking collective, as RepeatedCall.
class CollectiveWait : Repeated {
 public:
  bool begin(Calls id, const void* place, const int64_t* words);
  void after(int result);

 private:
  Rank::Requests::Entry* request_ = nullptr;
  MPI_Request handle_ = MPI_REQUEST_NULL;
};

}  // namespace fgmpi::check
