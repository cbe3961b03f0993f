// Times of a file are those that were added; files that hold something else are refused.
#include "predict/computed_times.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/hash.h"

namespace fgmpi::predict {
namespace {

class ComputedTimesFile : public testing::Test {
 protected:
  std::string path_ = testing::TempDir() + "computed-times-" + std::to_string(getpid());
  ~ComputedTimesFile() override { unlink(path_.c_str()); }
  void put(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }
  std::string text() {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

TEST_F(ComputedTimesFile, HoldsAllTimes) {
  RandomSequence random(3);
  constexpr uint32_t kRanks = 5;
  std::vector<std::vector<int64_t>> model(kRanks);
  ComputedTimes times(kRanks);
  for (int i = 0; i < 5000; ++i) {
    const auto rank = static_cast<uint32_t>(random.next() % (kRanks - 1));  // the last has none
    const auto ns = static_cast<int64_t>(random.next() >> (1 + random.next() % 63));
    times.add(rank, ns);
    model[rank].push_back(ns);
  }
  ASSERT_TRUE(times.write(path_).ok());
  ComputedTimes read;
  ASSERT_TRUE(ComputedTimes::read(path_, &read).ok());
  ASSERT_EQ(read.ranks(), kRanks);
  EXPECT_EQ(read.left(), 5000u);
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    for (const int64_t ns : model[rank]) ASSERT_EQ(read.take(rank), ns);
    EXPECT_EQ(read.take(rank), -1);
  }
  EXPECT_EQ(read.take(kRanks), -1);
  EXPECT_EQ(read.left(), 0u);
}

TEST_F(ComputedTimesFile, IsRefusedWhereItHoldsSomethingElse) {
  ComputedTimes times(3), read;
  for (const int64_t ns : {1, 1000, 1'000'000}) times.add(1, ns);
  ASSERT_TRUE(times.write(path_).ok());
  const std::string good = text();
  for (size_t length = 0; length < good.size(); ++length) {
    put(good.substr(0, length));
    EXPECT_FALSE(ComputedTimes::read(path_, &read).ok()) << length << " bytes";
  }
  put(good + "x");
  EXPECT_FALSE(ComputedTimes::read(path_, &read).ok());
  put("fgmpi computed times 1 99999999999999\n");
  EXPECT_FALSE(ComputedTimes::read(path_, &read).ok());
  EXPECT_FALSE(ComputedTimes::read(path_ + ".none", &read).ok());
  // Bytes that end within a number give no further time.
  std::string cut = good;
  cut.back() = static_cast<char>(0xff);
  put(cut);
  EXPECT_FALSE(ComputedTimes::read(path_, &read).ok());
}

}  // namespace
}  // namespace fgmpi::predict
