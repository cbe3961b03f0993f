#include "check/objects/request_table.h"

#include <gtest/gtest.h>

#include <map>

#include "base/hash.h"

namespace fgmpi::check {
namespace {

using Table = RequestTable<int>;

Table::Node node(int handle, int value) {
  auto made = std::make_unique<Table::TableEntry>();
  made->first = handle;
  made->second = value;
  return made;
}

void compare(const Table& table, const std::map<int, Table::TableEntry*>& model) {
  ASSERT_EQ(table.size(), model.size());
  for (const auto& [handle, entry] : model) ASSERT_EQ(table.find(handle), entry);
  size_t seen = 0;
  table.for_each([&](int handle, int) {
    ++seen;
    ASSERT_TRUE(model.contains(handle));
  });
  ASSERT_EQ(seen, model.size());
}

TEST(RequestTable, AsAMap) {
  for (const int handles : {4, 40, 4000}) {
    RandomSequence random(static_cast<uint64_t>(handles));
    Table table;
    std::map<int, Table::TableEntry*> model;
    EXPECT_EQ(table.find(1), nullptr);
    for (int turn = 0; turn < 20'000; ++turn) {
      // Requests have consecutive handles, in two ranges.
      const uint64_t drawn = random.next();
      const int handle = static_cast<int>((drawn & 1 ? 0xac000000u : 0xad000000u) +
                                          (drawn >> 8) % static_cast<uint64_t>(handles));
      auto found = model.find(handle);
      ASSERT_EQ(table.contains(handle), found != model.end());
      if (found == model.end()) {
        model[handle] = table.insert(node(handle, turn));
      } else {
        const int value = found->second->second;
        const Table::Node out = table.extract(found->second);
        ASSERT_EQ(out->first, handle);
        ASSERT_EQ(out->second, value);
        model.erase(found);
      }
      if (turn % 499 == 0) compare(table, model);
    }
    compare(table, model);
  }
}

}  // namespace
}  // namespace fgmpi::check
