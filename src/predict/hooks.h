// What src/meter, which is preloaded in front of the library, calls in a process whose times are
// predicted.
//
// Thread rule: the rank's own thread, in or between its calls of MPI. Functions that may switch say
// so.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace fgmpi::predict {

/// What a rank does in a call, for the sums of its time.
enum class CallGroup : uint8_t { kOther, kMessage, kCompletion, kCollective, kOneSided, kFile };

/// What is told where the time of ranks goes: libfgmpi-report. Times are those of the ranks'
/// clocks, ns; ranks are numbered as in this process. Nothing here may switch.
struct ClockObserver {
  /// The rank enters a call, or leaves it. `overhead`: what its messages have cost it so far.
  void (*enter)(uint32_t rank, int64_t now);
  void (*leave)(uint32_t rank, int64_t now, int64_t overhead);
  /// The rank has waited for the request with this index of its handle.
  void (*awaited)(uint32_t rank, uint32_t request, int64_t ns);
  /// The place of the rank's present call.
  uint64_t (*place)(uint32_t rank);
};

struct PredictionHooks {
  /// The running rank enters a call: what it has computed since its last call is added to its
  /// clock.
  void (*enter)(CallGroup group, uint64_t place);
  /// Whether enter() needs the place of its call.
  bool (*needs_places)();
  /// The rank leaves the call. A collective is left when the predicted machine would leave it. May
  /// switch.
  void (*leave)();
  /// Called before a persistent receive's request is used: when it was posted.
  void (*record_posted)(MPI_Request request);
  /// As leave(), in place of it, for a call that has posted a receive with this new request.
  void (*leave_receive)(MPI_Request request);
  /// These two enclose a wait for all of these requests. The first returns how many numbers it has
  /// put into `waited`, which has room for `count`; the second takes them.
  int (*begin_wait)(int count, const MPI_Request* requests, uint32_t* waited);
  void (*end_wait)(int waited_count, uint32_t* waited);
  /// Waits until the running rank's accesses to windows and files are complete there. May switch.
  void (*await_accesses)();
  /// The running rank reads or writes so many bytes of a file. `request`: nullptr where the call is
  /// blocking, which may switch.
  void (*access_file)(int64_t bytes, const MPI_Request* request);
  void (*open_file)();
  /// Called before a window is made.
  void (*begin_windows)();
  /// The running rank's clock, ns; -1 where no rank runs. Counts what it has computed.
  int64_t (*now_ns)();
  /// Moves the running rank's clock forward.
  void (*pass_ns)(int64_t ns);
  /// Lets all that happens up to the rank's clock happen. May switch.
  void (*yield)();
  /// The running rank's clock, ns, as it was when it left its latest call; -1 where no rank runs.
  int64_t (*clock_ns)();
  void (*observe)(const ClockObserver* observer);
  /// Stores what the prediction has found. Called when the last rank has finalized.
  void (*write_outcome)();
};

}  // namespace fgmpi::predict

/// nullptr in all processes but those of mpiexec -predict.
extern "C" __attribute__((visibility("default"))) const fgmpi::predict::PredictionHooks*
fgmpi_prediction_hooks();
