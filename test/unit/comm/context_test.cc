// Tests of notices about context ids with invalid contents: they are refused and counted, and
// change nothing.
#include "comm/context.h"

#include <gtest/gtest.h>

#include <cstring>

#include "pt2pt/engine.h"

namespace fgmpi::comm {
namespace {

/// The layout of the notices (context.cc).
struct Freed {
  uint64_t id;
  uint32_t processes;
};
struct Agreement {
  AgreeKey key;
  uint64_t answer = 0, fingerprint = 0;
  LeaderCandidate candidate;
  uint32_t unused = 0;
};

/// Delivers a notice of process 1; returns false when it was refused.
bool taken(int kind, const void* data, size_t bytes) {
  transport::Header h{};
  h.kind = pt2pt::kNotice;
  h.src_process = 1;
  h.dst_local = pt2pt::kProcessEndpoint;
  h.tag = kind;
  h.size = bytes;
  const uint64_t before = pt2pt::g_engine.bad_frames();
  pt2pt::sinks().frames->deliver(h, data, bytes);
  return pt2pt::g_engine.bad_frames() == before;
}

Agreement claim() {
  Agreement a;
  a.key = {0x100, kAgreeDup, 0, 5, 0, 3};
  a.candidate = {0, 3, kFirstLbi};
  return a;
}
bool taken(const Agreement& a) { return taken(pt2pt::kNoticeAgree, &a, sizeof a); }

/// Runs `body` in a job of two processes with two ranks each; this is process 0.
void in_a_job(void (*body)()) {
  g_av.init({0, 2, 4}, 0);
  pt2pt::Setup setup;
  setup.local_count = 2;
  ASSERT_TRUE(pt2pt::init(setup).ok());
  init_context();
  ASSERT_TRUE(sched::create_ranks(
                  2, [](void*) {}, nullptr)
                  .ok());
  RankState state{};
  state.lbi_next = kFirstLbi + 3;
  state.led = 3;
  sched::rank_proclet(1)->rank_state = &state;
  body();
  sched::rank_proclet(1)->rank_state = nullptr;
  sched::run();
  pt2pt::finalize();
}

TEST(Context, ImpossibleClaimsAndAnswersAreRefused) {
  in_a_job([] {
    Agreement a = claim();
    EXPECT_FALSE(taken(pt2pt::kNoticeAgree, &a, sizeof a - 1));
    EXPECT_FALSE(taken(pt2pt::kNoticeAgree, &a, 0));
    a.answer = 0x200;  // an answer to a claim that no rank made
    EXPECT_FALSE(taken(a));
    for (uint16_t side : {2, 3, 0xffff}) {
      a = claim();
      a.key.side = side;
      EXPECT_FALSE(taken(a)) << side;
    }
    for (uint32_t claimant : {0u, 1u, 4u, 1000u, ~0u}) {  // not ranks of process 1
      a = claim();
      a.key.claimant = a.candidate.world = claimant;
      EXPECT_FALSE(taken(a)) << claimant;
    }
    a = claim();
    a.candidate.world = 2;  // another rank's index
    EXPECT_FALSE(taken(a));
    for (uint32_t lbi : {kSelfLbi, kMaxLbi + 1, ~0u}) {
      a = claim();
      a.candidate.lbi = lbi;
      EXPECT_FALSE(taken(a)) << lbi;
    }
    EXPECT_TRUE(taken(claim()));
    a = claim();
    a.candidate.lbi = 0;  // the claimant has no free index: allowed
    EXPECT_TRUE(taken(a));
  });
}

TEST(Context, ImpossibleNoticesOfFreedIdsAreRefused) {
  in_a_job([] {
    Freed freed{ContextId::make(1, kFirstLbi + 1).bits, 1};
    EXPECT_FALSE(taken(pt2pt::kNoticeCommFreed, &freed, sizeof freed - 1));
    for (uint32_t lid : {2u, 3u, 4u, ~0u}) {  // leaders that are not in this process
      Freed other{ContextId::make(lid, kFirstLbi).bits, 1};
      EXPECT_FALSE(taken(pt2pt::kNoticeCommFreed, &other, sizeof other)) << lid;
    }
    for (uint32_t lbi :
         {0u, kSelfLbi, kFirstLbi + 3, kMaxLbi}) {  // indices that were never reserved
      Freed other{ContextId::make(1, lbi).bits, 1};
      EXPECT_FALSE(taken(pt2pt::kNoticeCommFreed, &other, sizeof other)) << lbi;
    }
    EXPECT_TRUE(taken(pt2pt::kNoticeCommFreed, &freed, sizeof freed));
    EXPECT_EQ(state_of(1)->led, 2u);
  });
}

}  // namespace
}  // namespace fgmpi::comm
