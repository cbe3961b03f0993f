// The calls of MPI of a rank with several threads: which of them two strands (strands.h) may make
// in either order, or at the same time, though MPI forbids it or the result depends on it.
//
// Thread rule: as CheckedCall.
#pragma once

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "check/call.h"
#include "check/threads/strands.h"

namespace fgmpi::check {

class ThreadCalls {
 public:
  explicit ThreadCalls(ThreadOrder* order) : order_(order) {}
  /// MPI is about to make the call, or has made it. REQUIRES: the order is active.
  void begin(CheckedCall* call);
  void end(CheckedCall* call);

 private:
  struct StrandCall {
    StrandEvent event;
    CallRecord call;
  };
  /// The last call of each strand of one kind.
  using LastCalls = std::vector<StrandCall>;
  /// A receive, or a probe and the receive that follows it.
  struct ThreadReceive {
    StrandEvent begin, end;  ///< end.count 0: it has not returned
    StrandKnowledge known;   ///< at its begin
    LockSet locks = 0;       ///< held from begin to end
    MPI_Comm comm = MPI_COMM_NULL;
    int source = 0, tag = 0;
    bool probes = false;
    CallRecord call;  ///< the receive, or the probe
  };

  /// Which other strand's call is not ordered with the calling one? By a mutex alone if `firm`.
  const StrandCall* unordered(const LastCalls& calls, const StrandEvent& now, bool firm);
  static void replace(LastCalls* calls, const StrandCall& made);
  bool is_ordered(const StrandEvent& event, bool firm) { return order_->knows(event, firm); }
  void check_level(CheckedCall* call);
  void check_collective(CheckedCall* call);
  void check_completion(CheckedCall* call);
  void check_freed(CheckedCall* call);
  void record_completion(CheckedCall* call);
  void record_objects(CheckedCall* call);
  void begin_receive(CheckedCall* call);
  void end_receive(CheckedCall* call);
  void record_probe(CheckedCall* call);
  void check_probe(CheckedCall* call, const ThreadReceive& probe);
  void report_taken(CheckedCall* call, const ThreadReceive& probe, const ThreadReceive& receive);

  ThreadOrder* const order_;
  StrandEvent now_;
  LastCalls calls_;
  std::map<MPI_Comm, LastCalls> collectives_;
  std::map<const MPI_Request*, StrandCall> completed_;
  std::map<std::pair<Object, uint64_t>, LastCalls> objects_;
  std::deque<ThreadReceive> receives_;  ///< of all strands, the last ones
  std::map<uint8_t, ThreadReceive>
      probed_;  ///< by strand: a probe whose message is not received yet
};

}  // namespace fgmpi::check
