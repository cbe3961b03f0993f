// MeetingDecider: learns which member arrives at which meeting, and draws numbers in place of
// random ones (src/explore).
//
// A process has one only under mpiexec -explore, -replay and -predict. The decider follows which
// events had to happen before others, and members of a collective wait for each other. The short
// path in line (join() in meeting.h) has no test for it: while there is a decider, an open meeting
// has the inline_operation kNoOperation, which equals that of no member, so each member goes out of
// line.
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <cstdint>

namespace fgmpi::comm {

struct Arrival;
struct Comm;
struct Meeting;

class MeetingDecider {
 public:
  virtual ~MeetingDecider() = default;
  /// Called when the running rank has arrived at a meeting, which has counted it. `arrival`:
  /// nullptr where the member does not wait by a request; `operation`: the code of the collective.
  virtual void record_arrival(const Comm* comm, const Meeting* meeting, uint8_t operation,
                              const Arrival* arrival) = 0;
  /// Returns a number that is the same for the running rank in every execution, in place of a
  /// random one (random_bits() in context.h).
  virtual uint64_t draw_number() = 0;
};

/// nullptr in all processes but those of mpiexec -explore, -replay and -predict.
extern MeetingDecider* g_meeting_decider;

}  // namespace fgmpi::comm
