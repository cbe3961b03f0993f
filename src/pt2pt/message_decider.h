// MessageDecider: decides, in place of this module, which receive matches which message
// (src/explore, src/predict).
//
// While a decider is set, messages between ranks of the process on the planes that it decides are
// handed to it and are in no queue of an endpoint. Receives are posted as always. When no rank can
// run any more, the decider removes a receive from its queue and joins it with a message. Calls
// that complete requests, or look for messages without waiting, ask the decider, too: whether they
// find something, and which of several complete requests they return. Without a decider this costs
// no instruction on the fast paths, since the layer that sets a decider closes them.
//
// Thread rule: one thread. Nothing here switches unless its comment says so.
#pragma once

#include <vector>

#include "pt2pt/engine.h"

namespace fgmpi::pt2pt {

/// What a call waits for that completes requests of a list: all of them, one, or one or more.
enum class Wanted : uint8_t { kAll, kOne, kSome };

class MessageDecider {
 public:
  virtual ~MessageDecider() = default;
  /// Does it decide the messages of this context?
  virtual bool decides(uint64_t ctx) const = 0;
  /// Accepts a message for the rank with index `local`: an eager copy, or a send that waits for its
  /// match. A standard send waits, and may be buffered later (AnswerTime::kPastLimit).
  virtual void add_message(uint32_t local, UnexpectedMessage* message) = 0;
  /// Does a standard send of so many bytes to that rank complete at once, so that add_message()
  /// gets an eager copy?
  virtual bool buffers(uint32_t /*local*/, uint64_t /*bytes*/) const { return false; }
  /// Copies a row of bytes, of a send that completes at once, into the posted receive that is
  /// certain to match it, which completes later. Returns false, with nothing done, where none is
  /// certain to.
  virtual bool send_to_posted(uint32_t /*local*/, const Envelope& /*envelope*/,
                              const void* /*data*/, uint64_t /*bytes*/) {
    return false;
  }
  /// Called before a receive that is in no queue is cancelled. Returns true where it has been
  /// filled by send_to_posted(), or by a copy of a message under way, and is not complete: its
  /// message is on its way again.
  virtual bool withdraw_receive(RecvOp*) { return false; }
  /// buffers() returns true for up to so many bytes, whatever the rank.
  uint64_t always_buffered = 0;
  /// Removes a waiting send that its user cancels. False: the send has been matched.
  virtual bool withdraw_send(uint32_t local, SendOp* message) = 0;
  /// Called before a posted receive is cancelled.
  virtual void forget_receive(RecvOp* op) = 0;
  /// Called when all proclets are parked and nothing is under way. True when it has made one
  /// of them ready.
  virtual bool all_parked() = 0;
  /// Lets everything else run that can run in the process; replaces a yield before a call looks for
  /// something again. May switch.
  virtual void run_others(const char* call) = 0;
  /// Returns a message that the pattern covers. The message stays with the decider, unless `take`
  /// is set. Without `waits` it may return nullptr: the call finds none. May switch.
  virtual UnexpectedMessage* probe(uint32_t local, const Envelope& pattern, bool take, bool waits,
                                   const char* call) = 0;
  /// Decides which requests of the list a call completes: MPI_Test and its like, and with `waits`
  /// MPI_Waitany and MPI_Waitsome. False: the call finds too few. *chosen: their indices,
  /// ascending; not changed for kAll. Requests that only progress() completes are not changed
  /// either. May switch. REQUIRES: at least one is not nullptr.
  virtual bool complete(Request* const* list, size_t count, Wanted wanted, bool waits,
                        const char* call, std::vector<uint32_t>* chosen) = 0;
  /// Decides, for a call that tests without waiting, whether it finds is(object, part). May switch.
  virtual bool decide_test(const void* object, uint64_t part, bool (*is)(const void*, uint64_t),
                           const char* call) = 0;
  /// Does it decide nothing while a rank waits for something from outside of MPI? Finding out costs
  /// a look at all ranks.
  virtual bool waits_for_outside() const { return true; }
  /// A receive has matched a message that the decider has put into the receiver's queue as
  /// kHeldBack. The decider completes both, now or later. Called only for such messages.
  virtual void match_held_back(UnexpectedMessage*, RecvOp*) {}
};

/// nullptr in all processes but those of mpiexec -explore, -replay and -predict.
extern MessageDecider* g_message_decider;

/// Does the decider decide what a call that completes requests of this list returns? Not where only
/// progress() completes them.
inline bool decided_by_others(Request* const* list, size_t count) {
  if (__builtin_expect(g_message_decider == nullptr, 1)) return false;
  for (size_t i = 0; i < count; ++i)
    if (list[i] && !list[i]->polled) return true;
  return false;
}

/// Lets others run before a call that does not wait looks for something again. May switch.
inline void yield_before_retry(const char* call) {
  if (__builtin_expect(g_message_decider != nullptr, 0)) return g_message_decider->run_others(call);
  sched::yield();
}

}  // namespace fgmpi::pt2pt
