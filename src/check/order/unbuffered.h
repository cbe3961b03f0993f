// The unbuffered run: what would happen if no standard send were buffered? It shows whether the
// program depends on buffering.
//
// Each rank's calls are replayed in the order in which the rank made them, as steps, as if a send
// returned only when its receive has begun. A step that can be made is forgotten at once. The
// others form a queue for each rank, which is empty or short in a correct program. Steps that are
// never made in this process, because they wait for ever or for another process, go to the spool,
// where mpiexec searches for ranks that wait for one another (check/findings/unbuffered.h).
// Processes send each other how far their ranks are (progress.h), so in a correct program steps
// wait for another process only until this progress arrives.
//
// No rank is reported to wait for a message that another receive could have matched, or for
// the sender of a message that a receive from any source has matched: in another run these
// may be others. MPI_Test and calls that complete some of a list wait for nothing. Jobs with
// threads are not checked, because a rank's calls have no total order. Thread rule: as CheckedCall
// (call.h); never switches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "check/order/progress.h"
#include "check/record.h"

namespace fgmpi::check {

struct CheckedComm;
struct CollectiveCall;
struct Rank;

/// A call that waits for something.
struct WaitingCall {
  Rank* rank;
  const CallRecord* call;
  RememberedCall* shared = nullptr;  ///< the call, where it is shared already
  SharedCall record() const { return shared ? SharedCall(shared) : SharedCall(*call); }
};

/// A step of a rank.
struct UnbufferedStep {
  enum StepKind : uint8_t {
    /// Sends begin: messages `number` to `id`; `member` is the receiver's world rank.
    kBegin,
    kPost,            ///< receives `number` to `id` begin
    kReceiveMessage,  ///< a receive that matches the message `id` begins
    kNeedReceive,     ///< waits until the receive of message `id` has begun
    kNeedSend,        ///< waits until the send of message `id` has begun
    kEnter,           ///< enters the collective call `number` of `comm`
    kNeedAll,         ///< waits until all members have entered that call
    kNeedRoot,        ///< waits until its root has entered it
    /// No step, and used only once a rank's steps are in the spool: the receive `id` has matched
    /// the message `number`.
    kMatch,
  };
  StepKind kind;
  bool satisfied = false;
  /// The rank in `comm` of the entering member, or of the root. kNeedReceive: the receiver's world
  /// rank.
  int member = 0;
  uint64_t id = 0, number = 0;
  CheckedComm* comm = nullptr;
  SharedCall call = {},
             awaited = {};  ///< the waiting call, and the call that began what it waits for
};

/// How far a rank is in the unbuffered run.
struct Unbuffered {
  std::vector<UnbufferedStep> steps;  ///< from index `first`: not made yet
  std::vector<int> waiting;           ///< world ranks whose steps wait for this rank's next send
  uint64_t begun = 0;                 ///< id of the last send that has begun
  uint32_t first = 0;
  bool written = false;  ///< steps are in the spool, so this process no longer follows the rank
  uint64_t posted = 0;   ///< number of the last receive that has begun
  /// Messages of this rank whose receive began before a step waited for it.
  std::vector<uint64_t> receives_begun;
  /// Receives that have not begun yet, with their messages.
  std::vector<std::pair<uint64_t, uint64_t>> matches;
};

/// Counts participants in collective calls, to find how many calls all of them have entered.
struct CallCounter {
  uint64_t all = 0;
  int next = 0;              ///< number of participants that have entered the call `all`
  std::vector<int> members;  ///< the same for each later call
  /// A participant that had entered `before` calls has now entered `calls`; there are `size`
  /// participants. Returns whether `all` has grown.
  bool add(uint64_t before, uint64_t calls, int size) {
    return !(calls == before + 1 && add_one(before, size)) && add_any(before, calls, size);
  }
  /// add() for one more call that leaves `all` unchanged; returns false without effect
  /// where it would grow.
  bool add_one(uint64_t before, int size) {
    if (before == all) {
      if (next + 1 == size) return false;
      ++next;
      return true;
    }
    const size_t ahead = before - all - 1;
    if (ahead >= members.size()) return false;
    ++members[ahead];
    return true;
  }

 private:
  bool add_any(uint64_t before, uint64_t calls, int size);
};

/// How far the members of a communicator are in its collective calls.
struct Entered {
  std::vector<uint64_t> calls;  ///< by rank in this process: number of calls entered
  std::map<int, uint64_t>
      calls_entered;            ///< by process: number of calls that all its members have entered
  CallCounter here, elsewhere;  ///< members of this process, and the other processes
  std::vector<int> waiting;     ///< world ranks whose steps wait for all members
  std::map<int, std::vector<int>> waiting_for;  ///< by root: world ranks that wait for it
  uint64_t all() const { return std::min(here.all, elsewhere.all); }
};

/// A send begins. Returns whether it has begun in the unbuffered run as well. Only step_send()
/// (messages.h) calls this, and only step_receive() calls the next one.
bool step_send_in_turn(Rank* rank, uint64_t message_id, int receiver_world);
void step_receive_in_turn(Rank* rank, uint64_t number);
/// The receive of a message that no other receive could match has begun.
void step_receive_begun(uint64_t message_id);
/// The receive has matched the message. `certain`: no other receive could have matched it.
void step_matched(Rank* rank, uint64_t number, uint64_t message_id, bool certain);
/// A receive whose message is known begins, in the call that the rank is in.
void step_receive_message(Rank* rank, uint64_t message_id, bool certain);
/// `member`: the entering member's rank in the communicator.
void step_enter(const WaitingCall& call, const CollectiveCall& collective, int member);
/// The call waits until the receive of the message has begun. `awaited`: the call that began the
/// send; null: the waiting call itself.
void step_need_receive(const WaitingCall& call, uint64_t message_id, const SharedCall* awaited);
void step_need_send(const WaitingCall& call, uint64_t message_id, const SharedCall* awaited);
void step_need_members(const WaitingCall& call, const CollectiveCall& collective,
                       const SharedCall* awaited);
/// Forgets that the rank was notified of the receive of its message. Returns false
/// where it was not.
bool forget_receive_begun(Unbuffered* u, uint64_t message_id);
/// The spool already has as many steps of this process as it may have.
inline bool g_steps_full = false;
/// Can the rank's next step be made at once, if it does not wait itself?
inline bool is_free(const Unbuffered& u) { return u.steps.empty() && !u.written && !g_steps_full; }
/// step_enter() where the unbuffered run is maintained. REQUIRES: is_free(). Only
/// step_enter_at_once() (rank.h) calls it.
void enter_at_once(CheckedComm* c, int member, uint64_t number);
/// Another process has sent how far it is.
void on_step(int process, const Progress& progress);
/// The process ends: writes the steps that were not made to the spool.
void write_steps_left();

}  // namespace fgmpi::check
