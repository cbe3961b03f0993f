#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

#include "base/list.h"
#include "base/slab.h"
#include "base/status.h"
#include "base/strings.h"

namespace fgmpi {
namespace {

TEST(Status, CarriesClassAndWords) {
  EXPECT_TRUE(Status().ok());
  Status s = error(6, "rank is %d; allowed is 0 to %d", 9, 3);
  EXPECT_FALSE(s.ok());
  EXPECT_EQ(s.error_class(), 6);
  EXPECT_EQ(s.what(), "rank is 9; allowed is 0 to 3");
  EXPECT_EQ(sizeof(Status), sizeof(void*));
}

TEST(Strings, NumbersAreStrict) {
  EXPECT_EQ(parse_int("12"), 12);
  EXPECT_EQ(parse_int("-3"), -3);
  for (const char* bad : {"", "x", "1x", " 1", "99999999999999999999"})
    EXPECT_FALSE(parse_int(bad)) << bad;
  EXPECT_EQ(parse_size("64k"), 65536);
  EXPECT_EQ(parse_size("2G"), int64_t{2} << 30);
  for (const char* bad : {"", "k", "-1", "9999999999g"}) EXPECT_FALSE(parse_size(bad)) << bad;
}

TEST(Slab, AgreesWithAMapUnderRandomUse) {
  Slab<std::string, 3> slab;
  std::unordered_map<uint32_t, std::string> model;
  std::mt19937 random(1);
  for (int step = 0; step < 20000; ++step) {
    if (model.empty() || random() % 3) {
      std::string value = std::to_string(step);
      int64_t index = slab.create(value);
      ASSERT_GE(index, 0);
      ASSERT_TRUE(model.emplace(index, value).second);
    } else {
      auto it = std::next(model.begin(), random() % std::min<size_t>(model.size(), 10));
      slab.destroy(it->first);
      EXPECT_EQ(slab.get(it->first), nullptr);
      model.erase(it);
    }
    ASSERT_EQ(slab.live(), model.size());
  }
  for (auto& [index, value] : model) EXPECT_EQ(*slab.get(index), value);
  EXPECT_EQ(slab.get(1u << 25), nullptr);
}

struct Item {
  int value = 0;
  ListHook hook;
};

TEST(List, KeepsOrderAndRemovesAnywhere) {
  List<Item, &Item::hook> list;
  Item items[5];
  for (int i = 0; i < 5; ++i) items[i].value = i, list.push_back(&items[i]);
  list.remove(&items[2]);
  std::string order;
  for (Item* i = list.front(); i; i = list.next(i)) order += std::to_string(i->value);
  EXPECT_EQ(order, "0134");
  EXPECT_FALSE(items[2].hook.linked());
  list.push_front(&items[2]);
  EXPECT_EQ(list.pop_front(), &items[2]);
}

}  // namespace
}  // namespace fgmpi
