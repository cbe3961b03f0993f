// The hash of an event, and the list of events.

#include "rewind/events.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/hash.h"
#include "privatize/libc/source_lines.h"
#include "proclet-sched/coroutine/call_count.h"
#include "proclet-sched/coroutine/poller.h"
#include "proclet-sched/sched.h"
#include "rewind/control.h"
#include "rewind/ends.h"
#include "rewind/format.h"
#include "rewind/recording.h"
#include "rewind/signals.h"
#include "rewind/snapshots.h"
#include "rewind/trap.h"

uint64_t fgmpi_rewind_events = 0;

namespace fgmpi::rewind {

namespace {

/// The last event of each rank, for words: only while the run is repeated.
struct RankEvent {
  uint64_t number;
  const char* call;
  const void* place;
};
constexpr int32_t kMostRanks = 1 << 16;
RankEvent g_last[kMostRanks];

int32_t running_rank() {
  const sched::Proclet* self = sched::current();
  return self ? static_cast<int32_t>(self->index) : -1;
}
uint64_t (*g_place_of)(const void* place) = nullptr;
ListedComm (*g_find_comm)(int32_t handle, int32_t partner) = nullptr;

constexpr size_t kMostUnsent = 4096, kMostCalls = 2048, kMostNames = 4096;
ListedEvent g_unsent[kMostUnsent];
size_t g_unsent_count = 0;
bool g_named[kMostCalls];  ///< calls whose names have been sent
/// Communicators whose names have been sent, by a hash of the context: one that has lost its place
/// to another is sent again.
uint64_t g_named_contexts[kMostNames];

uint16_t hash_of(const CallBegun& call, int32_t rank) {
  const auto comm = static_cast<uint64_t>(static_cast<uint32_t>(call.comm)) << 24;
  const auto tag = static_cast<uint64_t>(static_cast<uint32_t>(call.tag)) << 13;
  uint64_t sum = mix(
      static_cast<uint64_t>(call.number) << 32 | static_cast<uint32_t>(rank),
      static_cast<uint64_t>(call.count) << 32 ^ static_cast<uint32_t>(call.partner) ^ comm ^ tag);
  sum = mix(sum ^ reinterpret_cast<uintptr_t>(call.place));
  return static_cast<uint16_t>(sum);
}

uint32_t g_events_in_turn = 0;

/// Counts the event among the calls of the rank's turn (call_count.h), and lets others run behind
/// the last one. The library counts a call on one of its ways and not on another, which a checker
/// changes: its own count must not end a turn. It only shows where a period of switches has begun.
void count_in_turn() {
  constexpr uint32_t kNever = 1u << 31;
  --sched::detail::g_events_left;
  if (sched::detail::g_calls_left <= sched::kCallsPerTurn) {
    sched::detail::g_calls_left = kNever;
    g_events_in_turn = 0;
  }
  if (__builtin_expect(++g_events_in_turn < sched::kCallsPerTurn, 1) || !sched::may_rest()) return;
  sched::let_others_run();
}

void send_name(ControlReport report, const char* name) {
  send_listed();
  std::strncpy(report.name, name, sizeof report.name - 1);
  send_report(report);
}

void add_listed(const ListedEvent& event) {
  g_unsent[g_unsent_count++] = event;
  if (g_unsent_count == kMostUnsent) send_listed();
}

/// Finds the communicator, and sends its name where the program has given it one.
ListedComm find_comm(int32_t handle, int32_t partner) {
  ListedComm found;
  found.partner_in_job = partner;
  if (handle == 0 || !g_find_comm) return found;
  found = g_find_comm(handle, partner);
  if (!*found.name) return found;
  uint64_t& named = g_named_contexts[mix(found.context) % kMostNames];
  if (std::exchange(named, found.context) != found.context)
    send_name({ControlReport::kCommName, 0, found.context, {}}, found.name);
  return found;
}

void list(const CallBegun& call, int32_t rank) {
  if (call.number < kMostCalls && !std::exchange(g_named[call.number], true))
    send_name({ControlReport::kCallName,
               static_cast<int32_t>(call.role) | (call.persistent ? kPersistentRole : 0),
               call.number,
               {}},
              call.name);
  const auto place = reinterpret_cast<uintptr_t>(call.place);
  const auto count = static_cast<uint32_t>(std::clamp<int64_t>(call.count, 0, UINT32_MAX));
  const ListedComm comm = find_comm(call.comm, call.partner);
  add_listed({g_place_of ? g_place_of(call.place) : place, comm.context, rank, call.partner,
              comm.partner_in_job, call.tag, count, call.number});
}

}  // namespace

bool g_lists = false;

void add_detail(const CallDetail& detail) {
  const int32_t rank = running_rank();
  if (rank < 0 || rank >= kMostRanks) return;
  const ListedComm comm = find_comm(detail.comm, detail.partner);
  add_listed({g_last[rank].number, comm.context, rank, detail.partner, comm.partner_in_job,
              detail.tag, static_cast<uint32_t>(detail.handle), kFirstDetail + detail.kind});
}

void send_listed() {
  if (g_unsent_count == 0) return;
  send_report({ControlReport::kEvents, 0, g_unsent_count, {}});
  const auto* at = reinterpret_cast<const char*>(g_unsent);
  size_t left = g_unsent_count * sizeof(ListedEvent);
  g_unsent_count = 0;
  while (left > 0) {
    const long n = direct_call(SYS_sendto, kControlFd, at, left, MSG_NOSIGNAL, 0, 0);
    if (n <= 0) return;
    at += n;
    left -= static_cast<size_t>(n);
  }
}

void count_call(const CallBegun& call) {
  const int32_t rank = running_rank();
  if (__builtin_expect(g_event_chunk.next == g_event_chunk.end, 0) && !turn_event_chunk()) {
    if (!header().ended || g_is_damaged) end_with_recording();
    report_difference("it calls %s where the recorded one has ended", call.name);
  }
  ++fgmpi_rewind_events;
  const uint16_t hash = hash_of(call, rank);
  if (is_recorded()) {
    *g_event_chunk.next++ = hash;
    header().open[kEvents].end += sizeof hash;
    header().events = fgmpi_rewind_events;
    if (__builtin_expect(g_waiting_signals != 0, 0)) pass_signals_at_event();
    return count_in_turn();
  }
  if (rank >= 0 && rank < kMostRanks) g_last[rank] = {fgmpi_rewind_events, call.name, call.place};
  if (*g_event_chunk.next++ != hash) report_difference("this call is not the recorded one");
  if (g_lists) list(call, rank);
  if (__builtin_expect(fgmpi_rewind_events >= fgmpi_rewind_check_at, 0)) check_event();
  pass_signals_at_event();
  count_in_turn();
}

void describe_last_event(char* words, size_t size) {
  const int32_t rank = running_rank();
  const RankEvent last = rank >= 0 && rank < kMostRanks ? g_last[rank] : RankEvent{};
  if (last.number == 0) {
    std::snprintf(words, size, "event %llu", static_cast<unsigned long long>(fgmpi_rewind_events));
    return;
  }
  const uint64_t place =
      g_place_of ? g_place_of(last.place) : reinterpret_cast<uintptr_t>(last.place);
  char line[256] = "";
  const bool found = privatize::find_source_line(place - 1, line, sizeof line);
  std::snprintf(words, size, "event %llu, rank %d %s %s%s%s",
                static_cast<unsigned long long>(last.number), rank,
                last.number == fgmpi_rewind_events ? "in" : "behind", last.call,
                found ? " at " : "", line);
}

void set_places(uint64_t (*place_of)(const void* place)) { g_place_of = place_of; }
void set_comm_finder(ListedComm (*find)(int32_t, int32_t)) { g_find_comm = find; }
void at_end_of_run() {
  if (!g_lists) return;
  send_listed();
  // mpiexec finds the lines of the program by the mappings of this process, so it stays until then.
  direct_call(SYS_shutdown, kControlFd, SHUT_WR);
  char nothing;
  direct_call(SYS_recvfrom, kControlFd, &nothing, sizeof nothing, 0, 0, 0);
}

}  // namespace fgmpi::rewind
