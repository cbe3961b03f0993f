#include "track/settings.h"

#include <gtest/gtest.h>

namespace fgmpi::track {
namespace {

TEST(Settings, Clauses) {
  Settings s;
  ASSERT_TRUE(
      parse_settings("calls:MPI_Bcast,MPI_I*,-MPI_Irecv;first:1000;ranks:0-99,200;buffer:64k;"
                     "record:global;keys:broadcast;groups:gather;files:json,raw;report:on",
                     &s)
          .ok());
  EXPECT_TRUE(s.is_call_recorded("MPI_Bcast"));
  EXPECT_TRUE(s.is_call_recorded("MPI_Isend"));
  EXPECT_FALSE(s.is_call_recorded("MPI_Irecv"));
  EXPECT_FALSE(s.is_call_recorded("MPI_Send"));
  EXPECT_EQ(s.first, 1000u);
  EXPECT_TRUE(s.is_rank_recorded(99, 1000));
  EXPECT_FALSE(s.is_rank_recorded(100, 1000));
  EXPECT_TRUE(s.is_rank_recorded(200, 1000));
  EXPECT_EQ(s.buffer, 64u << 10);
  EXPECT_EQ(s.record, RecordedCalls::kGlobal);
  EXPECT_EQ(s.keys, Keys::kBroadcast);
  EXPECT_FALSE(s.short_way);
  EXPECT_FALSE(s.otf2);
  EXPECT_TRUE(s.json);
  EXPECT_TRUE(s.report);
}

TEST(Settings, OnlyExclusionsLeaveTheOthers) {
  Settings s;
  ASSERT_TRUE(parse_settings("calls:-MPI_Test*", &s).ok());
  EXPECT_TRUE(s.is_call_recorded("MPI_Wait"));
  EXPECT_FALSE(s.is_call_recorded("MPI_Testall"));
}

TEST(Settings, SampleOfManyRanks) {
  Settings s;
  for (int32_t size : {1, 10000}) {
    for (int32_t rank = 0; rank < size; ++rank) ASSERT_TRUE(s.is_rank_recorded(rank, size));
  }
  int32_t recording = 0;
  for (int32_t rank = 0; rank < 131072; ++rank) recording += s.is_rank_recorded(rank, 131072);
  EXPECT_GT(recording, 5000);
  EXPECT_LE(recording, 10000);
}

TEST(Settings, ErrorsNameClauseValueAndWhatIsAllowed) {
  const std::pair<const char*, const char*> cases[] = {
      {"ranks:9-2",
       "FGMPI_TRACK: ranks:9-2: allowed is a list of world ranks and ranges: 0-99,200"},
      {"first:", "FGMPI_TRACK: first:: allowed is 0 to 2147483647"},
      {"sample:0", "FGMPI_TRACK: sample:0: allowed is 1 to 2147483647"},
      {"buffer:1", "FGMPI_TRACK: buffer:1: allowed is 4k to 1g"},
      {"files:xml", "FGMPI_TRACK: files:xml: allowed is a list of raw, otf2, json"},
      {"record:all", "FGMPI_TRACK: record:all: allowed is local, global or none"},
      {"calls:",
       "FGMPI_TRACK: calls:: allowed is a list of functions that are recorded and patterns of "
       "such: "
       "MPI_Bcast,MPI_I*,-MPI_Test*"},
      {"calls:MPI_Send,MPI_Bcsat",
       "FGMPI_TRACK: calls:MPI_Bcsat: allowed is a list of functions that are recorded and "
       "patterns "
       "of such: MPI_Bcast,MPI_I*,-MPI_Test*"},
      {"calls:-",
       "FGMPI_TRACK: calls:-: allowed is a list of functions that are recorded and patterns of "
       "such: "
       "MPI_Bcast,MPI_I*,-MPI_Test*"},
      {"ranks:,", "FGMPI_TRACK: ranks:,: allowed is a list of world ranks and ranges: 0-99,200"},
      {"files:", "FGMPI_TRACK: files:: allowed is a list of raw, otf2, json"},
      {"first:5;sample:9;first:6",
       "FGMPI_TRACK: first:6: a second time; allowed is each clause once"},
      {":",
       "FGMPI_TRACK: :: allowed are calls, first, ranks, sample, buffer, record, keys, groups, "
       "report and files"},
  };
  for (const auto& [text, expected] : cases) {
    Settings s;
    const Status status = parse_settings(text, &s);
    ASSERT_FALSE(status.ok()) << text;
    EXPECT_EQ(status.what(), expected);
  }
}

TEST(Settings, RanksAreThoseOfTheJob) {
  Settings s;
  ASSERT_TRUE(parse_settings("ranks:0-99,7", &s).ok());
  EXPECT_TRUE(s.check_ranks(8).ok()) << "a range may go further than the job";
  EXPECT_EQ(s.check_ranks(7).what(),
            "FGMPI_TRACK: ranks: 7 is no rank of this job; allowed is 0 to 6");
}

}  // namespace
}  // namespace fgmpi::track
