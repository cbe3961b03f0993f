// Deputies: MPI's functions are called for a rank by a helper coroutine of the process that has the
// rank's objects, its *home*, so that the rank itself could run in another process.
//
// What is called where:
//
//   at home, by the deputy   all that is not below: collectives, windows, files, sessions,
//                            partitioned messages, the making and freeing of objects
//   where the rank is        sends, receives, probes, their requests; generalized requests; what a
//                            communicator or type answers at once (rank, size, extent, ...)
//   both                     waits and tests for requests of both kinds
//
// The wrappers know nothing of this. They run where the rank is, and so does all that reads or
// changes its tables (LayerRank). What differs is g_next: in a process whose ranks may have
// deputies, it has functions in place of MPI's that hand a call over: MPI's function and the words
// of its arguments, which are in the rank's memory, as is everything that the words point to. In
// all other processes g_next has MPI's functions, and a wrapper costs what it costs without
// deputies.
//
// A request that was made at home has a mark in its handle, by which completion calls tell the two
// kinds apart:  | 10 | 1101 in place of 1011 | 26 bits |
//
// Functions of the program that MPI calls meanwhile are called by the rank (by_rank()).
//
// Thread rule: a rank's. Where a rank may have threads, it has no deputy: the functions here call
// MPI themselves.
#pragma once

#include <mpi.h>

#include <type_traits>

#include "base/checkpoint_link.h"
#include "checkpoint/describe.h"
#include "checkpoint/rank.h"
#include "checkpoint/tool_extensions.h"

#pragma weak fgmpi_describe_comm
#pragma weak fgmpi_visit_comm
#pragma weak fgmpi_leave_comm
#pragma weak fgmpi_own_errhandler
#pragma weak fgmpi_begin_deputy
#pragma weak fgmpi_end_deputy
#pragma weak fgmpi_call_by_rank
#pragma weak fgmpi_set_own_errhandler
#pragma weak fgmpi_self_answers

namespace fgmpi::checkpoint {

/// MPI's functions, as they were found. g_next and g_extensions equal them where ranks have no
/// deputies.
extern Next g_mpi;
/// As g_next, but what g_next calls where the rank is about a communicator or type is called at
/// home: for MPI's objects there.
extern Next g_home;
extern Extensions g_mpi_extensions;
/// Ranks of the process may have deputies.
extern bool g_deputies;
/// MPIX_Tool_await, for requests of both kinds.
extern decltype(&MPIX_Tool_await) g_await;

/// From now on each rank of the process has a deputy. Called when the library is loaded.
void use_deputies();
/// Generated: changes the functions that deputies call.
void hand_over_calls(Next* next, Extensions* extensions);
void hand_over_queries(Next* home);
/// The functions of requests in g_next that ask both processes.
void ask_both_for_requests(Next* next);

inline constexpr uint32_t kHomeMark = 6u << 26;
inline bool is_at_home(MPI_Request real) {
  return (static_cast<uint32_t>(real) & kVirtualMask) == (0xac000000u ^ kHomeMark);
}
/// The handle without the mark, and the inverse, which changes no null handle.
inline MPI_Request without_mark(MPI_Request real) {
  return is_at_home(real) ? static_cast<int>(static_cast<uint32_t>(real) ^ kHomeMark) : real;
}
inline MPI_Request with_mark(MPI_Request real) {
  return (static_cast<uint32_t>(real) & kVirtualMask) == 0xac000000u
             ? static_cast<int>(static_cast<uint32_t>(real) ^ kHomeMark)
             : real;
}

/// Has the running rank's deputy call this, and waits. `what` names the wait. May switch.
void hand_over(const char* what, LayerCall call);
/// Does the running rank have a deputy?
bool has_deputy();

/// Calls a function of MPI by the deputy, where the rank has one.
template <class Result, class... Parameters>
Result by_deputy(const char* what, Result (*function)(Parameters...),
                 std::type_identity_t<Parameters>... arguments) {
  if (!has_deputy()) return function(arguments...);
  if constexpr (std::is_void_v<Result>) {
    auto body = [&] { function(arguments...); };
    hand_over(what, {[](void* data) { (*static_cast<decltype(body)*>(data))(); }, &body});
  } else {
    Result result{};
    auto body = [&] { result = function(arguments...); };
    hand_over(what, {[](void* data) { (*static_cast<decltype(body)*>(data))(); }, &body});
    return result;
  }
}

/// While it lives, a deputy of a rank that is in another process makes all calls of MPI here, with
/// MPI's objects here: what it runs is a function of the program. The rank waits meanwhile.
class CallsAtHome {
 public:
  CallsAtHome();
  ~CallsAtHome();
  CallsAtHome(const CallsAtHome&) = delete;
  CallsAtHome& operator=(const CallsAtHome&) = delete;

 private:
  LayerRank* rank_ = nullptr;
};

/// MPI calls a function of the program, maybe in a helper: the rank itself makes the call where it
/// waits for its deputy in this process. May switch.
template <class Body>
void by_rank(Body&& body) {
  using Call = std::remove_reference_t<Body>;
  const LayerCall call = {[](void* data) { (*static_cast<Call*>(data))(); }, &body};
  if (__builtin_expect(!g_deputies, 1)) return body();
  if (fgmpi_call_by_rank(call)) return;
  const CallsAtHome here;
  body();
}

}  // namespace fgmpi::checkpoint
