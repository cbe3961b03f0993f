// EarlyExitDecider: decides which member leaves a rooted collective before the others have arrived,
// where MPI does not require it to wait (src/explore, src/predict).
//
// A process has one only under mpiexec -explore, -replay and -predict. Then the functions of
// decided.h run the blocking rooted collectives of intracommunicators. Thread rule: one thread.
// Nothing here switches.
#pragma once

namespace fgmpi::coll {

class CollRequest;
struct Args;

/// A rank that waits for the others in a rooted collective, though MPI does not require that it
/// waits.
class EarlyExitWait {
 public:
  explicit EarlyExitWait(CollRequest* awaited) : request(awaited) {}
  virtual ~EarlyExitWait() = default;
  /// Could the rank return now, since what it needs of others has arrived?
  virtual bool may_leave() const = 0;
  CollRequest* const request;  ///< what the rank waits for
  bool left = false;           ///< the decider let the rank go on before `request` was complete
};

class EarlyExitDecider {
 public:
  virtual ~EarlyExitDecider() = default;
  /// These two enclose the wait for wait->request, whose waiter may be made ready before the
  /// request is complete (wait->left).
  virtual void begin_early_exit_wait(EarlyExitWait* wait) = 0;
  virtual void end_early_exit_wait(EarlyExitWait* wait) = 0;
  /// The running rank's next arrival at a meeting is that of a blocking collective with these
  /// arguments, which is not rooted.
  virtual void begin_blocking_collective(const Args&) {}
};

/// nullptr in all processes but those of mpiexec -explore, -replay and -predict.
extern EarlyExitDecider* g_early_exit_decider;

}  // namespace fgmpi::coll
