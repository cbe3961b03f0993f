// Which rank goes where, so that the processes of a host have the same load (FGMPI_BALANCE=on).
//
// A process asks for ranks when it is idle, or runs the last rank that is ready. A rank of another
// process that is about to go on behind a call of MPI goes there, if these hold:
//
//   at once     other ranks wait here for the processor, so that both processes run meanwhile: what
//               is ready here ends earlier by several times of what a move costs
//   lasting     the load here, with what is ready, is still not below that there when the rank and
//               its share of it have gone, and so it is on average. So a rank that has moved is not
//               wanted back, and of two equal processes none sends ranks for which a late message,
//               or other programs on the processors, have made the other idle. Where more is ready
//               here than one window has room for, the averages do not count
//   hysteresis  the process would be idle for longer than a move takes; and a rank that has come
//               has computed here for many times of what a move costs, and for some windows
//
// One question may grant more than the rank that asks: the ranks behind it go, too, until both
// processes have as much to run, and as much load. Otherwise the other process would ask for each
// of them, and wait for the answer as long as a rank computes here.
//
// Among the ranks that are ready, those go first that talk to ranks which are there: others let
// them run before they answer.
//
// Beside this, a process compares the lasting loads from time to time, and lets a rank go that
// evens them out, also where nobody is idle at the right moment. A visitor goes home where both
// processes are as equal afterwards: calls by its deputy cost more.
//
// Thread rule: any; functions of their arguments.
#pragma once

#include <cstdint>
#include <span>

#include "balance/windowed_time.h"

namespace fgmpi::balance {

/// Processor time of a move in both processes, with the first messages that take a detour, ns
/// (benchmarks/micro/move_cost.cc: 13 us, 90 us where a slot is seen for the first time).
inline constexpr int64_t kMoveCost = 50'000;
/// A rank computes for so many costs of a move before it moves again, and as long as it does in so
/// many windows: what one window shows may be a step that has ended earlier here than there.
inline constexpr int64_t kCostsBetweenMoves = 8;
inline constexpr int64_t kWindowsBetweenMoves = 4;
/// One part in so many of a load counts as equal where a visitor may go home.
inline constexpr int64_t kEqualPart = 64;
/// And where a rank may leave.
inline constexpr int64_t kLastingPart = 32;

inline constexpr uint32_t kStays = ~uint32_t{0};

/// The rank that asks, and its process.
struct RankAtCall {
  int64_t burst = 0;          ///< ns that it is expected to run until it waits
  int64_t share = 0;          ///< its part of the load, ns a window
  bool has_moved = false;     ///< it has come here from another process
  int64_t computed_here = 0;  ///< ns since then
  int64_t load = 0;           ///< of all ranks here, ns a window
  int64_t backlog = 0;        ///< ns that the ranks are expected to run that are ready here
  int64_t lasting_share = 0, lasting_load = 0;  ///< on average, ns a window
};

/// Another process of the host, which asks.
struct OtherProcess {
  uint32_t process = 0;
  int64_t load = 0;
  int64_t idle_for = 0;  ///< ns; below 0: it will be idle in so long
  int64_t lasting_load = 0;
};

/// Where ranks go on: those that are ready, up to both bounds.
struct Grant {
  uint32_t process = kStays;
  int64_t ns = 0;    ///< that they are expected to run until they wait
  int64_t load = 0;  ///< that they make, ns a window: ranks run several times in one
  /// The rank goes there.
  void take(const RankAtCall& rank);
};

/// Where the rank may go on, and others behind it.
Grant grant_move(const RankAtCall& rank, std::span<const OtherProcess> asking);
/// May this rank go by a grant that another one has got?
bool fits(const RankAtCall& rank, const Grant& grant);
/// Does the rank go, where others that are ready would rather go there, so many ns of them?
bool is_among_first(const Grant& grant, int64_t rather);
/// Should the rank go there, by the lasting loads?
bool evens_out(const RankAtCall& rank, int64_t load_there);
/// Should a visitor go home, by the lasting loads?
bool goes_home(const RankAtCall& rank, int64_t load_at_home);

}  // namespace fgmpi::balance
