// Accesses to memory of windows: the order in which conflicting ones happen, and who
// acquires a lock.
//
// Each operation of a rank (MPI_Put, MPI_Accumulate, ...) waits until it is chosen (kAccess), and
// then happens at once as a whole. So does each wait for a lock, which can be chosen while the lock
// is free. Two accesses are also tried in the other order if their order can be observed
// (conflict() in choice.h) and only chance decides it: a race.
//
// A loop that reads until another rank has written (a spin lock of MPI_Compare_and_swap, MPI_Get
// and MPI_Win_flush) would never end in an execution in which it always comes first. An AccessRun
// holds the accesses of a rank between two deeds (messages, collectives). An access repeats an
// earlier one of its run if the call and operands are equal, that access changed nothing, and the
// memory still has the same contents: then its result is the same again. Such an access is the last
// of all choices and stands for all that the loop makes until something changes. Where nothing else
// can happen it is no event.
#include <algorithm>
#include <cstring>
#include <utility>

#include "comm/comm.h"
#include "explore/matcher.h"

namespace fgmpi::explore {

using rma::MemoryAccess;

namespace {

constexpr uint32_t kMostReads = 256;
constexpr int64_t kMostCompared = 4096;  ///< bytes; a loop that reads more is not recognised

bool is_same(const DecidedAccess& a, const DecidedAccess& b) {
  return a.use == b.use && a.detail == b.detail && a.object == b.object && a.target == b.target &&
         a.offset == b.offset && a.bytes == b.bytes && a.deed == b.deed;
}

bool is_comparable(const DecidedAccess& a) { return a.memory && a.bytes <= kMostCompared; }

std::vector<char> bytes_of(const DecidedAccess& a) {
  if (!is_comparable(a)) return {};
  return {a.memory, a.memory + a.bytes};
}

bool holds(const DecidedAccess& a, const std::vector<char>& bytes) {
  return is_comparable(a) && std::memcmp(a.memory, bytes.data(), bytes.size()) == 0;
}

Choice::AccessUse use_of(const MemoryAccess& access) {
  switch (access.use) {
    case MemoryAccess::kRead:
      return Choice::kRead;
    case MemoryAccess::kWrite:
      break;
    case MemoryAccess::kFold:
      return Choice::kFold;
    case MemoryAccess::kLock:
      return Choice::kLock;
  }
  return Choice::kWrite;
}

}  // namespace

Matcher::Memory& Matcher::memory_of(const DecidedAccess& a) {
  return memories_[{a.object, a.target}];
}

bool Matcher::is_possible(const DecidedAccess& a) const {
  if (a.use != Choice::kLock) return true;
  const auto found = memories_.find({a.object, a.target});
  if (found == memories_.end()) return true;
  return !found->second.exclusive && (a.detail == 0 || found->second.shared == 0);
}

// ---- What ranks call ----------------------------------------------------------------------------

void Matcher::await_access(const MemoryAccess& access, const sched::WaitSite* site) {
  await_turn({use_of(access), access.detail, access.window, access.target, access.offset,
              access.bytes, access.memory, access.deed},
             site);
}

void Matcher::await_turn(const DecidedAccess& access, const sched::WaitSite* site) {
  const uint32_t local = comm::rank_state()->local;
  Box& box = box_of(local);
  end_access(&box);
  number_receives(local);
  if (box.run.deeds != box.deeds) {
    box.run = {};
    box.run.deeds = box.deeds;
  }
  if (box.run.repeats && is_repeated(box, access) && is_possible(access)) {
    if (++box.run.repeated > kMostReads) chooser_->end_redundant();
    return begin_access(&box, access);
  }
  box.run.repeats = false;
  Turn turn{&access, site, sched::current(), box.turns_made++, box.run.released};
  box.turns.push_back(&turn);
  sched::park(site);
}

void Matcher::record_unlock(uint64_t window, int32_t target, bool exclusive) {
  const Box& box = box_of(comm::rank_state()->local);
  Memory& memory = memories_[{window, target}];
  memory.unlocked.add(box.past);
  memory.locks.given_back(comm::rank_state()->local, box.past);
  if (exclusive) {
    memory.unlocked_exclusive.add(box.past);
    memory.exclusive = false;
  } else if (memory.shared > 0) {
    --memory.shared;
  }
}

void Matcher::record_notice_sent(const rma::WindowNotice& notice) {
  record_edge_source({notice.window, notice.from, notice.to, notice.kind});
}

void Matcher::record_notice_received(const rma::WindowNotice& notice) {
  record_edge_target({notice.window, notice.from, notice.to, notice.kind});
}

void Matcher::record_edge_source(const Edge& edge) {
  Box& box = box_of(comm::rank_state()->local);
  ++box.deeds;
  auto& [past, soft] = edges_[edge];
  past.add(box.past);
  soft.add(box.soft);
}

void Matcher::record_edge_target(const Edge& edge) {
  const auto found = edges_.find(edge);
  if (found == edges_.end()) return;
  Box& box = box_of(comm::rank_state()->local);
  ++box.deeds;
  box.past.add(found->second.first);
  box.soft.add(found->second.second);
}

// ---- Loops --------------------------------------------------------------------------------------

const Matcher::RepeatedAccess* Matcher::seen_before(const AccessRun& run,
                                                    const DecidedAccess& access) const {
  for (const RepeatedAccess& seen : run.seen)
    if (is_same(seen.access, access)) return &seen;
  return nullptr;
}

/// Has the run made this access before, and has nothing changed there since?
bool Matcher::is_repeated(const Box& box, const DecidedAccess& access) const {
  if (box.run.deeds != box.deeds) return false;
  const RepeatedAccess* seen = seen_before(box.run, access);
  if (!seen) return false;
  if (access.use != Choice::kLock) return !seen->changed && holds(access, seen->bytes);
  const auto memory = memories_.find({access.object, access.target});
  return memory != memories_.end() && memory->second.version == seen->version;
}

/// The rank makes the access before it parks again.
void Matcher::begin_access(Box* box, const DecidedAccess& access) {
  AccessRun& run = box->run;
  RepeatedAccess* seen = const_cast<RepeatedAccess*>(seen_before(run, access));
  if (!seen) {
    run.seen.push_back({access, {}});
    seen = &run.seen.back();
  }
  Memory& memory = memory_of(access);
  seen->version = memory.version;
  run.last = static_cast<size_t>(seen - run.seen.data());
  run.open = true;
  run.before = bytes_of(access);
  if (access.use != Choice::kLock) return;
  if (access.detail)
    memory.exclusive = true;
  else
    ++memory.shared;
}

void Matcher::end_access(Box* box) {
  AccessRun& run = box->run;
  if (!std::exchange(run.open, false)) return;
  RepeatedAccess& seen = run.seen[run.last];
  const DecidedAccess& access = seen.access;
  if (access.use != Choice::kLock) seen.bytes = bytes_of(access);
  const bool may_change = access.use == Choice::kWrite || access.use == Choice::kFold;
  seen.changed = may_change && (!is_comparable(access) || seen.bytes != run.before);
  if (seen.changed) ++memory_of(access).version;
}

// ---- What is possible, and happens --------------------------------------------------------------

Choice Matcher::choice_of(uint32_t local, const Turn& turn, bool repeated) {
  const DecidedAccess& a = *turn.access;
  Choice c;
  c.kind = Choice::kAccess;
  c.rank = local;
  c.operation = turn.number;
  c.number = repeated;
  c.wanted_source = Choice::kNoSource;
  c.wanted_tag = static_cast<int32_t>(a.detail);
  c.source = a.target;
  c.tag = a.use;
  c.context = a.object;
  c.bytes = static_cast<uint64_t>(a.bytes);
  c.at = a.offset;
  return c;
}

void Matcher::add_accesses(uint32_t local, bool repeated, std::vector<Choice>* out) const {
  const Box& box = boxes_[local];
  for (const Turn* turn : box.turns)
    if (is_possible(*turn->access) && is_repeated(box, *turn->access) == repeated)
      out->push_back(choice_of(local, *turn, repeated));
}

/// Reports the accesses of other ranks that this access follows only by chance, and that it
/// conflicts with.
void Matcher::report_conflicts(const Box& box, const Choice& choice, uint32_t event) const {
  for (const Box& other : boxes_) {
    if (&other == &box) continue;
    // Earlier conflicting accesses are met again when the last one is reversed.
    const auto last = std::find_if(other.accesses.rbegin(), other.accesses.rend(),
                                   [&](const MatchEvent& e) { return conflict(e.choice, choice); });
    if (last == other.accesses.rend() || box.past.has(last->event)) continue;
    chooser_->report_race({last->event, box.past, box.soft.has(last->event), event, {}});
  }
}

/// A rank that waits for a lock could have acquired it before those that hold it; perhaps it never
/// will. Reports this as a race.
void Matcher::report_lock_waits() {
  for (uint32_t i = 0; i < boxes_.size(); ++i)
    for (Turn* turn : boxes_[i].turns) {
      if (is_possible(*turn->access)) continue;
      const Box& box = boxes_[i];
      const Locks& locks = memory_of(*turn->access).locks;
      if (std::exchange(turn->reported_at, locks.changes()) == locks.changes()) continue;
      const EventSet without = locks.in_the_way(i, turn->access->detail != 0);
      if (without.first() == SIZE_MAX || box.past.meets(without)) continue;
      chooser_->report_race({static_cast<uint32_t>(without.first()), box.past,
                             box.soft.meets(without), Race::kWaiter + i, without});
    }
}

void Matcher::execute_access(const Choice& choice) {
  Box& box = boxes_[choice.rank];
  Turn* turn = *std::find_if(box.turns.begin(), box.turns.end(),
                             [&](const Turn* t) { return t->number == choice.operation; });
  const DecidedAccess& access = *turn->access;
  EventSet past = box.past;
  if (access.use == Choice::kLock) {
    Memory& memory = memory_of(access);
    memory.locks.got(choice.rank, events_, access.detail != 0);
    past.add(access.detail ? memory.unlocked : memory.unlocked_exclusive);
  }
  chooser_->report_past(past);
  const uint32_t event = events_++;
  report_conflicts(box, choice, event);
  past.add(event);
  box.past = std::move(past);
  box.accesses.push_back({event, choice, {}});
  box.run.repeats = choice.number != 0;
  box.run.repeated = 0;
  release_turn(&box, turn);
}

void Matcher::release_turn(Box* box, Turn* turn) {
  std::erase(box->turns, turn);
  box->run.released = ++releases_;
  begin_access(box, *turn->access);
  sched::ready(turn->proclet);
}

}  // namespace fgmpi::explore
