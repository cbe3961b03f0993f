// Ranks that go from one process of a host to another, with their messages; and calls of their
// objects, which stay at home (base/checkpoint_link.h).
//
//   giver   fgmpi_move_rank(): the endpoint leaves, then the rank; its record follows as a notice
//   taker   the rank gets a proclet, an endpoint, and away from home a RankState for its messages.
//           Before a rank goes somewhere for the first time, its process asks whether it can be
//           mapped there; otherwise the rank stays where it is
//   home    calls of the rank arrive as notices, and are made by a helper of the rank there
//
// Thread rule: one thread. Notices are handled inside poll: nothing there switches.
#include <cstring>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/checkpoint_link.h"
#include "base/clock.h"
#include "base/error_line.h"
#include "ch4-av-rankmap/hosts.h"
#include "dynamic/proclets.h"
#include "mpi/binding.h"
#include "mpi/calls.h"
#include "mpi/life/process.h"
#include "mpi/life/runtime.h"
#include "mpi/tools/balance.h"
#include "mpi/tools/tool.h"
#include "privatize/load/visitors.h"
#include "proclet-sched/coroutine/deputies.h"
#include "proclet-sched/coroutine/visitors.h"
#include "proclet-sched/threads/threads.h"
#include "pt2pt/moved_endpoints.h"
#include "pt2pt/polls.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::mpi {
namespace {

using checkpoint::LayerCall;
using checkpoint::MovingRank;

/// What a notice about ranks that move says, in place of a context id.
enum MoveNotice : uint64_t {
  kRecord,    ///< a rank comes
  kArrived,   ///< to the giver: it has come
  kCall,      ///< to its home: a helper is to make this call
  kReturned,  ///< to the rank: the call has returned
  kMayCome,   ///< to a process: has it room for a rank?
  kAnswer     ///< the answer
};

/// A rank asks whether it can be mapped in a process.
struct RoomQuestion {
  checkpoint::RankSlot slot;
  uint64_t process = 0;  ///< which asks
};
struct RoomAnswer {
  uint64_t world = 0, has_room = 0;
};

/// A rank of this process that waits for the answer. On its stack.
struct RoomWait {
  sched::Proclet* rank;
  bool parked = false, answered = false, has_room = false;
};

/// What is known of the room in other processes, for ranks that leave this one.
struct RoomElsewhere {
  std::unordered_map<uint32_t, RoomWait*> waits;  ///< by world rank
  std::unordered_set<uint64_t> mapped;            ///< process << 32 | world rank
  std::unordered_map<uint32_t, int64_t> full;     ///< process: when it was, in seconds
};
/// Made when it is first used, and never destroyed: ranks may move until the process ends.
RoomElsewhere& room_elsewhere() {
  static auto* made = new RoomElsewhere;
  return *made;
}

bool g_ranks_move = false;

/// A rank that comes, and what the library in its new process has to know of it.
struct MoveRecord {
  MovingRank rank;
  int32_t thread_level = MPI_THREAD_SINGLE;
};

/// The rank that leaves.
struct LeavingRank {
  uint32_t world = 0, index = 0, process = 0;
  int32_t thread_level = MPI_THREAD_SINGLE;
  comm::RankState* visitor = nullptr;  ///< its state here, where it is not at home
};
LeavingRank g_leaving;

/// A call that is made for a rank which is in another process.
struct CallForRank {
  LayerCall call;
  uint64_t number = 0;
  uint32_t world = 0, process = 0;
};
struct ReturnedCall {
  uint64_t number = 0;
  uint64_t phase = 0;
};

[[noreturn]] void give_up(uint32_t world, const std::string& why) {
  write_error_line("rank " + std::to_string(world) +
                   " cannot go on in another process of its host: " + why);
  end_process(1);
}

/// Called by fgmpi_give_rank() when nothing of the rank runs here any more.
void deliver(const MovingRank* rank, void*) {
  const LeavingRank& leaving = g_leaving;
  const Status left = pt2pt::depart(leaving.world, leaving.index, leaving.process);
  if (!left.ok()) give_up(leaving.world, left.what());
  if (leaving.visitor) {
    comm::finalize_rank(leaving.visitor);
    delete leaving.visitor;
  }
  note_departure(leaving.world, leaving.process);
  const MoveRecord record = {*rank, leaving.thread_level};
  pt2pt::notify(leaving.process, pt2pt::kNoticeMove, kRecord, &record, sizeof record);
}

/// What the visitor's calls of messages need.
void begin_visit(uint32_t world, uint32_t index, int thread_level) {
  auto* rank = new comm::RankState;
  rank->thread_level = thread_level;
  rank->local = index;
  rank->world_rank = world;
  const Status begun = comm::init_rank(rank);
  if (!begun.ok()) give_up(world, begun.what());
  ++rank->world.shared->references;
  sched::Proclet* p = sched::rank_proclet(index);
  p->rank_state = rank;
  p->mpi_phase = kInitialised;
}

void take(uint32_t from, const MoveRecord& move) {
  const MovingRank& record = move.rank;
  const auto world = static_cast<uint32_t>(record.world_rank);
  uint32_t index = 0;
  if (const char* reason = fgmpi_take_rank(&record, &index)) give_up(world, reason);
  if (g_av.process_of(world) != g_av.me()) {
    pt2pt::set_local_count(index + 1);
    begin_visit(world, index, move.thread_level);
  } else {
    note_homecoming();
  }
  const Status come = pt2pt::arrive(world, index);
  if (!come.ok()) give_up(world, come.what());
  pt2pt::notify(from, pt2pt::kNoticeMove, kArrived, &record, sizeof record);
}

/// A helper's function.
void make_call(void* data) {
  const CallForRank made = *static_cast<CallForRank*>(data);
  delete static_cast<CallForRank*>(data);
  made.call.function(made.call.data);
  sched::Proclet* rank = sched::rank_proclet(made.world - g_av.my_first());
  rank->mpi_phase = sched::current()->mpi_phase;
  const ReturnedCall returned = {made.number, rank->mpi_phase};
  pt2pt::notify(made.process, pt2pt::kNoticeMove, kReturned, &returned, sizeof returned);
}

void send_call(sched::Proclet* visitor, const LayerCall& call, uint64_t number) {
  const auto world = static_cast<uint32_t>(visitor->slot);
  const CallForRank made = {call, number, world, g_av.me()};
  pt2pt::notify(g_av.process_of(world), pt2pt::kNoticeMove, kCall, &made, sizeof made);
}

void answer_question(const RoomQuestion& question) {
  const bool has_room = privatize::prepare_visit(question.slot) == nullptr;
  const RoomAnswer answer = {question.slot.world_rank, has_room};
  pt2pt::notify(static_cast<uint32_t>(question.process), pt2pt::kNoticeMove, kAnswer, &answer,
                sizeof answer);
}

bool note_answer(const RoomAnswer& answer) {
  auto& waits = room_elsewhere().waits;
  const auto found = waits.find(static_cast<uint32_t>(answer.world));
  if (found == waits.end() || found->second->answered) return false;
  RoomWait* wait = found->second;
  wait->answered = true;
  wait->has_room = answer.has_room != 0;
  if (wait->parked) sched::ready(wait->rank);
  return true;
}

template <class Notice>
bool read(const void* data, size_t bytes, Notice* out) {
  if (bytes != sizeof *out) return false;
  std::memcpy(out, data, sizeof *out);
  return true;
}

bool handle(uint32_t from, uint64_t what, const void* data, size_t bytes) {
  MovingRank arrived;
  MoveRecord record;
  CallForRank call;
  ReturnedCall returned;
  RoomQuestion question;
  RoomAnswer answer;
  switch (what) {
    case kRecord:
      if (!read(data, bytes, &record) || record.rank.world_rank >= g_av.world_size()) return false;
      sched::call_on_host([&] { take(from, record); });
      return true;
    case kArrived:
      if (!read(data, bytes, &arrived)) return false;
      fgmpi_rank_has_arrived(&arrived);
      return true;
    case kCall:
      if (!read(data, bytes, &call) || call.process != from ||
          call.world - g_av.my_first() >= g_av.my_count())
        return false;
      sched::spawn_helper(sched::rank_proclet(call.world - g_av.my_first()), make_call,
                          new CallForRank(call));
      return true;
    case kBoardNotice:
      return open_board(data, bytes);
    case kReturned:
      return read(data, bytes, &returned) &&
             sched::end_call_elsewhere(returned.number, static_cast<uint8_t>(returned.phase));
    case kMayCome:
      if (!read(data, bytes, &question) || question.process != from ||
          question.slot.world_rank >= g_av.world_size())
        return false;
      sched::call_on_host([&] { answer_question(question); });
      return true;
    case kAnswer:
      return read(data, bytes, &answer) && note_answer(answer);
  }
  return false;
}

}  // namespace

