// Collective calls that a rank enters only after another rank has left them: the program depends on
// a call that returns before all members have made it.
//
// A rank that leaves early says so in its clock, which its messages carry. So a rank that enters
// knows that it could not have entered before.
#include <cstring>

#include "check/call.h"
#include "check/collectives/agreement.h"
#include "check/extensions.h"
#include "check/wire/outbox.h"

namespace fgmpi::check {
namespace {

/// The call that the rank has left: the last one with that operation that it remembers on the
/// communicator. Null: unknown.
const CallRecord* call_left(Rank* rank, const CallRecord& entered, uint64_t comm_key) {
  const CallRecord* found = nullptr;
  for (const auto& ways : rank->remembered)
    for (const SharedCall& one : ways) {
      if (!one || one->id != entered.id) continue;
      const auto own = rank->comms.find(static_cast<int>(one->at(one->info().at.comm)));
      if (own == rank->comms.end() || own->second.comm->key != comm_key) continue;
      if (found) return nullptr;  // which of them it was is not known
      found = one.get();
    }
  return found;
}

void report_both(const findings::Participant& enters, Rank* by, const CallRecord& entered,
                 uint64_t comm_key) {
  std::vector<findings::Participant> calls = {enters};
  if (const CallRecord* left = by ? call_left(by, entered, comm_key) : nullptr)
    calls.push_back(
        participant(by, *left, "has returned before, and others learn it by a message"));
  report(FindingKind::kBuffering,
         "the program depends on a collective call that returns before all members have made it",
         "MPI may let a collective call wait until all members have made it, or not",
         std::move(calls));
}

}  // namespace

void report_left_early(const Rank* rank, const CallRecord& call, const CheckedComm& c,
                       uint64_t number, int by) {
  if (is_local(by)) return report_both(participant(rank, call), local_rank(by), call, c.key);
  WireLeftEarly left;
  left.world = rank->world;
  left.by = by;
  left.comm = c.key;
  left.number = number;
  left.call = call;
  MPIX_Tool_notify(MPIX_Tool_process(by), &left, sizeof left);
}

void on_left_early(const void* data, size_t bytes) {
  WireLeftEarly left;
  if (bytes != sizeof left) return;
  std::memcpy(static_cast<void*>(&left), data, bytes);
  if (left.call.id >= kCallCount || !is_local(left.by)) return;
  report_both(
      {left.world, left.call.info().name, arguments_of(left.call, nullptr), left.call.site, ""},
      local_rank(left.by), left.call, left.comm);
}

}  // namespace fgmpi::check
