#include "comm/visit.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ch4-av-rankmap/av.h"

namespace fgmpi::comm {
namespace {

/// Three processes of four ranks; this is the second.
void begin_visits() { g_av.init({0, 4, 8, 12}, 1); }

Comm* make_member(uint32_t lbi, const RankMap& map, const RankMap* remote, uint32_t members,
                  int32_t rank) {
  SharedComm* shared =
      make_shared({ContextId::make(0, lbi), &map, remote, members, 2, 0, "a test"});
  Comm* comm = nullptr;
  EXPECT_TRUE(enter(shared, rank, nullptr, &comm).ok());
  return comm;
}

/// Ends a communicator of which no other process is told.
void end_alone(Comm* comm) {
  comm->shared->members = 0;
  free(comm);
}

TEST(Visits, ShareWhatMembersHave) {
  begin_visits();
  const RankMap map = RankMap::strided(6, 0, 2);
  Comm* member = make_member(100, map, nullptr, 1, 2);
  std::vector<uint8_t> description;
  ASSERT_TRUE(describe_visit(member, &description).ok());
  Comm* visitor = nullptr;
  ASSERT_TRUE(visit(description, &visitor).ok());
  EXPECT_NE(visitor->handle, member->handle);
  EXPECT_EQ(visitor->shared, member->shared);
  EXPECT_EQ(visitor->rank, 2);
  EXPECT_EQ(visitor->shared->members, 1u);
  EXPECT_EQ(visitor->shared->references, 2u);
  // The communicator ends for each of them.
  free(member);
  EXPECT_EQ(find(visitor->handle), visitor);
  EXPECT_NE(find_shared(ContextId::make(0, 100)), nullptr);
  end_alone(visitor);
}

TEST(Visits, MakeWhatNobodyHasHereAndDropItAlone) {
  begin_visits();
  const std::vector<int32_t> worlds = {9, 0, 3, 11, 2};
  const RankMap map = RankMap::from_ranks(worlds);
  std::vector<uint8_t> description;
  {
    Comm* member = make_member(101, map, nullptr, 1, 3);
    ASSERT_TRUE(describe_visit(member, &description).ok());
    // As in another process: there is no such communicator here.
    end_alone(member);
  }
  const ContextId id = ContextId::make(0, 101);
  ASSERT_EQ(find_shared(id), nullptr);
  Comm *first = nullptr, *second = nullptr;
  ASSERT_TRUE(visit(description, &first).ok());
  ASSERT_TRUE(visit(description, &second).ok());
  EXPECT_EQ(first->shared, second->shared);
  EXPECT_EQ(first->shared->members, 0u);
  EXPECT_EQ(first->size(), 5);
  for (size_t i = 0; i < worlds.size(); ++i)
    EXPECT_EQ(first->shared->peers().world_of(static_cast<int32_t>(i)), worlds[i]);
  EXPECT_EQ(first->peer(2).process, 0u);
  EXPECT_EQ(first->peer(2).local, 3u);
  free(first);
  EXPECT_NE(find_shared(id), nullptr);
  free(second);
  EXPECT_EQ(find_shared(id), nullptr);
}

TEST(Visits, BothGroupsOfIntercommunicators) {
  begin_visits();
  const RankMap local = RankMap::strided(4, 0, 1), remote = RankMap::strided(3, 11, -1);
  Comm* member = make_member(102, local, &remote, 1, 1);
  std::vector<uint8_t> description;
  ASSERT_TRUE(describe_visit(member, &description).ok());
  end_alone(member);
  Comm* visitor = nullptr;
  ASSERT_TRUE(visit(description, &visitor).ok());
  EXPECT_TRUE(visitor->shared->inter);
  EXPECT_EQ(visitor->size(), 4);
  EXPECT_EQ(visitor->shared->peers().size(), 3);
  EXPECT_EQ(visitor->shared->peers().world_of(2), 9);
  free(visitor);
}

/// Members whose creation was under way while a rank that had finished it moved here.
TEST(Visits, MembersTakeOverWhatVisitorsHaveMade) {
  begin_visits();
  const RankMap map = RankMap::strided(12, 0, 1);
  Comm* member = make_member(103, map, nullptr, 1, 0);
  std::vector<uint8_t> description;
  ASSERT_TRUE(describe_visit(member, &description).ok());
  end_alone(member);
  Comm* visitor = nullptr;
  ASSERT_TRUE(visit(description, &visitor).ok());
  Comm* later = make_member(103, map, nullptr, 4, 5);
  EXPECT_EQ(later->shared, visitor->shared);
  EXPECT_EQ(later->shared->members, 4u);
  EXPECT_EQ(later->shared->references, 5u);
  free(visitor);
  EXPECT_EQ(find(later->handle), later);
  later->shared->members = 0;
  for (int share = 0; share < 3; ++share) release_share(later->shared);
  free(later);
}

TEST(Visits, DescriptionsThatAreCutOffAreRefused) {
  begin_visits();
  const std::vector<int32_t> worlds = {9, 0, 3, 11, 2};
  Comm* member = make_member(104, RankMap::from_ranks(worlds), nullptr, 1, 3);
  std::vector<uint8_t> description;
  ASSERT_TRUE(describe_visit(member, &description).ok());
  end_alone(member);
  for (size_t bytes = 0; bytes < description.size(); ++bytes) {
    Comm* visitor = nullptr;
    EXPECT_FALSE(visit({description.data(), bytes}, &visitor).ok()) << bytes;
    EXPECT_EQ(visitor, nullptr);
  }
  EXPECT_EQ(find_shared(ContextId::make(0, 104)), nullptr);
}

}  // namespace
}  // namespace fgmpi::comm
