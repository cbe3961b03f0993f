// Tests of the hints cb_config_list and cb_nodes.
#include "file/aggregators.h"

#include <gtest/gtest.h>

namespace fgmpi::file {
namespace {

using List = std::vector<uint32_t>;

/// Three hosts: processes 0 to 3 on a, 4 and 5 on b, 6 on c, as a scheduler places them.
const std::vector<FileProcess> kPlaces = {
    {1, "a.site"}, {1, "a.site"}, {1, "a.site"}, {1, "a.site"}, {2, "b"}, {2, "b"}, {3, "c"}};

TEST(Aggregators, OneOfEachHostUnlessMoreAreWanted) {
  EXPECT_EQ(choose_aggregators(kPlaces, "", 0), (List{0, 4, 6}));
  EXPECT_EQ(choose_aggregators(kPlaces, "", 2), (List{0, 4}));
  EXPECT_EQ(choose_aggregators(kPlaces, "", 5), (List{0, 1, 4, 5, 6}));
  EXPECT_EQ(choose_aggregators(kPlaces, "", 100), (List{0, 1, 2, 3, 4, 5, 6}));
}

TEST(Aggregators, ListsNameHosts) {
  EXPECT_EQ(choose_aggregators(kPlaces, "*:1", 0), (List{0, 4, 6}));
  EXPECT_EQ(choose_aggregators(kPlaces, "*:*", 0), (List{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(choose_aggregators(kPlaces, "a:3,*:0", 0), (List{0, 1, 2}));
  EXPECT_EQ(choose_aggregators(kPlaces, "a.site,b:2", 0), (List{0, 4, 5}));
  EXPECT_EQ(choose_aggregators(kPlaces, "c,*:2", 4), (List{0, 1, 4, 6}));
  EXPECT_EQ(choose_aggregators(kPlaces, "nowhere:7", 0), (List{0, 4, 6}));
}

TEST(Aggregators, BadListsAreNone) {
  for (const char* good : {"*", "*:*", "a:1,b:0", "x.y-z:12,*:3"})
    EXPECT_TRUE(is_config_list(good));
  for (const char* bad : {"", ",", "a:", ":1", "a:-1", "a:x", "a:1,,b"})
    EXPECT_FALSE(is_config_list(bad)) << bad;
}

}  // namespace
}  // namespace fgmpi::file
