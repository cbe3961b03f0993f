// Enters an access into a table and compares it with the accesses that are there.

#include "rma/access_table.h"

#include <cstring>
#include <string>

#include "base/clock.h"
#include "base/error_line.h"
#include "base/page.h"
#include "base/recorded_memory.h"
#include "datatype/basic_type.h"
#include "host/handle_bits.h"
#include "rma/check.h"

namespace fgmpi::rma {
namespace {

bool only_reads(const AccessRecord& r) {
  return r.use == MemoryUse::kRead || (r.use == MemoryUse::kAccumulate && r.op == MPI_NO_OP);
}

bool is_atomic(const AccessRecord& r) {
  return r.use == MemoryUse::kAccumulate || r.use == MemoryUse::kSwap;
}

/// True where a load or store of the target's program and an access of another kind are in one
/// epoch. In epochs of locks the program may find in the memory that an update has arrived, and
/// store then. What the program, and other ranks, read meanwhile is left open by the unified memory
/// model.
bool same_epoch(const AccessRecord& program, const AccessRecord& other) {
  if (program.kind == EpochKind::kAtOnce)
    return other.kind == EpochKind::kPassive && !only_reads(program) && !only_reads(other) &&
           !other.seen && !other.done;
  if (other.kind == EpochKind::kFence) return other.phase == program.phase;
  return other.kind == EpochKind::kStart && program.exposed;
}

/// True where the elements of two accumulates are of the same kind of values.
bool same_values(const AccessRecord& a, const AccessRecord& b) {
  const datatype::BasicType *first = datatype::basic_type(a.element),
                            *second = datatype::basic_type(b.element);
  if (!first || !second) return a.element == b.element;
  return first->kind == second->kind &&
         host::builtin_size(a.element) == host::builtin_size(b.element);
}

/// True for elements of two accumulates that have only a part of their bytes in common. `low`: an
/// element of the second. REQUIRES: same_values().
bool overlap_in_part(const AccessRecord& first, const AccessRecord& second, uint64_t low) {
  if (!is_atomic(first) || !is_atomic(second) || first.done) return false;
  const datatype::BasicType* type = datatype::basic_type(first.element);
  // A pair with a gap has two runs.
  return type && type->kind != datatype::BasicKind::kPair &&
         (first.low - low) % host::builtin_size(first.element) != 0;
}

/// True for a load of the owner's program outside of epochs of fences and MPI_Win_post.
bool is_load(const AccessRecord& r) {
  return r.kind == EpochKind::kLocal && r.exposed && only_reads(r);
}

/// True for a call of the owner on its memory, or its program's store, and an operation there, of
/// which one writes.
bool meets_call(const AccessRecord& a, const AccessRecord& b) {
  const AccessRecord &call = a.kind == EpochKind::kLocal ? a : b, &other = &call == &a ? b : a;
  if (other.kind > EpochKind::kPassive || other.origin_of) return false;
  // A store is compared with what comes later; the unified model allows it beside reads.
  if (call.exposed && !only_reads(call) && (only_reads(other) || &call == &b)) return false;
  if (other.kind == EpochKind::kFence) return call.phase == other.phase;
  return other.kind == EpochKind::kStart || !call.seen;
}

/// True for two accesses to the same bytes that conflict, the second begun before the first was
/// complete for all.
bool conflict(const AccessRecord& a, const AccessRecord& b) {
  if (only_reads(a) && only_reads(b)) return false;
  if (a.use == MemoryUse::kNoUpdates || b.use == MemoryUse::kNoUpdates)
    return a.kind == b.kind && a.use != b.use &&
           !only_reads(a.use == MemoryUse::kNoUpdates ? b : a);
  if (a.kind == EpochKind::kLocal || b.kind == EpochKind::kLocal) return meets_call(a, b);
  // The two are compared as origin memory of operations (check.h).
  if (a.origin_of && b.origin_of && a.origin == b.origin) return false;
  if (a.kind >= EpochKind::kProgram) return same_epoch(a, b);
  if (b.kind >= EpochKind::kProgram) return same_epoch(b, a);
  if (!is_atomic(a) || !is_atomic(b)) return true;
  // They are atomic, and ordered where they have one origin, for elements of one type.
  if (!same_values(a, b)) return true;
  // Accesses of one origin are ordered, and a compare-and-swap may meet any other access.
  if (a.origin == b.origin || a.use == MemoryUse::kSwap || b.use == MemoryUse::kSwap) return false;
  if (a.element != b.element) return true;
  return a.op != b.op && a.op != MPI_NO_OP && b.op != MPI_NO_OP;
}

/// True where the access may read what an operation of an epoch of locks has changed.
bool reads_memory(const AccessRecord& r) {
  return is_atomic(r) || (r.kind == EpochKind::kAtOnce && r.use == MemoryUse::kRead);
}

/// True for a record that a fence has ended, though its target has not returned from that fence.
bool is_over(const AccessRecord& record, const AccessRecord& now) {
  return record.kind == EpochKind::kFence && record.phase != now.phase;
}

/// True where the records differ only in their bytes: the same accesses conflict with both, and the
/// same synchronisation ends both.
bool alike(const AccessRecord& a, const AccessRecord& b) {
  return a.place == b.place && a.origin == b.origin && a.member == b.member && a.phase == b.phase &&
         a.use == b.use && a.kind == b.kind && a.exposed == b.exposed && a.seen == b.seen &&
         a.op == b.op && a.element == b.element && a.origin_of == b.origin_of && !a.done &&
         !b.done && !std::strcmp(a.call, b.call);
}

/// True where the second access is the first one made again.
bool is_again(const AccessRecord& a, const AccessRecord& b) {
  return a.low == b.low && a.high == b.high && a.place == b.place && a.origin == b.origin &&
         a.member == b.member && a.use == b.use && a.kind == b.kind && a.op == b.op &&
         a.element == b.element;
}

}  // namespace

void AccessTable::enter(const AccessRecord& pattern, const AddressRuns& runs, bool keeps,
                        bool keeps_conflicting, size_t most, std::vector<Conflict>* found,
                        const OrderQuestion& order) {
  bool overflowed = false;
  {
    std::lock_guard<SpinLock> guard(lock_);
    if (pattern.kind <= EpochKind::kPassive && !only_reads(pattern))
      __atomic_store_n(&updated_[pattern.member % kPlaces], stamp_ns(), __ATOMIC_RELEASE);
    if (pattern.kind == EpochKind::kLocal && !only_reads(pattern))
      __atomic_store_n(&stored_[pattern.member % kPlaces], stamp_ns(), __ATOMIC_RELEASE);
    compare(pattern, runs, most, order, found);
    if (keeps && (found->empty() || keeps_conflicting)) overflowed = !add_runs(pattern, runs);
  }
  if (!overflowed) return;
  std::string line = "windows: more than ";
  line += std::to_string(kMost);
  line += " accesses to the memory of one process are under way; some are not compared";
  detail::g_observing ? write_tool_line(line) : write_error_line(line);
}

void AccessTable::compare(const AccessRecord& pattern, const AddressRuns& runs, size_t most,
                          const OrderQuestion& order, std::vector<Conflict>* found) {
  const bool sees = reads_memory(pattern);
  for (uint32_t i = 0; i < used_ && found->size() < most; ++i) {
    AccessRecord& old = records_[i];
    if (old.member != pattern.member || is_over(old, pattern)) continue;
    const bool looks = sees && old.kind == EpochKind::kPassive, meets = conflict(old, pattern),
               updates = !only_reads(old) || !only_reads(pattern);
    if (!looks && !updates) continue;
    for (const auto& [low, high] : runs) {
      if (old.low >= high || low >= old.high) continue;
      if (looks) old.seen = true;
      if (!meets && !overlap_in_part(old, pattern, low)) continue;
      if (old.done && order(old)) break;
      found->push_back({old, pattern});
      found->back().second.low = low;
      found->back().second.high = high;
      break;
    }
  }
}

bool AccessTable::add_runs(const AccessRecord& pattern, const AddressRuns& runs) {
  auto same = [&](const AccessRecord& old) { return alike(old, pattern); };
  for (const auto& [low, high] : runs) {
    if (pattern.done) {
      AccessRecord record = pattern;
      record.low = low;
      record.high = high;
      add_done(record);
      continue;
    }
    if (widen(records_, records_ + used_, {low, high}, same)) continue;
    if (used_ == kMost) return std::exchange(overflowed_, 1) != 0;
    AccessRecord& record = records_[used_++];
    record = pattern;
    record.low = low;
    record.high = high;
  }
  return true;
}

void AccessTable::record_assertions(uint32_t fence, int assertions, int32_t origin,
                                    uint64_t place) {
  std::lock_guard<SpinLock> guard(lock_);
  FenceAssertions& all = assertions_[fence & 1];
  if (all.number != fence + 1) all = {fence + 1, {}};
  for (size_t i = 0; i < std::size(kAgreedAssertions); ++i)
    all.by[i][(assertions & kAgreedAssertions[i]) != 0] = {true, origin, place};
}

FenceAssertions::GivenBy AccessTable::asserted_by(uint32_t fence, size_t assertion, bool given) {
  std::lock_guard<SpinLock> guard(lock_);
  const FenceAssertions& all = assertions_[fence & 1];
  return all.number == fence + 1 ? all.by[assertion][given] : FenceAssertions::GivenBy();
}

void AccessTable::add_done(const AccessRecord& record) {
  AccessRecord *end = records_ + used_, *earliest = nullptr, *earliest_load = nullptr;
  uint32_t loads = 0;
  for (AccessRecord* old = records_; old != end; ++old) {
    if (!old->done) continue;
    if (is_again(*old, record)) {
      *old = record;
      return;
    }
    if (!earliest || old->done < earliest->done) earliest = old;
    if (!is_load(*old)) continue;
    ++loads;
    if (!earliest_load || old->done < earliest_load->done) earliest_load = old;
  }
  // Loads are many, and a conflict with one is only noted: they displace nothing else.
  if (is_load(record) && loads >= kMostLoads) {
    *earliest_load = record;
    return;
  }
  if (earliest && (done_ >= kMostDone || used_ == kMost)) {
    *earliest = record;
  } else if (used_ < kMost) {
    records_[used_++] = record;
    ++done_;
  }
}

uint64_t access_table_bytes() {
  return checking() || is_recorded_run() ? page_up(sizeof(AccessTable)) : 0;
}

AccessTable* access_table(void* control, uint64_t control_bytes) {
  if (!checking()) return nullptr;
  return reinterpret_cast<AccessTable*>(static_cast<char*>(control) + control_bytes -
                                        access_table_bytes());
}

}  // namespace fgmpi::rma
