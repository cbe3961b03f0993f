// Decider: in place of this module, decides which receive takes which message (src/explore).
//
// While there is one, messages between ranks of the process on the planes that it decides are handed to it and are in no
// queue of an endpoint. Receives are posted as always; the decider takes them out of the queue, with the message, when no
// rank can run any more. Without a decider nothing here costs an instruction on the fast paths: who sets one closes them.
//
// Thread rule: one thread. Nothing here switches unless it says so.
#pragma once

#include "pt2pt/engine.h"

namespace fgmpi::pt2pt {

class Decider {
 public:
  virtual ~Decider() = default;
  /// Are messages of this context its own?
  virtual bool decides(uint64_t ctx) const = 0;
  /// Takes a message for the rank with this index: an eager copy, or a send that waits for its match.
  virtual void hold(uint32_t local, Unexpected* message) = 0;
  /// Takes a waiting send out whose user cancels it. False: it has been matched.
  virtual bool withdraw(uint32_t local, SendOp* message) = 0;
  /// A posted receive is about to be cancelled.
  virtual void forget(RecvOp* op) = 0;
  /// All proclets are parked and nothing is under way. True when it has made one of them ready.
  virtual bool all_parked() = 0;
  /// A call that does not wait has found nothing: in place of the yield before it looks again. May switch.
  virtual void poll() = 0;
  /// Waits for a message that the pattern covers and returns it; it stays, unless `take`. May switch.
  virtual Unexpected* probe(uint32_t local, const Envelope& pattern, bool take,
                            const char* call) = 0;
};

/// nullptr in all processes but those of mpiexec -explore and -replay.
extern Decider* g_decider;

/// Lets others run before a call that does not wait looks again. May switch.
inline void yield_to_look_again() {
  if (__builtin_expect(g_decider != nullptr, 0)) return g_decider->poll();
  sched::yield();
}

}  // namespace fgmpi::pt2pt
