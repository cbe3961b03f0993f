#include "track/handle_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "track/format.h"

namespace fgmpi::track {
namespace {

TEST(HandleTable, IsAMap) {
  HandleTable table;
  std::map<int, uint32_t> model;
  std::mt19937 random(7);
  for (int step = 0; step < 200000; ++step) {
    const int handle = static_cast<int>(0x84000000u + random() % 500);
    if (random() % 4 == 0) {
      const auto value = static_cast<uint32_t>(random() & 0xffffff);
      const auto [it, absent] = model.try_emplace(handle, value);
      ASSERT_EQ(table.find_or_put(handle, value), absent ? HandleTable::kNone : it->second);
    } else if (random() % 3 == 0) {
      table.put(handle, random() & 0xffffff);
      model[handle] = table.find(handle);
    } else {
      // Half of the removals are by a thread that is late: the handle has a new value already.
      const auto it = model.find(handle);
      const bool late = random() % 2;
      table.remove(handle, it == model.end() ? 1 : it->second + late);
      if (!late) model.erase(handle);
    }
    ASSERT_EQ(table.size(), model.size());
    const int other = static_cast<int>(0x84000000u + random() % 500);
    const auto it = model.find(other);
    ASSERT_EQ(table.find(other), it == model.end() ? HandleTable::kNone : it->second);
  }
}

// The budget is 64 bytes for each communicator and rank: its record, and its share of the table,
// which is largest right after the table has grown.
TEST(HandleTable, CommunicatorsStayInTheBudget) {
  HandleTable table;
  for (int n = 0; n < 100000; ++n) {
    table.put(n * 7, 1);
    if (n >= 24) {  // the paper's program makes that many communicators
      ASSERT_LE(static_cast<double>(table.bytes()) / table.size() + sizeof(CommRecord), 64.0) << n;
    }
  }
}

}  // namespace
}  // namespace fgmpi::track
