// Tests of a process's file: written data is read back; files that are cut or damaged are read
// without a fault.
#include "readers/traces/trace.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "readers/traces/view.h"
#include "track/spool.h"
#include "track/track_calls.h"

namespace fgmpi::track {
namespace {

class TraceFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/trace-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/proc-0.trk"; }

  /// Two ranks: world, a duplicate, many events in growing chunks.
  void write() {
    TraceSpool spool;
    ASSERT_TRUE(spool.open(path()).ok());
    FileHeader& h = spool.header();
    h.job = 5;
    h.ranks = h.world_size = 2;
    h.calls = kCallCount;
    h.ticks1 = h.mono1 = 1'000'000;
    for (int32_t rank = 0; rank < 2; ++rank) {
      CommRecord records[2] = {};
      for (uint32_t i = 0; i < 2; ++i) {
        records[i].counter = i;
        records[i].rank = rank;
        records[i].size = 2;
        records[i].flags = kKeyed;
        records[i].parent = i ? 0 : kNoComm;
      }
      ASSERT_TRUE(spool.put(ChunkKind::kComms, rank, records, sizeof records));
    }
    uint64_t time = 1;
    for (uint32_t part = 0; part < 40; ++part)
      for (int32_t rank = 0; rank < 2; ++rank) {
        ChunkHeader* chunk = spool.make_chunk(ChunkKind::kEvents, rank, part, 480 << part % 10);
        ASSERT_NE(chunk, nullptr);
        auto* events = reinterpret_cast<CallEvent*>(records_of(chunk));
        for (int i = 0; i < 10; ++i, time += 2) {
          events[i] = {time, time + 1, kCall_MPI_Send, static_cast<uint8_t>(EventKind::kSend),
                       0,    1,        1 - rank,       7,
                       8,    0};
          chunk->used += sizeof(CallEvent);
        }
        if (part % 10 == 9) TraceSpool::give_back(chunk);
      }
    spool.finish();
  }
  /// Does all that a reader of the folder does, except writing OTF2.
  static void use(const TraceView& view) {
    for (const RankTrace& r : view.trace().ranks)
      if (r.file)
        for (const CallView& c : view.calls(r))
          for (const CallEvent* e : c.parts) {
            (void)view.comm_name(view.comm_of(r, e->comm));
            (void)view.world_of(r, *e);
          }
  }

  std::string folder_;
};

TEST_F(TraceFiles, WhatIsWrittenIsRead) {
  write();
  TraceView view;
  Status status = view.open(folder_);
  ASSERT_TRUE(status.ok()) << status.what();
  ASSERT_EQ(view.trace().ranks.size(), 2u);
  EXPECT_EQ(view.definitions().several, 2u);
  EXPECT_EQ(view.definitions().groups.size(), 1u);
  const RankTrace& r = view.trace().ranks[1];
  const auto calls = view.calls(r);
  ASSERT_EQ(calls.size(), 400u);
  uint64_t last = 0;
  for (const CallView& c : calls) {
    EXPECT_LT(last, c.end);
    last = c.end;
    EXPECT_EQ(view.world_of(r, *c.call), 0);
    EXPECT_EQ(view.comm_of(r, c.call->comm), 1u);
  }
}

TEST_F(TraceFiles, AFileCutAnywhereIsReadUpToThere) {
  write();
  const auto size = std::filesystem::file_size(path());
  size_t before = ~size_t{0};
  for (auto cut = size; cut >= kFileHeaderBytes; cut -= std::min<uintmax_t>(cut, 20011)) {
    std::filesystem::resize_file(path(), cut);
    TraceView view;
    Status status = view.open(folder_);
    ASSERT_TRUE(status.ok()) << status.what();
    use(view);
    size_t events = 0;
    for (const RankTrace& r : view.trace().ranks) events += r.event_count();
    EXPECT_LE(events, before);
    before = events;
  }
  std::filesystem::resize_file(path(), 100);
  TraceView view;
  EXPECT_NE(view.open(folder_).what().find("100 bytes; a trace file has 4096 at least"),
            std::string::npos);
}

TEST_F(TraceFiles, DamagedFilesDoNoHarm) {
  write();
  std::string good(std::filesystem::file_size(path()), '\0');
  std::ifstream(path(), std::ios::binary)
      .read(good.data(), static_cast<std::streamsize>(good.size()));
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::string bad = good;
    for (int i = 0; i < 200; ++i) {
      // Half of the changes are among the headers.
      const size_t at = random() % (i % 2 ? bad.size() : 6000);
      // The first 64 bytes, with the process and the number of ranks, do not change.
      if (at >= 64) bad[at] = static_cast<char>(random());
    }
    std::ofstream(path(), std::ios::binary | std::ios::trunc)
        .write(bad.data(), static_cast<std::streamsize>(bad.size()));
    TraceView view;
    if (view.open(folder_).ok()) use(view);
  }
}

TEST_F(TraceFiles, AnEmptyFolderIsNoTrace) {
  TraceView view;
  EXPECT_NE(view.open(folder_).what().find("no trace files (*.trk) in it"), std::string::npos);
}

}  // namespace
}  // namespace fgmpi::track
