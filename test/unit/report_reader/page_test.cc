// The data of the page: JSON whatever the files hold, with the numbers of the run.
#include <gtest/gtest.h>

#include <filesystem>

#include "json.h"
#include "readers/report/run.h"
#include "report_file.h"

namespace fgmpi::report {
namespace {

Json data_of(const JobRun& run) { return JsonParser::parse(page_data(run)); }

/// A run of one file.
JobRun run_of(const ReportFile& file) {
  char name[] = "/tmp/report-page-XXXXXX";
  EXPECT_NE(mkdtemp(name), nullptr);
  file.write(std::string(name) + "/report-a-1");
  JobRun run;
  run.read(name);
  std::filesystem::remove_all(name);
  run.sum_up();
  EXPECT_EQ(run.refused, std::vector<std::string>());
  return run;
}

TEST(JsonParser, TakesOnlyJson) {
  for (const char* text : {"{}", "[]", " [1, -2.5e3, \"a\\\"\\u001f\", true, {\"a\": [null]}] "})
    EXPECT_NE(JsonParser::parse(text).kind, Json::kInvalid) << text;
  for (const char* text : {"", "{", "[1,]", "[1 2]", "nan", "-inf", "[inf]", "01", "1.", "\"\n\"",
                           "\"\\x\"", "\"", "{a:1}", "{\"a\"}", "[] []"})
    EXPECT_EQ(JsonParser::parse(text).kind, Json::kInvalid) << text;
  EXPECT_EQ(JsonParser::parse("{\"a\":[1,{\"b\":-2.5}]}")["a"][1]["b"].number, -2.5);
}

TEST(Page, ARunWithoutFilesHasData) {
  JobRun run;
  run.end.status = 3;
  const Json data = data_of(run);
  ASSERT_EQ(data.kind, Json::kObject);
  EXPECT_EQ(data["run"]["ranks"].number, 0);
  EXPECT_EQ(data["run"]["status"].number, 3);
  EXPECT_EQ(data["run"]["end"].text, "exit status 3: no process came back from MPI_Init");
}

TEST(Page, NoTextEndsTheScriptOrLeavesItsString) {
  ReportFile file(0, 1, 1);
  std::memset(file.header()->host, '"', sizeof file.header()->host);  // without a zero at its end
  file.header()->flags = kError;
  std::strcpy(file.header()->error, "\\</script>\n\t\x7f<!--");
  JobRun run = run_of(file);
  run.end.command = "a \"b\" </script>\x01";
  const std::string text = page_data(run);
  EXPECT_EQ(text.find('<'), text.npos);
  const Json data = JsonParser::parse(text);
  ASSERT_EQ(data.kind, Json::kObject) << text;
  EXPECT_EQ(data["run"]["command"].text, "a \\\"b\\\" \\u003c/script>\\u0001");
  EXPECT_EQ(data["run"]["hosts"][0][0].text.size(), 2 * sizeof file.header()->host);
}

TEST(Page, BinsOfRanksHaveTheirAverages) {
  const int32_t ranks = 1234;
  ReportFile file(0, ranks, ranks);
  for (int32_t i = 0; i < ranks; ++i) {
    file.rank(i)->program_ns = static_cast<uint64_t>(i) * 1'000'000'000;
    file.rank(i)->stack_bytes = static_cast<uint64_t>(i);
  }
  const Json data = data_of(run_of(file));
  const Json& bins = data["ranks"];
  ASSERT_EQ(bins.size(), 400u);
  double next = 0;
  for (size_t b = 0; b < bins.size(); ++b) {
    const double first = bins[b][0].number, count = bins[b][1].number;
    ASSERT_EQ(first, next);
    ASSERT_GE(count, 1);
    EXPECT_NEAR(bins[b][2].number, first + (count - 1) / 2, 0.01);
    EXPECT_EQ(data["memory"]["stacks"][b][2].number, first + count - 1);
    next += count;
  }
  EXPECT_EQ(next, ranks);
}

TEST(Page, TheHistogramCountsEachRankOnce) {
  ReportFile file(0, 100, 100);
  file.header()->slots[0] = call_number("MPI_Recv");
  for (int32_t i = 0; i < 100; ++i) file.rank(i)->call_times[0] = static_cast<uint32_t>(i);
  const Json data = data_of(run_of(file));
  const Json& counts = data["histogram"]["counts"];
  ASSERT_EQ(counts.size(), 40u);
  double sum = 0;
  for (const Json& n : counts.items) {
    EXPECT_GE(n.number, 2);
    EXPECT_LE(n.number, 3);
    sum += n.number;
  }
  EXPECT_EQ(sum, 100);
}

TEST(Page, TheTimelineShowsTheColumnsOfItsSlices) {
  ReportFile file(0, 2, 2);
  ProfileHeader* h = file.header();
  file.make_timeline(256, 2, 2);
  h->init_ns = 1000, h->last_ns = 1000 + 256'000, h->column_ns = 1000;
  char* timeline = file.in_part<char>(h->timeline);
  auto* columns = reinterpret_cast<TimeColumn*>(timeline);
  auto* rows = reinterpret_cast<uint8_t*>(timeline + rows_in_timeline());
  auto* memory = reinterpret_cast<uint16_t*>(timeline + memory_in_timeline(2));
  for (uint32_t c = 0; c < 256; ++c) {
    columns[c] = {pack_kib(c), static_cast<uint8_t>(c), static_cast<uint8_t>(255 - c)};
    rows[kRowBytes + c / 2] |= static_cast<uint8_t>((c % 9) << (c % 2 * 4));
    memory[kColumns + c] = pack_kib(2 * c);
  }
  const Json data = data_of(run_of(file));
  ASSERT_EQ(data.kind, Json::kObject);
  const std::string codes = data["timeline"]["rows"][1][1].text;
  ASSERT_EQ(codes.size(), 256u);
  for (uint32_t c = 0; c < 256; ++c) {
    EXPECT_EQ(codes[c], static_cast<char>('0' + c % 9)) << c;
    EXPECT_EQ(data["memory"]["rss"][c].number, 1024.0 * c);
    EXPECT_EQ(data["memory"]["ranks"][1][1][c].number, 2048.0 * c);
    EXPECT_NEAR(data["activity"]["program"][c].number, 100.0 * c / 255, 0.51);
    EXPECT_EQ(data["activity"]["idle"][c].number, 0);
  }
}

TEST(Page, SharesOfAColumnAreNeverBelowZero) {
  ReportFile file(0, 1, 1);
  ProfileHeader* h = file.header();
  file.make_timeline(1, 1, 1);
  h->last_ns = 1000, h->column_ns = 1000;
  *file.in_part<TimeColumn>(h->timeline) = {0xffff, 255, 255};
  const Json data = data_of(run_of(file));
  EXPECT_EQ(data["activity"]["program"][0].number, 100);
  EXPECT_EQ(data["activity"]["mpi"][0].number, 0);
  EXPECT_EQ(data["activity"]["idle"][0].number, 0);
}

TEST(Page, TimesBeyondAllColumnsFindNone) {
  ReportFile file(0, 1, 1);
  ProfileHeader* h = file.header();
  file.make_timeline(3, 1, 1);
  h->last_ns = ~uint64_t{0}, h->column_ns = 1;
  const Json data = data_of(run_of(file));
  ASSERT_EQ(data.kind, Json::kObject);
  EXPECT_LE(data["memory"]["ranks"][0][1].size(), 1u);
}

}  // namespace
}  // namespace fgmpi::report
