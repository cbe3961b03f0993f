#include <gtest/gtest.h>

extern "C" int groupmap_c_api_test(void);

TEST(CApi, WorksFromC) { EXPECT_EQ(groupmap_c_api_test(), 0) << "the line in c_api.c"; }
