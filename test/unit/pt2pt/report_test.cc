// The deadlock report: names of any bytes, encoded and printed; invalid parts.
#include "pt2pt/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace fgmpi::pt2pt {
namespace {

Report sample(const std::string& name) {
  Report r;
  r.ranks = 7;
  r.calls = {{"MPI_Recv", 5}, {"MPI_Barrier", 2}};
  r.edges = {{0, 1}, {1, 2}, {2, 0}};
  r.lines = {{"MPI_Recv", "rank 0 in MPI_Recv: source 1, tag 5, " + name}};
  return r;
}

TEST(Report, NamesOfAnyBytesStayData) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  for (const std::string& name :
       {std::string("x\nN 100000\nC 9 MPI_Bcast\nE 5 5"), std::string("C"), std::string("a\tb\n"),
        std::string("\nC 9"), std::string("L x\ty"), std::string(), all}) {
    Report sum;
    std::vector<uint8_t> bytes = sample(name).to_bytes();
    ASSERT_TRUE(sum.add_bytes(bytes.data(), bytes.size()));
    ASSERT_TRUE(sum.add_bytes(bytes.data(), bytes.size()));
    EXPECT_EQ(sum.ranks, 14u);
    EXPECT_EQ(sum.calls, (std::map<std::string, uint64_t>{{"MPI_Recv", 10}, {"MPI_Barrier", 4}}));
    EXPECT_EQ(sum.edges, sample("").edges);
    ASSERT_EQ(sum.lines.size(), 2u);
    EXPECT_EQ(sum.lines[1], sample(name).lines[0]);
    const std::string text = sum.to_text();
    // One line a statement: the head, two ranks, two counts, the cycle.
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6) << text;
    EXPECT_EQ(text.find("fgmpi: deadlock: all 14 ranks"), 0u) << text;
    EXPECT_NE(text.find("fgmpi:   8 more in MPI_Recv\n"), std::string::npos) << text;
    EXPECT_NE(text.find("cycle: rank 0 waits for rank 1 waits"), std::string::npos) << text;
    for (char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << text;
  }
}

TEST(Report, OneRankIsNotAll) {
  Report report;
  report.ranks = 1;
  EXPECT_EQ(
      report.to_text(),
      "fgmpi: deadlock: the only rank that has not ended waits and no message is on its way\n");
}

TEST(Report, PrintedEscaped) {
  EXPECT_NE(sample("a\nb\\c\x1b[2J").to_text().find("tag 5, a\\nb\\\\c\\x1b[2J\n"),
            std::string::npos);
  EXPECT_NE(sample("gr\xc3\xb6\xc3\x9f"
                   "e")
                .to_text()
                .find("tag 5, gr\xc3\xb6\xc3\x9f"
                      "e\n"),
            std::string::npos);
  EXPECT_NE(sample("x\xc2\x9by").to_text().find("tag 5, x\\xc2\\x9by\n"), std::string::npos);
}

TEST(Report, EveryShorterOrLongerPartIsRefusedWhole) {
  const std::vector<uint8_t> bytes = sample("grid").to_bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    Report sum;
    ASSERT_FALSE(sum.add_bytes(cut.data(), cut.size())) << size;
    ASSERT_TRUE(sum.ranks == 0 && sum.calls.empty() && sum.edges.empty() && sum.lines.empty());
  }
  std::vector<uint8_t> more = bytes;
  more.push_back(0);
  Report sum;
  EXPECT_FALSE(sum.add_bytes(more.data(), more.size()));
}

TEST(Report, CountsThatDoNotFitTheLinesAreNotMadeNegative) {
  Report r = sample("grid");
  r.calls = {{"MPI_Recv", 0}};
  r.lines.emplace_back("MPI_Send", "rank 9 in MPI_Send");
  EXPECT_EQ(r.to_text().find("more in"), std::string::npos) << r.to_text();
}

TEST(Report, RandomBytesAreRefusedOrHarmless) {
  std::mt19937_64 random(3);
  const std::vector<uint8_t> good = sample("a name").to_bytes();
  for (int run = 0; run < 20'000; ++run) {
    std::vector<uint8_t> bytes = good;
    for (uint64_t n = random() % 4; n > 0; --n)
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random() % 5 ? random() % 4 : random());
    Report sum;
    if (sum.add_bytes(bytes.data(), bytes.size())) {
      ASSERT_FALSE(sum.to_text().empty());
    }
  }
}

}  // namespace
}  // namespace fgmpi::pt2pt
