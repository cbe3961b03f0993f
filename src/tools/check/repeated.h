// A blocking collective call that the rank has made before, with nothing wrong about it, after another member of this process
// has made the same one: looked at in a few comparisons, in place of by Call. Such are nearly all calls of a loop.
//
// What Call does with such a call is done here too, and no more: the rank is in it, it is counted, it enters and leaves the
// collective (agreement.cc), and is a step of the rank (unbuffered.h). Whatever is not known to be as before is for Call.
// Thread rule: as Call (call.h). Never switches.
#pragma once

#include <cstdint>

#include "tools/check/rank.h"

namespace fgmpi::check {

struct Entry;

class RepeatedCall {
 public:
  RepeatedCall() = default;
  RepeatedCall(const RepeatedCall&) = delete;
  RepeatedCall& operator=(const RepeatedCall&) = delete;
  /// Before MPI makes the call; false: nothing was done, Call is to look at it.
  bool begin(Calls id, const void* place, const int64_t* words);
  /// MPI has made the call. REQUIRES: begin() has returned true.
  void after(int result);

 private:
  [[gnu::always_inline]] inline bool find(Calls id, const void* place, const int64_t* words);
  [[gnu::always_inline]] inline bool may_enter(const CallInfo& info, const int64_t* words);

  Rank* rank_ = nullptr;
  KeptCall* same_ = nullptr;
  OwnComm* own_ = nullptr;
  Entry* entry_ = nullptr;
  CollectiveCall collective_;
  const CallRecord* before_ = nullptr;
};

}  // namespace fgmpi::check
