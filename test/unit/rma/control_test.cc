// Compares locks with a queue of requests in the order in which they were made.
#include "rma/control.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>

#include "base/hash.h"

namespace fgmpi::rma {
namespace {

constexpr uint32_t kMembers = 3;
constexpr int32_t kRanks = 12;

struct Model {
  std::map<int32_t, LockKind> holders;
  std::deque<std::pair<int32_t, LockKind>> waiting;
  bool free_for(LockKind kind) const {
    return kind == LockKind::kExclusive
               ? holders.empty()
               : holders.empty() || holders.begin()->second == LockKind::kShared;
  }
};

TEST(Control, LocksAreFirstComeFirstServed) {
  const size_t bytes = Control::bytes(kMembers, kRanks);
  void* memory = aligned_alloc(4096, bytes);
  std::memset(memory, 0, bytes);
  Control control(memory, kMembers);
  Model models[kMembers];
  std::map<int32_t, uint32_t> waits_for;
  RandomSequence random(11);
  for (int step = 0; step < 20000; ++step) {
    const auto member = static_cast<uint32_t>(random.next() % kMembers);
    const auto rank = static_cast<int32_t>(random.next() % kRanks);
    Model& m = models[member];
    if (waits_for.count(rank)) continue;  // a rank that waits makes no other request
    if (auto held = m.holders.find(rank); held != m.holders.end()) {
      std::vector<int32_t> granted, expected;
      control.release(member, held->second, &granted);
      m.holders.erase(held);
      while (!m.waiting.empty() && m.free_for(m.waiting.front().second)) {
        m.holders.insert(m.waiting.front());
        expected.push_back(m.waiting.front().first);
        waits_for.erase(m.waiting.front().first);
        m.waiting.pop_front();
      }
      ASSERT_EQ(granted, expected);
      continue;
    }
    const LockKind kind = random.next() % 3 ? LockKind::kShared : LockKind::kExclusive;
    const bool expected = m.waiting.empty() && m.free_for(kind);
    ASSERT_EQ(control.acquire(member, rank, kind), expected);
    if (expected) {
      m.holders[rank] = kind;
    } else {
      m.waiting.emplace_back(rank, kind);
      waits_for[rank] = member;
    }
  }
  std::free(memory);
}

}  // namespace
}  // namespace fgmpi::rma
