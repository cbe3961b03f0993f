#include "comm/context.h"

#include <gtest/gtest.h>

#include "../pt2pt/world.h"

namespace fgmpi::comm {
namespace {

using pt2pt::testing::Loop;
using pt2pt::testing::run_ranks;

/// The arguments and result of a participant in an agreement.
struct Participant {
  bool decides = true;  ///< it plays the process of rank 0, which decides; else the other process
  uint32_t number = 1;  ///< number of the creation
  LeaderCandidate candidate;  ///< invalid: the rank reserves one, if it decides
  bool reserves = true;
  uint64_t fingerprint = 7;
  RankMap group;  ///< empty: the key alone identifies the creation
  uint32_t yields = 0;
  ContextId id;
  int error_class = MPI_SUCCESS;
  LeaderCandidate reserved;

  void run(RankState* state) {
    for (uint32_t i = 0; i < yields; ++i) sched::yield();
    if (decides && reserves) candidate = reserve(state);
    reserved = candidate;
    Participants all;
    all.count = 2;
    all.root = decides ? 0 : 1;
    all.fingerprint = fingerprint;
    if (group.size() > 0) all.groups[0] = &group;
    Status status = agree({0x4200, kAgreeCreateGroup, 0, number}, all, candidate, "test", &id);
    error_class = status.error_class();
  }
};

/// Runs the steps of each rank, one after the other, in a job of two processes of as many ranks.
void run(std::vector<std::vector<Participant>>* of_ranks) {
  const auto ranks = static_cast<uint32_t>(of_ranks->size());
  std::vector<RankState> states(ranks);
  Loop loop;
  init_context();
  EXPECT_EQ(run_ranks(ranks, &loop,
                      [&](uint32_t rank) {
                        states[rank].world_rank = states[rank].local = rank;
                        sched::current()->rank_state = &states[rank];
                        sched::yield();
                        for (Participant& p : (*of_ranks)[rank]) p.run(&states[rank]);
                      }),
            0);
}

/// A member of the other process, with a candidate that leads nothing yet, or none if `lbi` is 0.
Participant claimant(uint32_t world, uint32_t lbi, uint32_t yields) {
  Participant p;
  p.decides = false;
  p.candidate = {lbi ? 0 : ~0u, world, lbi};
  p.yields = yields;
  return p;
}

TEST(Agreement, TheLeastLedCandidateLeads) {
  for (uint32_t early : {0u, 1u}) {  // the claim arrives before the decision, or after it
    std::vector<std::vector<Participant>> job(2);
    job[0].resize(1);
    job[0][0].yields = 3 * early;
    job[0][0].reserves = false;
    job[1] = {claimant(2, 9, 3 * (1 - early))};
    run(&job);
    EXPECT_EQ(job[0][0].error_class, MPI_SUCCESS);
    EXPECT_EQ(job[0][0].id, ContextId::make(2, 9));
    EXPECT_EQ(job[1][0].id, ContextId::make(2, 9));
  }
}

TEST(Agreement, AnIndexThatWasNotChosenIsUsedAgain) {
  // Rank 0 leads one communicator already when the other process's rank, which leads none, claims.
  std::vector<std::vector<Participant>> job(2);
  job[0].resize(3);
  job[1] = {claimant(2, 0, 0), claimant(2, 9, 0), claimant(3, 0, 0)};
  for (uint32_t i = 0; i < 3; ++i) job[0][i].number = job[1][i].number = i;
  run(&job);
  EXPECT_EQ(job[0][0].id, ContextId::make(0, job[0][0].reserved.lbi));
  EXPECT_EQ(job[0][1].id, ContextId::make(2, 9));
  EXPECT_EQ(job[0][2].reserved.lbi, job[0][1].reserved.lbi);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(job[1][i].id, job[0][i].id);
}

TEST(Agreement, NoIndexLeftIsAnErrorEverywhere) {
  std::vector<std::vector<Participant>> job(2);
  job[0].resize(1);
  job[0][0].reserves = false;
  job[1] = {claimant(2, 0, 1)};
  run(&job);
  EXPECT_EQ(job[0][0].error_class, MPI_ERR_OTHER);
  EXPECT_EQ(job[1][0].error_class, MPI_ERR_OTHER);
}

TEST(Agreement, GroupsThatDifferAreAnErrorEverywhere) {
  std::vector<std::vector<Participant>> job(2);
  job[0].resize(1);
  job[1] = {claimant(2, 0, 1)};
  job[1][0].fingerprint = 8;
  run(&job);
  EXPECT_EQ(job[0][0].error_class, MPI_ERR_GROUP);
  EXPECT_EQ(job[1][0].error_class, MPI_ERR_GROUP);
}

TEST(Agreement, ClaimsOfAnotherGroupWaitForTheirOwnCreation) {
  // Rank 0 is first in the creation of {0, 3}, then in that of {0, 4}; the claim of the second one
  // arrives first. Both have the same key.
  std::vector<std::vector<Participant>> job(3);
  job[0].resize(2);
  for (Participant& p : job[0]) p.yields = 3;
  job[0][0].group = RankMap::from_ranks(std::vector<int32_t>{0, 3});
  job[0][1].group = RankMap::from_ranks(std::vector<int32_t>{0, 4});
  job[1] = {claimant(4, 0, 0)};
  job[1][0].group = job[0][1].group;
  job[2] = {claimant(3, 0, 20)};
  job[2][0].group = job[0][0].group;
  run(&job);
  for (const auto& of_rank : job)
    for (const Participant& p : of_rank) EXPECT_EQ(p.error_class, MPI_SUCCESS);
  EXPECT_EQ(job[2][0].id, job[0][0].id);
  EXPECT_EQ(job[1][0].id, job[0][1].id);
  EXPECT_NE(job[0][0].id, job[0][1].id);
}

}  // namespace
}  // namespace fgmpi::comm
