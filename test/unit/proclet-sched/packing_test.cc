// Stacks of waiting ranks are packed, and are as before for whoever looks at them.
#include "proclet-sched/coroutine/packing.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "base/settings.h"
#include "proclet-sched/coroutine/limits.h"

namespace fgmpi::sched {
namespace {

const WaitSite kRestSite{"rest", nullptr, true};
const WaitSite kOutsideSite{"outside", nullptr, false};

int g_faults = 0;

void on_test_fault(int number, siginfo_t* info, void*) {
  ++g_faults;
  if (!unpack_at_fault(info->si_addr)) signal(number, SIG_DFL);
}

class Packing : public ::testing::Test {
 public:
  void SetUp() override {
#ifdef FGMPI_SANITIZE
    GTEST_SKIP() << "stacks are not packed under the address sanitizer";
#endif
    struct sigaction action {};
    action.sa_sigaction = on_test_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &before_);
    allow_packing();
    g_faults = 0;
  }
  void TearDown() override {
    sigaction(SIGSEGV, &before_, nullptr);
    ASSERT_TRUE(settings::set(settings::kPackStacks, "auto").ok());
  }
  /// Runs `body` as ranks. Returns false where the kernel cannot have packed stacks.
  bool run_ranks(uint32_t count, const char* mode, std::function<void(uint32_t)> body) {
    settings::load_or_end();
    EXPECT_TRUE(settings::set(settings::kPackStacks, mode).ok());
    Options options;
    options.stack_size = 64 << 10;
    set_options(options);
    body_ = std::move(body);
    const auto entry = [](void* self) { static_cast<Packing*>(self)->body_(current()->index); };
    EXPECT_TRUE(create_ranks(count, entry, this).ok());
    const bool can = strcmp(guard_kind(), "guard pages") == 0;
    EXPECT_EQ(run(), 0);
    EXPECT_EQ(packed_stacks(), 0u);
    EXPECT_EQ(packed_bytes(), 0u);
    return can;
  }