void let_ranks_move() {
  pt2pt::let_ranks_move();
  pt2pt::set_notice_handler(pt2pt::kNoticeMove,
                            [](uint32_t from, uint64_t what, const void* data, size_t bytes) {
                              if (!handle(from, what, data, bytes)) pt2pt::refuse_notice();
                            });
  sched::set_send_call(send_call);
  g_ranks_move = true;
}

namespace {

/// Why the running rank cannot go there; empty where it can.
std::string reason_against_move(uint32_t process) {
  if (!g_ranks_move) return "ranks of the job stay where they are (FGMPI_BALANCE)";
  const sched::Proclet* p = sched::current();
  if (!p || p->kind != sched::ProcletKind::kRank || sched::on_host_stack() || !p->rank_state)
    return "no rank runs";
  if (process >= g_av.processes() || process == g_av.me()) return "it is not another process";
  if (g_hosts.host_of(process) != g_hosts.host_of(g_av.me())) return "the process is elsewhere";
  if (tool::is_initialised()) return "it uses the tool interface (MPI_T_init_thread)";
  MPI_Comm parent = MPI_COMM_NULL;
  if (dynamic::is_spawned(p->index) || (comm_get_parent(&parent).ok() && parent != MPI_COMM_NULL))
    return "another job has started it";
  const comm::RankState* rank = comm::rank_state();
  pt2pt::stop_polling(pt2pt::g_engine.at(p->index), sched::is_visitor(p));
  return std::string(pt2pt::may_depart(rank->world_rank, p->index).what());
}

/// Can the running rank, which may go there, be mapped there? Asks where that is not known. May
/// switch.
bool has_room_for_rank(uint32_t process) {
  static constexpr sched::WaitSite kAsks{"a move to another process of the host"};
  const uint32_t world = comm::rank_state()->world_rank;
  RoomElsewhere& known = room_elsewhere();
  const uint64_t name = uint64_t{process} << 32 | world;
  if (process == g_av.process_of(world) || known.mapped.count(name)) return true;
  const int64_t now = now_ns() / kSecond;
  if (const auto full = known.full.find(process); full != known.full.end() && full->second == now)
    return false;
  RoomWait wait{sched::current()};
  known.waits[world] = &wait;
  const RoomQuestion question = {privatize::slot_of_running_rank(), g_av.me()};
  pt2pt::notify(process, pt2pt::kNoticeMove, kMayCome, &question, sizeof question);
  wait.parked = true;
  while (!wait.answered) sched::park(&kAsks);
  known.waits.erase(world);
  if (wait.has_room)
    known.mapped.insert(name);
  else
    known.full[process] = now;
  return wait.has_room;
}

}  // namespace

}  // namespace fgmpi::mpi

using namespace fgmpi;

const char* fgmpi_move_rank(uint32_t process) {
  static auto* reason = new std::string;
  *reason = mpi::reason_against_move(process);
  if (!reason->empty()) return reason->c_str();
  if (!mpi::has_room_for_rank(process)) return "the process has no room for it";
  *reason = mpi::reason_against_move(process);  // messages may have come meanwhile
  if (!reason->empty()) return reason->c_str();
  const sched::Proclet* p = sched::current();
  comm::RankState* rank = comm::rank_state();
  mpi::g_leaving = {rank->world_rank, p->index, process, rank->thread_level,
                    sched::is_visitor(p) ? rank : nullptr};
  return fgmpi_give_rank(mpi::deliver, nullptr);
}

bool fgmpi_has_more_messages(uint32_t than) {
  const pt2pt::Endpoint* at = pt2pt::g_engine.at(sched::current()->index);
  return at->unexpected.size(than + 1) > than;
}
