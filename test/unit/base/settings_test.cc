#include "base/settings.h"

#include <gtest/gtest.h>
#include <mpi.h>

#include <set>

#include "../setting.h"
#include "base/counters.h"
#include "base/environment.h"

namespace fgmpi::settings {
namespace {

using test::Setting;

std::string refusal(const char* name, const std::string& value) {
  Setting setting(name, value);
  Status status = load();
  EXPECT_EQ(status.ok() ? 0 : MPI_ERR_OTHER, status.error_class());
  return status.what();
}

TEST(Settings, TheTableIsSound) {
  std::set<std::string> names;
  for (const SettingRecord& r : kRecords) {
    SCOPED_TRACE(r.name);
    EXPECT_TRUE(std::string_view(r.name).starts_with("FGMPI_"));
    EXPECT_TRUE(names.insert(r.name).second);
    EXPECT_GT(std::string_view(r.text).size(), 0u);
    EXPECT_EQ(std::string_view(r.text).find('|'), std::string_view::npos) << "ends a cell";
    EXPECT_EQ(std::string_view(r.text).find('\n'), std::string_view::npos);
    EXPECT_TRUE(!*r.fallback || !*r.worked_out) << "one default";
    EXPECT_EQ(r.type == SettingType::kChoice, *r.choices != '\0');
    const bool number = r.type == SettingType::kNumber || r.type == SettingType::kSize;
    EXPECT_EQ(number, *r.unit != '\0');
    EXPECT_EQ(number, r.min < r.max);
    EXPECT_TRUE(!number || *r.fallback || r.min > 0) << "an unset one reads as 0";
    EXPECT_TRUE(check(r.name, r.fallback).ok());
  }
}

TEST(Settings, UnsetOnesHaveTheirDefaults) {
  EXPECT_FALSE(is_set(kSpin));
  EXPECT_EQ(number(kSpin), 200);
  EXPECT_EQ(size(kEagerLocal), size_t{64} << 10);
  EXPECT_TRUE(on(kWatch));
  EXPECT_FALSE(on(kLeaks));
  EXPECT_EQ(text(kGroupmap), "hybrid");
  EXPECT_EQ(text(kHostId), "");
  EXPECT_EQ(value(kCollBcast).choice, -1);
  EXPECT_EQ(number(kStackSize), 0);
}

TEST(Settings, GivenOnesAreParsed) {
  Setting spin("FGMPI_SPIN", "7"), eager("FGMPI_EAGER_LOCAL", "3m"), watch("FGMPI_WATCH", "0"),
      leaks("FGMPI_LEAKS", "on"), id("FGMPI_HOST_ID", " a b"), order("FGMPI_SCHED", "random:42"),
      bcast("FGMPI_COLL_BCAST", "knomial");
  EXPECT_TRUE(is_set(kSpin));
  EXPECT_EQ(number(kSpin), 7);
  EXPECT_EQ(size(kEagerLocal), size_t{3} << 20);
  EXPECT_FALSE(on(kWatch));
  EXPECT_TRUE(on(kLeaks));
  EXPECT_EQ(text(kHostId), " a b");
  EXPECT_EQ(value(kSched).choice, 2);
  EXPECT_EQ(number(kSched), 42);
  EXPECT_EQ(value(kCollBcast).choice, 2);
}

TEST(Settings, AnEmptyOneIsAsUnset) {
  for (const SettingRecord& r : kRecords) {
    Setting empty(r.name, "");
    EXPECT_TRUE(load().ok()) << r.name;
    EXPECT_FALSE(is_set(static_cast<SettingId>(&r - kRecords))) << r.name;
  }
}

TEST(Settings, NonsenseNamesTheVariableTheValueAndWhatIsAllowed) {
  EXPECT_EQ(refusal("FGMPI_SPIN", "abc"), "FGMPI_SPIN=abc: allowed is a number from 0 to 1000000");
  EXPECT_EQ(refusal("FGMPI_SHM_BULK", "1k"), "FGMPI_SHM_BULK=1k: allowed is a size from 4k to 64m");
  EXPECT_EQ(refusal("FGMPI_SHM_READ_MIN", "-1"),
            "FGMPI_SHM_READ_MIN=-1: allowed is a size of 0 or more");
  EXPECT_EQ(refusal("FGMPI_WATCH", "maybe"), "FGMPI_WATCH=maybe: allowed is on or off");
  EXPECT_EQ(refusal("FGMPI_SHM_BACKING", "disk"),
            "FGMPI_SHM_BACKING=disk: allowed is memfd or shm");
  EXPECT_EQ(refusal("FGMPI_SCHED", "random"),
            "FGMPI_SCHED=random: allowed is fifo, lifo or random:NUMBER");
}

/// Tries bad values for every setting whose values are not free text: outside of its range, without
/// digits, and almost right.
TEST(Settings, EveryCheckedOneRefusesNonsense) {
  for (const SettingRecord& r : kRecords) {
    if (r.type == SettingType::kText) continue;
    std::vector<std::string> bad = {"nonsense", " ",    "on ",    "-",
                                    "1x",       "0x10", "off,on", "99999999999999999999"};
    if (r.type == SettingType::kNumber || r.type == SettingType::kSize) {
      bad.push_back(std::to_string(r.min - 1));
      bad.push_back("1.5");
      bad.push_back("k");
      if (r.max < INT64_MAX) bad.push_back(std::to_string(r.max + 1));
    }
    for (const std::string& value : bad) {
      const std::string what = refusal(r.name, value);
      EXPECT_TRUE(what.starts_with(r.name + ("=" + value) + ": allowed is ")) << what;
    }
  }
}

TEST(Settings, EdgesOfTheRangeAreAllowed) {
  for (const SettingRecord& r : kRecords) {
    if (r.type != SettingType::kNumber && r.type != SettingType::kSize) continue;
    EXPECT_TRUE(check(r.name, std::to_string(r.min)).ok()) << r.name;
    EXPECT_TRUE(check(r.name, std::to_string(r.max)).ok()) << r.name;
  }
}

TEST(Settings, EachChoiceIsItsIndex) {
  for (const SettingRecord& r : kRecords) {
    const auto all = choices(r);
    for (size_t i = 0; i < all.size(); ++i) {
      std::string text(all[i]);
      if (text.back() == '#') text.replace(text.size() - 1, 1, "5");
      Setting setting(r.name, text);
      EXPECT_EQ(value(static_cast<SettingId>(&r - kRecords)).choice, static_cast<int>(i)) << text;
    }
  }
}

TEST(Settings, AModulesCheckIsAsked) {
  set_check(kHostId, [](std::string_view text) -> std::string {
    return text == "good" ? "" : "only what is good";
  });
  EXPECT_EQ(refusal("FGMPI_HOST_ID", "bad"), "FGMPI_HOST_ID=bad: allowed is only what is good");
  EXPECT_EQ(refusal("FGMPI_HOST_ID", "good"), "");
  set_check(kHostId, nullptr);
}

TEST(Settings, CheckKnowsOnlyOurs) {
  EXPECT_TRUE(check("PATH", "nonsense").ok());
  EXPECT_TRUE(check("FGMPI_SPIN", "").ok());
  EXPECT_FALSE(check("FGMPI_SPIN", "nonsense").ok());
}

TEST(Settings, UnknownVariablesAreFound) {
  Setting misspelt("FGMPI_SPINN", "1"), known("FGMPI_SPIN", "1"), handed_on("FGMPI_APPNUM", "0");
  EXPECT_EQ(unknown_variables(), std::vector<std::string>{"FGMPI_SPINN"});
}

TEST(SettingsDeathTest, NonsenseEndsTheProcessWithOneLine) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto ask = [] {
    test::set_variable("FGMPI_SPIN", "abc");
    number(kEagerLocal);
  };
  EXPECT_EXIT(ask(), ::testing::ExitedWithCode(1), "^fgmpi: FGMPI_SPIN=abc: allowed is [^\n]*\n$");
}

TEST(Environment, EmptyTextIsNone) {
  using namespace environment;
  setenv("FI_PROVIDER", "", 1);
  EXPECT_STREQ(raw(kFabricProvider), "");
  EXPECT_EQ(text(kFabricProvider), nullptr);
  unset(kFabricProvider);
  EXPECT_EQ(raw(kFabricProvider), nullptr);
}

TEST(Environment, ListsGrowAtTheFront) {
  using namespace environment;
  const std::string before = raw(kLibraryPath) ? raw(kLibraryPath) : "";
  unset(kLibraryPath);
  put_first(kLibraryPath, "b");
  EXPECT_STREQ(raw(kLibraryPath), "b");
  put_first(kLibraryPath, "a");
  EXPECT_STREQ(raw(kLibraryPath), "a:b");
  set(kLibraryPath, before.c_str());
}

TEST(Counters, AreReadWhereTheyAreKept) {
  static uint64_t kept = 3;
  EXPECT_EQ(counters::read(counters::kFrames), 0u) << "its module is not in this program";
  counters::provide(counters::kFrames, [](const void*) { return kept; });
  kept = 5;
  EXPECT_EQ(counters::read(counters::kFrames), 5u);
  counters::provide(counters::kCommCollectives,
                    [](const void* object) { return *static_cast<const uint64_t*>(object); });
  EXPECT_EQ(counters::read(counters::kCommCollectives, &kept), 5u);
}

}  // namespace
}  // namespace fgmpi::settings