  std::function<void(uint32_t)> body_;
  struct sigaction before_ {};
};

constexpr uint32_t kRanks = 200;

/// Ranks that wait until rank 0, which comes last, wakes them.
struct Sleepers {
  std::array<Proclet*, kRanks> parked{};
  std::array<int*, kRanks> words{};
  bool over = false;
};

TEST_F(Packing, WaitingRanksAreUnpackedWhenTheyRun) {
  uint64_t packed = 0, bytes = 0;
  Sleepers s;
  const bool can = run_ranks(kRanks, "always", [&](uint32_t rank) {
    int mine[10];
    for (int i = 0; i < 10; ++i) mine[i] = static_cast<int>(rank) * 100 + i;
    if (rank < kRanks - 1) {
      s.parked[rank] = current();
      park(&kRestSite);
    } else {
      packed = packed_stacks();
      bytes = packed_bytes();
      for (uint32_t r = 0; r < kRanks - 1; ++r) ready(s.parked[r]);
    }
    yield();
    for (int i = 0; i < 10; ++i) EXPECT_EQ(mine[i], static_cast<int>(rank) * 100 + i);
  });
  if (!can) GTEST_SKIP() << "this kernel has no guard pages in stacks";
  EXPECT_GT(packed, kRanks / 2);
  EXPECT_LT(bytes, packed * 2048);
  EXPECT_EQ(g_faults, 0);
}

TEST_F(Packing, OthersReadAndWriteAPackedStack) {
  Sleepers s;
  uint64_t packed = 0;
  const bool can = run_ranks(kRanks, "always", [&](uint32_t rank) {
    volatile int word = static_cast<int>(rank);
    s.words[rank] = const_cast<int*>(&word);
    if (rank < kRanks - 1) {
      s.parked[rank] = current();
      park(&kRestSite);
      EXPECT_EQ(word, static_cast<int>(rank) + 1000);
      return;
    }
    packed = packed_stacks();
    for (uint32_t r = 0; r < kRanks - 1; ++r) {
      EXPECT_EQ(*s.words[r], static_cast<int>(r));
      *s.words[r] += 1000;
      EXPECT_STREQ(s.parked[r]->wait->call, "rest");
    }
    // As many are packed again as before: only a few stacks are resident at a time.
    EXPECT_GT(packed_stacks() + 20, packed);
    for (uint32_t r = 0; r < kRanks - 1; ++r) ready(s.parked[r]);
  });
  if (!can) GTEST_SKIP() << "this kernel has no guard pages in stacks";
  EXPECT_GT(g_faults, 100);
}

/// Uses more stack than is packed.
[[gnu::noinline]] void wait_with_much_stack(const std::function<void()>& wait) {
  volatile char large[2 * kMostPacked];
  large[0] = 1;
  large[sizeof large - 1] = 1;
  wait();
  EXPECT_EQ(large[0] + large[sizeof large - 1], 2);
}

TEST_F(Packing, SomeStacksAreNotPacked) {
  Sleepers s;
  run_ranks(kRanks, "always", [&](uint32_t rank) {
    volatile int word = static_cast<int>(rank);
    s.words[rank] = const_cast<int*>(&word);
    if (rank < kRanks - 1) {
      s.parked[rank] = current();
      if (rank % 4 == 0) return park(&kOutsideSite);
      if (rank % 4 == 1) return wait_with_much_stack([] { park(&kRestSite); });
      if (rank % 4 == 2) keep_unpacked(s.words[rank], sizeof word);
      if (rank % 4 == 3) keep_unpacked(nullptr, 0);
      return park(&kRestSite);
    }
    EXPECT_EQ(packed_stacks(), 0u);
    for (uint32_t r = 0; r < kRanks - 1; ++r) *s.words[r] = 0;
    for (uint32_t r = 0; r < kRanks - 1; ++r) ready(s.parked[r]);
  });
  EXPECT_EQ(g_faults, 0);
}

TEST_F(Packing, KeptStacksOfPackedRanks) {
  Sleepers s;
  run_ranks(kRanks, "always", [&](uint32_t rank) {
    volatile int word = static_cast<int>(rank);
    s.words[rank] = const_cast<int*>(&word);
    if (rank < kRanks - 1) {
      s.parked[rank] = current();
      park(&kRestSite);
      EXPECT_EQ(word, static_cast<int>(rank));
      return;
    }
    for (uint32_t r = 0; r < kRanks - 1; ++r) keep_unpacked(s.words[r], sizeof word);
    EXPECT_EQ(packed_stacks(), 0u);
    for (uint32_t r = 0; r < kRanks - 1; ++r) EXPECT_TRUE(has_begun(s.parked[r]));
    for (uint32_t r = 0; r < kRanks - 1; ++r) ready(s.parked[r]);
  });
  EXPECT_EQ(g_faults, 0);
}

TEST_F(Packing, OnPacksWhatHasWaitedForLong) {
  uint64_t packed = 0;
  Sleepers s;
  const bool can = run_ranks(kRanks, "on", [&](uint32_t rank) {
    if (rank < kRanks - 1) {
      s.parked[rank] = current();
      park(&kRestSite);
      return;
    }
    EXPECT_EQ(packed_stacks(), 0u);
    sleep_for(1'500'000'000);
    packed = packed_stacks();
    for (uint32_t r = 0; r < kRanks - 1; ++r) ready(s.parked[r]);
  });
  if (!can) GTEST_SKIP() << "this kernel has no guard pages in stacks";
  EXPECT_GT(packed, kRanks / 2);
}

TEST_F(Packing, OffAndAutoPackNothing) {
  for (const char* mode : {"off", "auto"}) {
    Sleepers s;
    run_ranks(kRanks, mode, [&](uint32_t rank) {
      if (rank < kRanks - 1) {
        s.parked[rank] = current();
        return park(&kRestSite);
      }
      sleep_for(500'000'000);
      EXPECT_EQ(packed_stacks(), 0u);
      for (uint32_t r = 0; r < kRanks - 1; ++r) ready(s.parked[r]);
    });
  }
}

/// Ranks that wake each other and write to each other's stacks in a random order; what a stack
/// holds is also kept outside of it.
TEST_F(Packing, RandomUseAgreesWithAModel) {
  constexpr int kWords = 40;
  constexpr uint32_t kTurns = 20000;
  std::mt19937 random(7);
  std::vector<std::array<int, kWords>> model(kRanks);
  std::array<volatile int*, kRanks> stacks{};
  std::array<Proclet*, kRanks> parked{};
  uint32_t turns = 0;
  const auto wake_some = [&] {
    for (int i = 0; i < 3; ++i) {
      const uint32_t r = random() % kRanks;
      if (Proclet* p = std::exchange(parked[r], nullptr)) ready(p);
    }
  };
  run_ranks(kRanks, "always", [&](uint32_t rank) {
    volatile int words[kWords];
    for (int i = 0; i < kWords; ++i) {
      model[rank][i] = static_cast<int>(random());
      words[i] = model[rank][i];
    }
    stacks[rank] = words;
    while (turns < kTurns) {
      ++turns;
      for (int i = 0; i < kWords; ++i) ASSERT_EQ(words[i], model[rank][i]);
      const uint32_t other = random() % kRanks, word = random() % kWords;
      if (stacks[other]) {
        model[other][word] = static_cast<int>(random());
        stacks[other][word] = model[other][word];
      }
      wake_some();
      if (random() % 4 == 0) {
        yield();
      } else if (!is_none_ready()) {
        parked[rank] = current();
        park(&kRestSite);
      }
    }
    stacks[rank] = nullptr;
    for (Proclet*& p : parked)
      if (p) ready(std::exchange(p, nullptr));
  });
  EXPECT_GE(turns, kTurns);
}

}  // namespace
}  // namespace fgmpi::sched
