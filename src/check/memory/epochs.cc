// Epochs of fences: what a program asserts of them, and operations that no fence completes. Memory
// of windows that has ended.
#include "check/call.h"

namespace fgmpi::check {
namespace {

int64_t assertion_of(const CheckedCall& call) { return call.at(call.find("assert")); }

void check_fence(const CheckedCall& call, const Epochs& epochs) {
  if (epochs.store && assertion_of(call) & MPI_MODE_NOSTORE)
    report(FindingKind::kWindows,
           "MPI_MODE_NOSTORE is given to a fence after stores to memory of the window",
           "MPI_MODE_NOSTORE where the rank has changed nothing there since the last fence",
           {call.me(), *epochs.store});
  if (assertion_of(call) & MPI_MODE_NOPRECEDE) {
    if (epochs.fence_operation)
      report(FindingKind::kWindows,
             "MPI_MODE_NOPRECEDE is given to a fence that has operations to complete",
             "MPI_MODE_NOPRECEDE where no rank has made operations since the last fence",
             {call.me(), participant(call.rank(), *epochs.fence_operation, "is to be completed")});
    return;
  }
  // MPI-4.0 section 12.5.1: the two fences expose the memory that is accessed between them, and
  // exposed memory may not be locked.
  if (epochs.fence && epochs.lock_operation)
    report(FindingKind::kWindows,
           "memory of a window is locked and accessed between two fences, which expose it",
           "MPI_MODE_NOSUCCEED at the fence before the lock, MPI_MODE_NOPRECEDE at the fence after "
           "it",
           {participant(call.rank(), *epochs.lock_operation, "accesses locked memory"),
            participant(call.rank(), *epochs.fence, "begins an epoch"), call.me("ends it")});
}

/// Reports memory of a window in a stack frame that has ended. `call` lies on the same stack, below
/// the frames of the program. One finding for a window is enough.
void check_stack(const CheckedCall& call, MPI_Win window, Epochs* epochs) {
  const Rank* rank = call.rank();
  const auto frame = reinterpret_cast<uintptr_t>(&call + 1);
  if (epochs->stack == 0 || epochs->stack >= frame || !pthread_equal(call.thread(), rank->thread))
    return;
  for (const Exposed& e : rank->windows) {
    if (e.win != window || !e.own || e.low <= epochs->stack || e.low >= frame) continue;
    std::vector<findings::Participant> calls = {call.me()};
    const auto& made = rank->made[static_cast<int>(Object::kWin)];
    if (const auto at = made.find(static_cast<uint64_t>(static_cast<uint32_t>(window)));
        at != made.end())
      calls.push_back(participant(rank, at->second.call, "made the window"));
    report(FindingKind::kWindows,
           "memory of a window is on the stack of a function that has returned",
           "the memory lives until MPI_Win_free has returned", std::move(calls));
    epochs->stack = 0;
    return;
  }
}

}  // namespace

void check_epochs_before(CheckedCall* call) {
  const MPI_Win window = window_of(call->record());
  const auto found = call->rank()->epochs.find(window);
  if (found == call->rank()->epochs.end()) return;
  Epochs& epochs = found->second;
  check_stack(*call, window, &epochs);
  if (call->record().id == kCall_MPI_Win_fence) return check_fence(*call, epochs);
  if (epochs.fence_operation)
    report(FindingKind::kWindows, "a window is freed before a fence has completed its operations",
           "MPI_Win_fence after the last operation, then MPI_Win_free",
           {call->me(), participant(call->rank(), *epochs.fence_operation, "is not completed")});
}

void record_change(Rank* rank, uintptr_t low, uintptr_t high,
                   const findings::Participant& participant) {
  for (const Exposed& e : rank->windows) {
    if (!e.own || !e.meets(low, high - low)) continue;
    const auto epochs = rank->epochs.find(e.win);
    if (epochs != rank->epochs.end() && !epochs->second.store) epochs->second.store = participant;
  }
}

namespace {

/// An operation that writes into its origin memory changes the rank's windows there.
void record_changed_origin(const CheckedCall& call) {
  const CallInfo& info = call.info();
  for (unsigned set = info.sets.buffers; set; set &= set - 1) {
    const int i = __builtin_ctz(set);
    if (info.parameters[i].what == ParameterUse::kRead) continue;
    const auto low = static_cast<uintptr_t>(call.at(i));
    record_change(call.rank(), low, low + 1, call.me("has changed the memory"));
  }
}

}  // namespace

void record_operation(const CheckedCall& call, Epochs* epochs) {
  if (uses_windows(call) && call.info().at.target >= 0) record_changed_origin(call);
  const int8_t target = call.info().at.target;
  if (target < 0 || call.at(target) == MPI_PROC_NULL || !epochs->fence || epochs->started) return;
  const bool locked = epochs->all_locked || !epochs->locked.empty();
  std::optional<CallRecord>& first = locked ? epochs->lock_operation : epochs->fence_operation;
  if (!first) first = call.record();
}

void record_fence(const CheckedCall& call, Epochs* epochs) {
  epochs->fenced = !(assertion_of(call) & MPI_MODE_NOSUCCEED);
  epochs->fence_operation.reset();
  epochs->lock_operation.reset();
  epochs->fence.reset();
  epochs->store.reset();
  if (epochs->fenced) epochs->fence = call.record();
}

}  // namespace fgmpi::check
