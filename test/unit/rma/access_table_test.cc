// Compares the table of accesses with a list of all accesses.
#include "rma/access_table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <set>
#include <tuple>

#include "base/hash.h"

namespace fgmpi::rma {
namespace {

struct Freed {
  void operator()(AccessTable* table) const { std::free(table); }
};
using Table = std::unique_ptr<AccessTable, Freed>;
/// A table in zeroed memory, as fresh shared memory is.
Table new_table() { return Table(static_cast<AccessTable*>(std::calloc(1, sizeof(AccessTable)))); }

AccessRecord access(MemoryUse use, int origin, uint64_t low, uint64_t high) {
  AccessRecord r{};
  r.low = low;
  r.high = high;
  r.origin = origin;
  r.use = use;
  r.op = MPI_SUM;
  r.element = MPI_BYTE;
  r.place = static_cast<uint64_t>(use);
  return r;
}

size_t enter(AccessTable* table, const AccessRecord& r) {
  std::vector<Conflict> found;
  table->enter(r, {{r.low, r.high}}, true, true, AccessTable::kMost, &found);
  return found.size();
}

bool by_the_standard(const AccessRecord& a, const AccessRecord& b) {
  if (a.low >= b.high || b.low >= a.high || a.member != b.member) return false;
  if (a.use == MemoryUse::kRead && b.use == MemoryUse::kRead) return false;
  return a.use != MemoryUse::kAccumulate ||
         b.use != MemoryUse::kAccumulate;  // all have one operation and type
}

using Who = std::set<std::tuple<int, MemoryUse, uint32_t>>;
Who who(const AccessRecord& r) { return {{r.origin, r.use, r.member}}; }

TEST(AccessTable, FindsWhatAListFinds) {
  RandomSequence random(3);
  for (int round = 0; round < 50; ++round) {
    const Table table = new_table();
    std::vector<AccessRecord> all;
    for (int i = 0; i < 200; ++i) {
      const uint64_t low = random.next() % 300;
      AccessRecord now =
          access(static_cast<MemoryUse>(random.next() % 3), static_cast<int>(random.next() % 3),
                 low, low + 1 + random.next() % 4);
      now.member = static_cast<uint32_t>(random.next() % 2);
      Who expected, seen;
      for (const AccessRecord& old : all)
        if (by_the_standard(old, now)) expected.merge(who(old));
      std::vector<Conflict> found;
      table->enter(now, {{now.low, now.high}}, true, true, AccessTable::kMost, &found);
      for (const Conflict& c : found) {
        seen.merge(who(c.first));
        EXPECT_LT(c.first.low, now.high);
        EXPECT_LT(now.low, c.first.high);
      }
      ASSERT_EQ(seen, expected) << "round " << round << ", access " << i;
      all.push_back(now);
    }
  }
}

TEST(AccessTable, AccumulatesOfOneOriginHaveTheSameElements) {
  const Table table = new_table();
  AccessRecord whole = access(MemoryUse::kAccumulate, 1, 16, 32);
  whole.element = MPI_INT;
  EXPECT_EQ(enter(table.get(), whole), 0u);
  AccessRecord other = access(MemoryUse::kAccumulate, 1, 20, 28);
  other.element = MPI_INT;
  EXPECT_EQ(enter(table.get(), other), 0u);
  other.low = 18;
  EXPECT_EQ(enter(table.get(), other), 1u) << "halves of elements";
  const Table fresh = new_table();
  EXPECT_EQ(enter(fresh.get(), whole), 0u);
  other.low = 20;
  other.element = MPI_FLOAT;
  EXPECT_EQ(enter(fresh.get(), other), 1u) << "another kind of values";
  other.element = MPI_INT32_T;
  EXPECT_EQ(enter(fresh.get(), other), 1u) << "the same as MPI_INT, but not as the float";
}

/// The number of conflicts of a write by rank 2 with what is in the table, where the rank knows of
/// all that is complete, or of nothing.
size_t enter_knowing(AccessTable* table, uint64_t low, bool all) {
  AccessRecord r = access(MemoryUse::kWrite, 2, low, low + 4);
  r.kind = EpochKind::kPassive;
  const OrderQuestion order = {all ? [](const Win*, const AccessRecord&) { return true; }
                                   : [](const Win*, const AccessRecord&) { return false; },
                               nullptr};
  std::vector<Conflict> found;
  table->enter(r, {{r.low, r.high}}, false, true, AccessTable::kMost, &found, order);
  return found.size();
}

TEST(AccessTable, CompleteAccessesConflictUnlessTheyAreKnown) {
  const Table table = new_table();
  for (uint32_t i = 0; i < 2 * AccessTable::kMostDone; ++i) {
    AccessRecord r = access(MemoryUse::kWrite, 1, 8 * uint64_t{i}, 8 * uint64_t{i} + 4);
    r.kind = EpochKind::kPassive;
    r.place = i;
    EXPECT_EQ(enter(table.get(), r), 0u);
    EXPECT_EQ(enter_knowing(table.get(), r.low, true), 1u) << "it is not complete";
    table->finish_if({}, static_cast<int64_t>(i) + 1, [](const AccessRecord&) { return true; });
    EXPECT_EQ(enter_knowing(table.get(), r.low, true), 0u);
    EXPECT_EQ(enter_knowing(table.get(), r.low, false), 1u);
  }
  EXPECT_EQ(table->size(), AccessTable::kMostDone);
  EXPECT_EQ(enter_knowing(table.get(), 0, false), 0u) << "the earliest are forgotten";
  table->erase_if([](const AccessRecord&) { return true; });
  EXPECT_EQ(table->size(), 0u);
}

TEST(AccessTable, AssertedMemoryIsNotUpdated) {
  const Table table = new_table();
  AccessRecord kept = access(MemoryUse::kNoUpdates, 1, 0, 64);
  kept.element = 0;
  EXPECT_EQ(enter(table.get(), kept), 0u);
  EXPECT_EQ(enter(table.get(), access(MemoryUse::kRead, 2, 0, 4)), 0u);
  EXPECT_EQ(enter(table.get(), access(MemoryUse::kWrite, 2, 8, 12)), 1u);
  EXPECT_EQ(enter(table.get(), access(MemoryUse::kAccumulate, 2, 16, 20)), 1u);
}

TEST(AccessTable, LoopsNeedOneRecord) {
  const Table table = new_table();
  for (uint32_t i = 0; i < 2 * AccessTable::kMost; ++i) {
    EXPECT_EQ(enter(table.get(), access(MemoryUse::kAccumulate, 0, 8, 16)), 0u);
    EXPECT_EQ(enter(table.get(), access(MemoryUse::kAccumulate, 0, 64 + 8 * i, 72 + 8 * i)), 0u);
  }
  EXPECT_EQ(table->size(), 2u);
  EXPECT_EQ(enter(table.get(), access(MemoryUse::kWrite, 1, 12, 13)), 1u);
  EXPECT_EQ(enter(table.get(), access(MemoryUse::kWrite, 1, 16, 64)), 0u);
}

TEST(AccessTable, WhatEndsApartStaysApart) {
  const Table table = new_table();
  AccessRecord passive = access(MemoryUse::kWrite, 0, 0, 8), fenced = passive;
  passive.kind = EpochKind::kPassive;
  fenced.kind = EpochKind::kFence;
  enter(table.get(), passive);
  enter(table.get(), fenced);
  EXPECT_EQ(table->size(), 2u);
  table->erase_if([](const AccessRecord& r) { return r.kind == EpochKind::kPassive; });
  EXPECT_EQ(table->size(), 1u);
  EXPECT_EQ(enter(table.get(), access(MemoryUse::kRead, 1, 4, 5)), 1u);
}

TEST(AccessTable, LoadsAndStoresMeetTheirEpoch) {
  AccessRecord store = access(MemoryUse::kWrite, 0, 8, 16);
  store.kind = EpochKind::kProgram;
  store.phase = 2;
  AccessRecord load = store;
  load.use = MemoryUse::kRead;
  AccessRecord put = access(MemoryUse::kWrite, 1, 12, 20);
  auto meet = [&](const AccessRecord& a, const AccessRecord& b) {
    size_t found = 0;
    for (int turn = 0; turn < 2; ++turn) {
      const Table table = new_table();
      enter(table.get(), turn ? b : a);
      found += enter(table.get(), turn ? a : b);
    }
    EXPECT_NE(found, 1u);  // both orders must give the same result
    return found == 2;
  };
  put.kind = EpochKind::kFence;
  put.phase = 2;
  EXPECT_TRUE(meet(store, put));
  EXPECT_TRUE(meet(load, put));
  EXPECT_FALSE(meet(load, store));
  AccessRecord get = put;
  get.use = MemoryUse::kRead;
  EXPECT_TRUE(meet(store, get));
  EXPECT_FALSE(meet(load, get));
  AccessRecord sum = put;
  sum.use = MemoryUse::kAccumulate;
  EXPECT_TRUE(meet(store, sum));
  put.phase = 3;
  EXPECT_FALSE(meet(store, put));
  put.kind = EpochKind::kStart;
  EXPECT_FALSE(meet(store, put));
  store.exposed = true;
  EXPECT_TRUE(meet(store, put));
  put.kind = EpochKind::kPassive;
  EXPECT_FALSE(meet(store, put));
}

TEST(AccessTable, StoresMeetUpdatesOfLocksUntilTheyAreSeen) {
  const Table table = new_table();
  AccessRecord put = access(MemoryUse::kWrite, 1, 8, 16);
  put.kind = EpochKind::kPassive;
  AccessRecord load = access(MemoryUse::kRead, 0, 12, 16),
               store = access(MemoryUse::kWrite, 0, 8, 12);
  load.kind = store.kind = EpochKind::kAtOnce;
  auto made = [&](const AccessRecord& r) {
    std::vector<Conflict> found;
    table->enter(r, {{r.low, r.high}}, false, false, AccessTable::kMost, &found);
    return found.size();
  };
  enter(table.get(), put);
  EXPECT_EQ(made(store), 1u);
  EXPECT_EQ(made(load), 0u);
  EXPECT_EQ(made(store), 0u);
  enter(table.get(), put);  // a new put, whose data no rank has read
  EXPECT_EQ(made(store), 1u);
  // A fetch by another origin may have read the put's data and notified the target.
  AccessRecord fetch = access(MemoryUse::kAccumulate, 2, 8, 12);
  fetch.kind = EpochKind::kPassive;
  made(fetch);
  EXPECT_EQ(made(store), 0u);
  put.kind = EpochKind::kFence;
  enter(table.get(), put);
  EXPECT_EQ(made(store), 0u);
}

TEST(AccessTable, FullTablesSaySoOnce) {
  const Table table = new_table();
  testing::internal::CaptureStderr();
  for (uint32_t i = 0; i < AccessTable::kMost + 3; ++i)
    enter(table.get(), access(MemoryUse::kRead, 0, 16 * i, 16 * i + 8));
  EXPECT_EQ(table->size(), AccessTable::kMost);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("more than 16384 accesses"), std::string::npos) << said;
  EXPECT_EQ(said.find("more than", said.find("more than") + 1), std::string::npos) << said;
}

}  // namespace
}  // namespace fgmpi::rma
