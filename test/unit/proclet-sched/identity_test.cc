// Tests that the caller is identified from its stack: as a rank, a helper or another thread.
#include "proclet-sched/coroutine/identity.h"

#include <gtest/gtest.h>
#include <string.h>

#include <functional>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/page.h"
#include "proclet-sched/coroutine/last_call.h"

namespace fgmpi::sched {
namespace {

std::function<void()>* g_body;

void run_ranks(uint32_t count, std::function<void()> body) {
  set_options(Options());
  g_body = &body;
  const Status status = create_ranks(
      count, [](void*) { (*g_body)(); }, nullptr);
  ASSERT_TRUE(status.ok()) << status.what();
  EXPECT_EQ(run(), 0);
}

Identity identify_me() { return identify_caller(__builtin_frame_address(0)); }

std::string name_of(const Identity& identity) {
  char words[kMostIdentityWords];
  name_identity(identity, words, sizeof words);
  return words;
}

TEST(Identity, RanksAndTheirLastCalls) {
  int ranks = 0;
  run_ranks(20, [&] {
    const uint32_t me = current()->index;
    const char* call = me % 2 ? "MPI_Send" : "MPI_Recv";
    EXPECT_EQ(last_call(), nullptr);  // the call of the previous rank must not remain
    record_call(call);
    for (int i = 0; i < 3; ++i) {
      const Identity identity = identify_me();
      EXPECT_EQ(identity.who, Identity::kRank);
      EXPECT_EQ(identity.rank, me);
      EXPECT_FALSE(identity.damaged);
      EXPECT_STREQ(last_call(), call);
      yield();
    }
    ++ranks;
  });
  EXPECT_EQ(ranks, 20);
}

TEST(Identity, HelpersAreTheirRanks) {
  static std::string seen;
  static int state;
  run_ranks(3, [&] {
    if (current()->index != 2) return;
    current()->rank_state = &state;
    record_call("MPI_Iallreduce");
    ASSERT_TRUE(ensure_helper().ok());
    spawn_helper(
        current(), [](void*) { seen = name_of(identify_me()) + (last_call() ? " called" : ""); },
        nullptr);
    yield();
    EXPECT_STREQ(last_call(), "MPI_Iallreduce");
    current()->rank_state = nullptr;
  });
  EXPECT_EQ(seen, "a helper of rank 2");
}

TEST(Identity, PlacesCountAndNotWhatDescriptorsSay) {
  run_ranks(8, [&] {
    if (current()->index != 3) return;
    for (const uint32_t damaged : {3u, 6u}) {
      Proclet* p = rank_proclet(damaged);
      const uint32_t index = p->index;
      p->index = 1425776;
      const Identity identity = identify_me();
      p->index = index;
      EXPECT_TRUE(identity.damaged);
      EXPECT_EQ(name_of(identity), "rank 3");
    }
    Proclet* other = rank_proclet(5);
    const size_t size = other->stack_size;
    other->stack_size = 0;
    EXPECT_TRUE(identify_me().damaged);
    other->stack_size = size;
    EXPECT_FALSE(identify_me().damaged);
  });
}

TEST(Identity, TheStackTellsWhereThePointerIsNobodys) {
  run_ranks(8, [&] {
    const uint32_t me = current()->index;
    for (const uintptr_t wild : {uintptr_t{0x4141414141414141}, uintptr_t{8},
                                 reinterpret_cast<uintptr_t>(rank_proclet(me)) + 8}) {
      const Identity identity =
          identify(reinterpret_cast<const Proclet*>(wild), __builtin_frame_address(0));
      EXPECT_TRUE(identity.damaged);
      EXPECT_TRUE(identity.has_rank);
      EXPECT_EQ(identity.rank, me);
      const Identity nobody = identify(reinterpret_cast<const Proclet*>(wild), nullptr);
      EXPECT_TRUE(nobody.damaged);
      EXPECT_FALSE(nobody.has_rank);
      EXPECT_EQ(name_of(nobody), "some rank");
    }
  });
}

TEST(Identity, OnlyNamesOfCallsArePrinted) {
  for (const char* wild : {reinterpret_cast<const char*>(uintptr_t{0x4141414141414141}), "no call",
                           "MPI \x1b[2J", static_cast<const char*>(nullptr)}) {
    record_call(wild);
    EXPECT_EQ(last_call(), nullptr);
  }
  record_call("MPI_Recv");
  EXPECT_STREQ(last_call(), "MPI_Recv");
  record_call(nullptr);
}

TEST(Identity, NobodyWritesBesideTheDescriptors) {
  run_ranks(2, [] {});
  auto* first = reinterpret_cast<char*>(rank_proclet(0));
  EXPECT_TRUE(is_guard_of_descriptors(first - 1));
  EXPECT_FALSE(is_guard_of_descriptors(first));
  EXPECT_DEATH(*const_cast<volatile char*>(first - 1) = 1, "");
  volatile char* end = reinterpret_cast<char*>(rank_proclet(0) + most_ranks());
  EXPECT_DEATH(
      {
        for (int i = 0; i < static_cast<int>(2 * page_bytes()); ++i) end[i] = 1;
      },
      "");
}

TEST(Identity, InternalErrorsSayWhatWasExpectedAndWhoRan) {
  EXPECT_DEATH(
      run_ranks(4,
                [] {
                  record_call("MPI_Bcast");
                  FGMPI_CHECK(current()->index < 3);
                }),
      "internal error at .*identity_test.cc:[0-9]+: expected was that current\\(\\)->index < "
      "3\nfgmpi: rank 3 ran last, its last call was MPI_Bcast; .*please report");
}

}  // namespace
}  // namespace fgmpi::sched
