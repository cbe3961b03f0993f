// What would happen if no standard send were buffered: does the program depend on buffering?
//
// Each rank's calls are followed a second time, in the order in which it made them, as if a send
// returned only when its receive has begun. A step that could be made is forgotten at once; what is
// left is a queue a rank, which is empty or short in a correct program. Steps whose turn does not
// come here, because they wait for ever or for another process, go to the spool, where mpiexec
// looks for ranks that wait for one another (check/findings/unbuffered.h). Processes tell each
// other how far their ranks are (progress.h), so that in a correct program steps wait for another
// process only until that has come in.
//
// Nobody is said to wait for a message that could have been taken by another receive, or for the
// sender of one that a receive of any source has taken: in another run that may be another one.
// MPI_Test and calls that complete some of a list wait for nothing. Jobs with threads are not
// followed: their ranks' calls have no one order. Thread rule: as Call (call.h); never switches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "check/progress.h"
#include "check/record.h"

namespace fgmpi::check {

struct Comm;
struct CollectiveCall;
struct Rank;

/// A call that waits.
struct Waiting {
  Rank* rank;
  const CallRecord* call;
  KeptCall* shared = nullptr;  ///< it, where it is shared already
  Record record() const { return shared ? Record(shared) : Record(*call); }
};

/// A step of a rank.
struct Step {
  enum Kind : uint8_t {
    /// Sends begin; `number` to `id`: of the messages; `member`: the receiver's world rank.
    kBegin,
    kPost,       ///< receives begin; `number` to `id`: their numbers
    kTake,       ///< a receive that takes the message `id` begins
    kNeedTaken,  ///< goes on when the receive of the message `id` has begun
    kNeedBegun,  ///< goes on when the send of the message `id` has begun
    kEnter,      ///< is in the collective call `number` of `comm`
    kNeedAll,    ///< goes on when all members are in that call
    kNeedRoot,   ///< goes on when its root is
    /// No step: the receive `id` takes the message `number`; once a rank's steps are in the spool.
    kMatch,
  };
  Kind kind;
  bool satisfied = false;
  int member = 0;  ///< who enters, or the root: rank in the communicator
  uint64_t id = 0, number = 0;
  Comm* comm = nullptr;
  Record call = {}, awaited = {};  ///< that waits, and the call that has begun what it waits for
};

/// How far a rank is.
struct Unbuffered {
  std::vector<Step> steps;   ///< from `first`: still to be made
  std::vector<int> waiting;  ///< world ranks that wait for this one's next send
  uint64_t begun = 0;        ///< the last send that has begun
  uint32_t first = 0;
  bool written = false;         ///< steps are in the spool: how far it is is not known here
  uint64_t posted = 0;          ///< the last receive that has begun
  std::vector<uint64_t> taken;  ///< messages that were taken before the rank waits for that
  std::vector<std::pair<uint64_t, uint64_t>> matches;  ///< receives still to begin, their messages
};

/// Counts those who are in collective calls: how many calls all of them are in.
struct CallCounter {
  uint64_t all = 0;
  int next = 0;              ///< how many are in the call `all`
  std::vector<int> members;  ///< and in each one behind it
  /// One more, who was in `before` calls, is in `calls`; there are `size` of them. True: `all` has
  /// grown.
  bool add(uint64_t before, uint64_t calls, int size) {
    return !(calls == before + 1 && add_one(before, size)) && add_any(before, calls, size);
  }
  /// add() of one call more where `all` stays; false: nothing was done.
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

/// How far the members of a communicator are with its collective calls.
struct Entered {
  std::vector<uint64_t> calls;   ///< by rank: how many it has entered, in this process
  std::map<int, uint64_t> told;  ///< by process: how many calls all members there are in
  CallCounter here, elsewhere;   ///< members of this process, and other processes
  std::vector<int> waiting;      ///< world ranks that wait for all
  std::map<int, std::vector<int>> waiting_for;  ///< by root
  uint64_t all() const { return std::min(here.all, elsewhere.all); }
};

/// A send begins. True: it has, if no standard send is buffered, too. To be called by step_send()
/// (messages.h), as the other by step_receive().
bool step_send_in_turn(Rank* rank, uint64_t message, int receiver_world);
void step_receive_in_turn(Rank* rank, uint64_t number);
/// The receive of a message, which no other could take, has begun.
void step_taken(uint64_t message);
/// The receive has taken the message. `certain`: no other receive could have.
void step_matched(Rank* rank, uint64_t number, uint64_t message, bool certain);
/// A receive whose message is known begins.
void step_take(Rank* rank, uint64_t message, bool certain);
/// `member`: its rank there.
void step_enter(Rank* rank, const CollectiveCall& collective, int member);
/// The call waits until the receive of the message has begun. `awaited`: the call that has begun
/// the send, or null: itself.
void step_need_taken(const Waiting& call, uint64_t message, const Record* awaited);
void step_need_begun(const Waiting& call, uint64_t message, const Record* awaited);
Needs needs_of(const CallRecord& call, bool is_root);
void step_need_members(const Waiting& call, const CollectiveCall& collective,
                       const Record* awaited);
/// Forgets that the rank was told that the receive of its message has begun. False: it was not
/// told.
bool forget_taken(Unbuffered* u, uint64_t message);
/// The spool has as many steps of this process as it is to have.
inline bool g_steps_full = false;
/// The next step of the rank can be made at once, as far as it waits for nothing itself.
inline bool is_free(const Unbuffered& u) { return u.steps.empty() && !u.written && !g_steps_full; }
/// step_enter() where steps are followed. REQUIRES: is_free(). To be called by step_enter_at_once()
/// (rank.h).
void enter_at_once(Comm* c, int member, uint64_t number);
/// Another process tells how far it is.
void on_step(int process, const Progress& progress);
/// The process ends: what is left goes to the spool.
void write_steps_left();

}  // namespace fgmpi::check
