// Decider: in place of this module, decides which receive takes which message (src/explore).
//
// While there is one, messages between ranks of the process on the planes that it decides are
// handed to it and are in no queue of an endpoint. Receives are posted as always; the decider takes
// them out of the queue, with the message, when no rank can run any more. Calls that complete
// requests or look for messages without waiting ask it, too: whether they find something, and which
// of several complete requests they return. Without a decider nothing here costs an instruction on
// the fast paths: who sets one closes them.
//
// Thread rule: one thread. Nothing here switches unless it says so.
#pragma once

#include <vector>

#include "pt2pt/engine.h"

namespace fgmpi::comm {
struct Arrival;
struct Comm;
struct Meeting;
}  // namespace fgmpi::comm

namespace fgmpi::pt2pt {

/// What a call that completes requests of a list is after: all of them, one, or one or more.
enum class Wanted : uint8_t { kAll, kOne, kSome };

/// A rank waits for the others of a rooted collective, though MPI does not require that it does.
class Stay {
 public:
  explicit Stay(Request* awaited) : request(awaited) {}
  virtual ~Stay() = default;
  /// Could it return now? What it needs of others is there.
  virtual bool may_leave() const = 0;
  Request* const request;  ///< what it waits for
  bool left = false;       ///< it was decided that it goes on before `request` is complete
};

/// An operation on memory of a window, or the wait for a lock there; or what is like one: who comes
/// to a port. Two of them conflict when their order can be seen.
struct MemoryAccess {
  enum Use : uint8_t {
    kRead,
    kWrite,  ///< and whatever has no other name
    kFold,   ///< `detail`: those with the same number can be exchanged
    kLock,   ///< `detail`: 1 for an exclusive lock, else 0
    kCome,   ///< to one end of a port; of no window
  };
  /// `detail` of what is of no window (src/dynamic/inside.h).
  enum Meaning : uint8_t { kConnects = 1, kAccepts, kName };
  Use use = kRead;
  uint32_t detail = 0;
  uint64_t window = 0;
  int32_t target = 0;             ///< whose memory it is
  int64_t offset = 0, bytes = 0;  ///< there
  const char* memory = nullptr;   ///< the same in this process; of a lock nullptr
  uint64_t deed = 0;  ///< its call, operation and operands: those with the same number do the same
};

class Decider {
 public:
  virtual ~Decider() = default;
  /// Are messages of this context its own?
  virtual bool decides(uint64_t ctx) const = 0;
  /// Takes a message for the rank with this index: an eager copy, or a send that waits for its
  /// match. A standard send waits, and may be buffered later (Answer::kPastLimit).
  virtual void hold(uint32_t local, Unexpected* message) = 0;
  /// Takes a waiting send out whose user cancels it. False: it has been matched.
  virtual bool withdraw(uint32_t local, SendOp* message) = 0;
  /// A posted receive is about to be cancelled.
  virtual void forget(RecvOp* op) = 0;
  /// All proclets are parked and nothing is under way. True when it has made one of them ready.
  virtual bool all_parked() = 0;
  /// Gives way to whatever else can happen in the process, in place of a yield before something is
  /// looked at again. May switch.
  virtual void give_way(const char* call) = 0;
  /// Returns a message that the pattern covers; it stays, unless `take`. Without `waits`, nullptr:
  /// none is seen. May switch.
  virtual Unexpected* probe(uint32_t local, const Envelope& pattern, bool take, bool waits,
                            const char* call) = 0;
  /// For MPI_Test and its like, and with `waits` for MPI_Waitany and MPI_Waitsome: which requests
  /// of the list the call completes. False: it finds too few. *chosen: their indices, ascending; of
  /// kAll it is left alone. May switch. REQUIRES: at least one is not nullptr. Those that are
  /// completed by progress() only are as it has left them.
  virtual bool complete(Request* const* list, size_t count, Wanted wanted, bool waits,
                        const char* call, std::vector<uint32_t>* chosen) = 0;
  /// The running rank has come to a meeting (comm/meeting.h), and is counted in. `arrival`: nullptr
  /// where the member does not wait by a request; `operation`: its code.
  virtual void arrive(const comm::Comm* comm, const comm::Meeting* meeting, uint8_t operation,
                      const comm::Arrival* arrival) = 0;
  /// Around the wait for stay->request, whose waiter may be made ready before it is complete
  /// (stay->left).
  virtual void begin_stay(Stay* stay) = 0;
  virtual void end_stay(Stay* stay) = 0;
  /// Parks until it is this access's turn; the caller makes it before it parks again. A lock is
  /// then free. May switch.
  virtual void await_turn(const MemoryAccess& access, const sched::WaitSite* site) = 0;
  /// A lock that await_turn() has given is about to be released.
  virtual void unlocked(uint64_t window, int32_t target, bool exclusive) = 0;
  /// What `from` has done so far comes before what `to` does once it has heard of it; `what` tells
  /// kinds apart. Never switch.
  virtual void tell(uint64_t window, int32_t from, int32_t to, uint8_t what) = 0;
  virtual void hear(uint64_t window, int32_t from, int32_t to, uint8_t what) = 0;
  /// For a call that looks without waiting whether is(object, part). May switch.
  virtual bool look(const void* object, uint64_t part, bool (*is)(const void*, uint64_t),
                    const char* call) = 0;
  /// Other processes are asked for, which have no part in it. Never switches.
  virtual void leave_out() = 0;
  /// A number that the running rank gets in every execution, in place of a random one. Never
  /// switches.
  virtual uint64_t draw() = 0;
};

/// nullptr in all processes but those of mpiexec -explore and -replay.
extern Decider* g_decider;

/// Does somebody else decide what a call that completes requests of this list returns? Not where
/// all of them are completed by progress() only.
inline bool decided_by_others(Request* const* list, size_t count) {
  if (__builtin_expect(g_decider == nullptr, 1)) return false;
  for (size_t i = 0; i < count; ++i)
    if (list[i] && !list[i]->polled) return true;
  return false;
}

/// Lets others run before a call that does not wait looks again. May switch.
inline void yield_to_look_again(const char* call) {
  if (__builtin_expect(g_decider != nullptr, 0)) return g_decider->give_way(call);
  sched::yield();
}

}  // namespace fgmpi::pt2pt
