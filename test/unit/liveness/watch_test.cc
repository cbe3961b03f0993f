#include "liveness/watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace fgmpi::liveness {
namespace {

TEST(Watch, CardsAreStrict) {
  Card card = own_card(7, "00ff");
  EXPECT_EQ(card.pid, getpid());
  EXPECT_GE(card.farewell_fd, 0);
  Card again;
  ASSERT_TRUE(again.parse(card.to_string()));
  EXPECT_EQ(again.to_string(), card.to_string());
  EXPECT_EQ(again.launcher_fd, 7);
  EXPECT_EQ(again.host_id, "00ff");
  for (const char* bad :
       {"", "1:2:3", "1:2:3:ff:", "0:2:3:ff:h", "1:2:3:xy:h", "1:2:3:ff:h:", "1:2:3:ff:h,"})
    EXPECT_FALSE(again.parse(bad)) << bad;
}

}  // namespace
}  // namespace fgmpi::liveness
