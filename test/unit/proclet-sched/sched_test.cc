#include "proclet-sched/sched.h"
#include "proclet-sched/coroutine/limits.h"

#include <gtest/gtest.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <functional>
#include <random>
#include <set>
#include <vector>

#include "../setting.h"
#include "base/page.h"
#include "base/processor.h"
#include "proclet-sched/coroutine/stacks.h"

namespace fgmpi::sched {
namespace {

std::function<void()>* g_body;

/// Runs `body` as `count` ranks under `policy` and returns the exit status.
int run_ranks(uint32_t count, std::function<void()> body, Options::Policy policy = Options::kFifo,
              uint64_t seed = 0) {
  Options options;
  options.policy = policy;
  options.seed = seed;
  set_options(options);
  g_body = &body;
  Status status = create_ranks(
      count, [](void*) { (*g_body)(); }, nullptr);
  EXPECT_TRUE(status.ok()) << status.what();
  return run();
}

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

const WaitSite kSite{"test", nullptr, true};

class Policies : public ::testing::TestWithParam<std::tuple<Options::Policy, int>> {};
INSTANTIATE_TEST_SUITE_P(All, Policies,
                         ::testing::Values(std::tuple{Options::kFifo, 0},
                                           std::tuple{Options::kLifo, 0},
                                           std::tuple{Options::kRandom, 1},
                                           std::tuple{Options::kRandom, 2},
                                           std::tuple{Options::kRandom, 77}));

TEST(Sched, RunsEachRankOnceWithItsIndex) {
  std::vector<int> runs(1000);
  EXPECT_EQ(run_ranks(1000, [&] { ++runs[current()->index]; }), 0);
  EXPECT_EQ(runs, std::vector<int>(1000, 1));
  EXPECT_EQ(live_ranks(), 0u);
}

TEST(Sched, FifoYieldIsRoundRobin) {
  std::vector<uint32_t> order;
  run_ranks(5, [&] {
    for (int i = 0; i < 100; ++i) {
      order.push_back(current()->index);
      yield();
    }
  });
  ASSERT_EQ(order.size(), 500u);
  for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i % 5);
}

// Ranks join while others run. Released numbers are used again, gaps are filled, and the statuses
// of ranks that have joined are not the job's.
TEST_P(Policies, RanksJoinAndLeave) {
  auto [policy, seed] = GetParam();
  static uint32_t ran, most;
  ran = most = 0;
  auto joined = [](void*) {
    char stack[4096];
    memset(stack, static_cast<int>(current()->index), sizeof stack);
    ++ran;
    most = std::max(most, current()->index);
    yield();
    EXPECT_EQ(static_cast<unsigned char>(stack[100]), current()->index & 0xff);
    finish(3);
  };
  auto wait_until = [](uint32_t count) {
    while (ran < count || live_ranks() > 4) yield();
  };
  EXPECT_EQ(run_ranks(
                4,
                [&] {
                  if (current()->index != 1) {
                    while (ran < 40 + 50 * 7) yield();
                    return;
                  }
                  uint32_t first[4];
                  for (uint32_t k = 0; k < 4; ++k) {
                    ASSERT_TRUE(add_ranks(10, joined, nullptr, &first[k]).ok());
                    EXPECT_EQ(first[k], 4 + 10 * k);
                    EXPECT_EQ(live_ranks(), 4 + 10 * k);
                    start_added_ranks(first[k]);
                  }
                  EXPECT_EQ(rank_count(), 44u);
                  wait_until(40);
                  remove_ranks(first[1]);
                  uint32_t again;
                  ASSERT_TRUE(add_ranks(7, joined, nullptr, &again).ok());
                  EXPECT_EQ(again, first[1]);
                  remove_ranks(again);  // never started
                  for (uint32_t k : {0, 2, 3}) remove_ranks(first[k]);
                  for (uint32_t k = 0; k < 50; ++k) {
                    ASSERT_TRUE(add_ranks(7, joined, nullptr, &again).ok());
                    EXPECT_EQ(again, 4u);
                    bool in_guard = true;
                    Proclet* p = rank_proclet(again + 6);
                    EXPECT_EQ(proclet_of_address(p->stack_low + 8, &in_guard), p);
                    EXPECT_FALSE(in_guard);
                    start_added_ranks(again);
                    wait_until(40 + 7 * (k + 1));
                    remove_ranks(again);
                  }
                },
                policy, static_cast<uint64_t>(seed)),
            0);
  EXPECT_EQ(ran, 40u + 50 * 7);
  EXPECT_EQ(most, 43u);
  EXPECT_EQ(rank_count(), 44u);
}

TEST(Sched, MoreRanksThanFitDoNotJoin) {
  EXPECT_EQ(run_ranks(2,
                      [] {
                        if (current()->index != 0) return;
                        uint32_t first = 77;
                        Status status = add_ranks(kMostAdded + 1, nullptr, nullptr, &first);
                        EXPECT_EQ(status.error_class(), MPI_ERR_NO_MEM);
                        EXPECT_NE(status.what().find("65536 would fit"), std::string::npos)
                            << status.what();
                        EXPECT_EQ(first, 77u);
                      }),
            0);
}

// A ring of tokens: every wait is ended by exactly one ready(), under any order of running.
TEST_P(Policies, MailboxesLoseNothing) {
  auto [policy, seed] = GetParam();
  constexpr uint32_t kRanks = 300;
  struct Box {
    std::deque<int> items;
    Proclet* waiter = nullptr;
  };
  std::vector<Box> boxes(kRanks);
  std::vector<long> sums(kRanks);
  auto send = [&](uint32_t to, int value) {
    boxes[to].items.push_back(value);
    if (Proclet* p = boxes[to].waiter) {
      boxes[to].waiter = nullptr;
      ready(p);
    }
  };
  int status = run_ranks(
      kRanks,
      [&] {
        uint32_t me = current()->index;
        std::mt19937 random(me);
        for (int round = 0; round < 20; ++round) {
          for (uint32_t d = 1; d <= 5; ++d) send((me + d * 7) % kRanks, static_cast<int>(me));
          if (random() % 3 == 0) yield();
          for (int k = 0; k < 5; ++k) {
            Box& box = boxes[me];
            if (box.items.empty()) {
              box.waiter = current();
              park(&kSite);
              ASSERT_FALSE(box.items.empty()) << "a wakeup without cause";
            }
            sums[me] += box.items.front();
            box.items.pop_front();
          }
        }
      },
      policy, static_cast<uint64_t>(seed));
  EXPECT_EQ(status, 0);
  long total = 0;
  for (long s : sums) total += s;
  EXPECT_EQ(total, 20l * 5 * (kRanks * (kRanks - 1) / 2));
}

TEST_P(Policies, YieldLetsOthersProgress) {
  auto [policy, seed] = GetParam();
  int flags = 0;
  run_ranks(
      50,
      [&] {
        // The rank spins, as a program does that calls MPI_Test.
        if (current()->index == 0)
          while (flags < 49) yield();
        else
          ++flags;
      },
      policy, static_cast<uint64_t>(seed));
  EXPECT_EQ(flags, 49);
}

TEST(Sched, RandomOrderDependsOnSeedOnly) {
  auto order_of = [](uint64_t seed) {
    std::vector<uint32_t> order;
    run_ranks(
        100, [&] { order.push_back(current()->index); }, Options::kRandom, seed);
    return order;
  };
  EXPECT_EQ(order_of(5), order_of(5));
  EXPECT_NE(order_of(5), order_of(6));
}

TEST(Sched, FirstNonzeroExitStatusWins) {
  EXPECT_EQ(run_ranks(10, [] { finish(0); }), 0);
  EXPECT_EQ(
      run_ranks(10, [] { finish(current()->index >= 4 ? static_cast<int>(current()->index) : 0); }),
      4);
}

TEST(Sched, HundredThousand) {
  uint64_t before = switch_count();
  long sum = 0;
  run_ranks(100000, [&] {
    yield();
    sum += current()->index;
  });
  EXPECT_EQ(sum, 100000l * 99999 / 2);
  EXPECT_GE(switch_count() - before, 200000u);
}

TEST(Sched, FinishedStacksAreGivenBack) {
  std::vector<char*> lows;
  long resident = 0;
  run_ranks(100, [&] {
    volatile char buffer[20000];
    memset(const_cast<char*>(buffer), 1, sizeof buffer);
    lows.push_back(current()->stack_low);
    if (current()->index == 99) {
      std::vector<unsigned char> pages(current()->stack_size / machine_page_bytes());
      for (int i = 0; i < 99; ++i) {
        ASSERT_EQ(mincore(lows[static_cast<size_t>(i)], current()->stack_size, pages.data()), 0);
        for (unsigned char page : pages) resident += page & 1;
      }
    }
  });
  EXPECT_EQ(resident, 0);
}

TEST(Sched, SleepersWakeInOrderWhileOthersRun) {
  std::vector<uint32_t> order;
  int spins = 0;
  int64_t start = now_ns();
  run_ranks(4, [&] {
    uint32_t me = current()->index;
    if (me == 3) {
      while (order.size() < 3) {
        ++spins;
        yield();
      }
      return;
    }
    sleep_for((3 - me) * 10'000'000);
    order.push_back(me);
  });
  EXPECT_EQ(order, (std::vector<uint32_t>{2, 1, 0}));
  EXPECT_GE(now_ns() - start, 30'000'000);
  EXPECT_GT(spins, 3);
}

TEST(Sched, AloneAsleepTheProcessSleeps) {
  timespec before, after;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  run_ranks(2, [] { sleep_for(50'000'000); });
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  int64_t cpu = (after.tv_sec - before.tv_sec) * 1000000000ll + after.tv_nsec - before.tv_nsec;
  EXPECT_LT(cpu, 20'000'000);
}

// ---- hooks ----

struct HookState {
  int polls = 0, sleeps = 0, all_parked = 0;
  Proclet* waiter = nullptr;
  int wake_after = 0;
};
HookState g_hooks;

class WithHooks : public ::testing::Test {
 protected:
  void SetUp() override {
    g_hooks = HookState();
    Hooks hooks;
    hooks.spin_ns = 1000;
    hooks.poll = [] {
      ++g_hooks.polls;
      EXPECT_EQ(current(), nullptr);
      if (g_hooks.waiter && g_hooks.polls >= g_hooks.wake_after) {
        ready(g_hooks.waiter);
        g_hooks.waiter = nullptr;
        return true;
      }
      return false;
    };
    hooks.sleep = [](int64_t) { ++g_hooks.sleeps; };
    hooks.all_parked = [] {
      ++g_hooks.all_parked;
      return !g_hooks.waiter;
    };
    set_hooks(hooks);
  }
  void TearDown() override { set_hooks(Hooks()); }
};

TEST_F(WithHooks, PollWakesAParkedProclet) {
  g_hooks.wake_after = 5000;
  EXPECT_EQ(run_ranks(1,
                      [] {
                        g_hooks.waiter = current();
                        park(&kSite);
                      }),
            0);
  EXPECT_GE(g_hooks.polls, 5000);
  EXPECT_EQ(g_hooks.all_parked, 1) << "once per such state";
  EXPECT_GT(g_hooks.sleeps, 0);
}

TEST_F(WithHooks, BusyProcletsStillPoll) {
  run_ranks(10, [] {
    for (int i = 0; i < 640; ++i) yield();
  });
  EXPECT_GE(g_hooks.polls, 6400 / 64);
  EXPECT_LE(g_hooks.polls, 6400 / 64 + 20);
}

TEST_F(WithHooks, ALoneSpinnerPolls) {
  g_hooks.wake_after = 100;
  run_ranks(2, [] {
    if (current()->index == 0) {
      g_hooks.waiter = current();
      park(&kSite);
    } else {
      while (rank_proclet(0)->state != ProcletState::kFinished) yield();
    }
  });
  EXPECT_GE(g_hooks.polls, 100);
}

TEST_F(WithHooks, DeadlockIsReportedAndRunReturns) {
  EXPECT_EQ(run_ranks(3,
                      [] {
                        if (current()->index > 0) park(&kSite);
                      }),
            1);
  EXPECT_EQ(g_hooks.all_parked, 1);
  EXPECT_EQ(rank_proclet(1)->state, ProcletState::kParked);
  EXPECT_STREQ(rank_proclet(1)->wait->call, "test");
}

// ---- host stack ----

TEST(Sched, CallsOnTheHostStack) {
  char host_local = 0;
  bool in_guard = false;
  run_ranks(20, [&] {
    char mine = 0;
    EXPECT_EQ(proclet_of_address(&mine, &in_guard), current());
    EXPECT_FALSE(on_host_stack());
    for (int i = 0; i < 10; ++i) {
      Proclet* self = current();
      char* address = nullptr;
      call_on_host([&] {
        char there = 0;
        address = &there;
        EXPECT_EQ(current(), self);
        EXPECT_TRUE(on_host_stack());
        yield();  // must not switch here
        int nested = 0;
        call_on_host([&] { nested = 1; });
        EXPECT_EQ(nested, 1);
        std::vector<char> big(1 << 16);
        EXPECT_EQ(proclet_of_address(&there, &in_guard), nullptr);
      });
      EXPECT_LT(std::abs(address - &host_local), 1 << 20);
      yield();
    }
  });
  int plain = 0;
  call_on_host([&] { plain = 1; });
  EXPECT_EQ(plain, 1);
}

TEST(Sched, ExceptionsUnwindOnProcletStacks) {
  int caught = 0;
  run_ranks(100, [&] {
    try {
      yield();
      throw current()->index;
    } catch (uint32_t index) {
      EXPECT_EQ(index, current()->index);
      ++caught;
    }
  });
  EXPECT_EQ(caught, 100);
}

// ---- helpers ----

struct Work {
  Proclet* waiter = nullptr;
  bool done = false;
  int value = 0;
};

TEST_P(Policies, HelpersRunAndAreReused) {
  auto [policy, seed] = GetParam();
  uint32_t before = helper_count();
  run_ranks(
      20,
      [] {
        int mark = 0;
        current()->rank_state = &mark;
        for (int round = 0; round < 50; ++round) {
          Work work;
          Proclet* helper = spawn_helper(
              current(),
              [](void* p) {
                auto* w = static_cast<Work*>(p);
                EXPECT_EQ(current()->kind, ProcletKind::kHelper);
                ++*static_cast<int*>(current()->rank_state);
                yield();
                w->value = 42;
                w->done = true;
                if (w->waiter) ready(w->waiter);
              },
              &work);
          EXPECT_EQ(helper->state, ProcletState::kReady);
          if (!work.done) {
            work.waiter = current();
            park(&kSite);
          }
          EXPECT_EQ(work.value, 42);
        }
        EXPECT_EQ(mark, 50);
      },
      policy, static_cast<uint64_t>(seed));
  EXPECT_LE(helper_count(), before + 40);  // fewer if a trim has run meanwhile
}

TEST(Sched, ThousandsOfHelpersAtOnce) {
  static int running;
  static Proclet* parent;
  running = 0;
  run_ranks(1, [] {
    parent = current();
    for (int i = 0; i < 3000; ++i)
      spawn_helper(
          current(),
          [](void*) {
            for (int k = 0; k < 3; ++k) yield();
            if (++running == 3000) ready(parent);
          },
          nullptr);
    park(&kSite);
  });
  EXPECT_EQ(running, 3000);
  EXPECT_GE(helper_count(), 3000u);
  EXPECT_EQ(helper_proclet(2999)->index, 2999u);
}

int64_t resident_kib() {
  long pages = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
  fclose(file);
  return resident * 4;
}

TEST(Sched, HelpersThatAreNotNeededGiveTheirStacksBack) {
  static int running;
  static Proclet* parent;
  [[maybe_unused]] static int64_t before, most, after;
  running = 0;
  run_ranks(1, [] {
    parent = current();
    before = resident_kib();
    for (int round = 0; round < 2; ++round) {  // released stacks are used again in round 1
      running = 0;
      for (int i = 0; i < 10'000; ++i)
        spawn_helper(
            current(),
            [](void*) {
              volatile char used[4096] = {1};
              for (int k = 0; k < 3; ++k) yield();
              if (++running == 10'000) ready(parent);
              EXPECT_EQ(used[0], 1);
            },
            nullptr);
      park(&kSite);
      most = resident_kib();
      // The stacks are released soon, but later on a busy machine.
      for (int i = 0; i < 100 && (helper_count() > 512 || warm_helpers() > 64); ++i)
        sleep_for(100'000'000);
      after = resident_kib();
      EXPECT_EQ(running, 10'000);
      EXPECT_LE(warm_helpers(), 64u);
      EXPECT_LE(helper_count(), 512u);
#ifndef FGMPI_SANITIZE
      EXPECT_GT(most - before, 40'000);
      EXPECT_LT(after - before, 4'000) << most;
#endif
    }
  });
}

TEST(Sched, HelpersThatAreUsedAgainAndAgainStay) {
  static int running;
  static Proclet* parent;
  static uint32_t least;
  run_ranks(1, [] {
    parent = current();
    least = ~0u;
    for (int round = 0; round < 20; ++round) {
      running = 0;
      for (int i = 0; i < 500; ++i)
        spawn_helper(
            current(),
            [](void*) {
              yield();
              if (++running == 500) ready(parent);
            },
            nullptr);
      park(&kSite);
      yield();
      sleep_for(40'000'000);
      least = std::min(least, warm_helpers());
    }
  });
  EXPECT_GE(least, 500u);
}

TEST(Sched, HelpersThatCannotBeHadAreAnError) {
#ifdef FGMPI_SANITIZE
  GTEST_SKIP() << "the sanitizer ends the process when it cannot have memory for itself";
#endif
  static std::vector<Proclet*> parked;
  static Status refused;
  static size_t made;
  run_ranks(1, [] {
    parked.clear();
    rlimit before{}, limit{};
    getrlimit(RLIMIT_AS, &before);
    limit = before;
    long pages = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    if (fscanf(file, "%ld", &pages) != 1) pages = 0;
    fclose(file);
    limit.rlim_cur = static_cast<rlim_t>(pages) * machine_page_bytes() + (100 << 20);
    setrlimit(RLIMIT_AS, &limit);
    // Stacks of helpers are 64 KiB: some thousand fit.
    while ((refused = ensure_helper()).ok() && parked.size() < 10'000)
      parked.push_back(spawn_helper(
          current(), [](void*) { park(&kSite); }, nullptr));
    setrlimit(RLIMIT_AS, &before);
    made = parked.size();
    yield();
    for (Proclet* p : parked) ready(p);
    yield();
    EXPECT_TRUE(ensure_helper().ok()) << "there is room again";
  });
  EXPECT_EQ(refused.error_class(), MPI_ERR_NO_MEM) << made;
  EXPECT_NE(refused.what().find("helper coroutines"), std::string::npos) << refused.what();
  EXPECT_LT(made, 10'000u);
}

TEST(Sched, MemoryThatCannotBeHadOnTheHostStackIsThrownOnTheCallers) {
  static int caught;
  caught = 0;
  run_ranks(2, [] {
    for (int i = 0; i < 3; ++i) {
      try {
        call_on_host([] { throw std::bad_alloc(); });
      } catch (const std::bad_alloc&) {
        ++caught;
      }
      yield();
    }
  });
  EXPECT_EQ(caught, 6);
}

// ---- what a switch swaps ----

TEST(Sched, SwitchHookSeesEveryChange) {
  static std::vector<std::pair<Proclet*, Proclet*>> changes;
  changes.clear();
  set_switch_hook([](Proclet* from, Proclet* to) { changes.push_back({from, to}); });
  run_ranks(3, [] {
    for (int i = 0; i < 5; ++i) yield();
  });
  set_switch_hook(nullptr);
  Proclet* on = nullptr;
  for (auto [from, to] : changes) {
    EXPECT_EQ(from, on);
    on = to;
  }
  EXPECT_EQ(on, nullptr);
  EXPECT_GE(changes.size(), 18u);
}

// ---- stacks and options ----

TEST(Stacks, OverflowHitsTheGuard) {
  run_ranks(2, [] {
    bool in_guard = false;
    char* guard = current()->stack_low - 1;
    EXPECT_EQ(proclet_of_address(guard, &in_guard), current());
    EXPECT_TRUE(in_guard);
    EXPECT_EQ(proclet_of_address(current()->stack_low, &in_guard), current());
    EXPECT_FALSE(in_guard);
  });
  if (strcmp(guard_kind(), "canary") == 0) GTEST_SKIP() << "no guard pages here";
  for (const size_t below : {size_t{1}, processor::kFrameStep}) {
    auto overflow = [&] { *static_cast<volatile char*>(current()->stack_low - below) = 1; };
    EXPECT_DEATH(run_ranks(2, overflow), "") << below;
  }
}

TEST(Stacks, ARegionOfEachGuardKind) {
  StackRegion region;
  ASSERT_TRUE(region.reserve(40, 64 << 10, "tests").ok());
  for (uint32_t i = 0; i < 40; ++i) region.install_guard(i);
  std::set<size_t> colours;
  for (uint32_t i = 0; i < 40; ++i) {
    EXPECT_TRUE(region.intact(i));
    memset(region.low(i), 7, 100);
    EXPECT_EQ(region.intact(i), region.guard() != StackGuard::kCanary);
    colours.insert(reinterpret_cast<size_t>(region.top(i)) % 4096);
    EXPECT_EQ(reinterpret_cast<size_t>(region.top(i)) % 64, 0u);
  }
  EXPECT_EQ(colours.size(), StackRegion::kColours);
}

TEST(Stacks, TheGuardOfAVisitorStaysForItsNextVisit) {
  constexpr size_t kSlot = 1 << 20, kStackSize = 256 << 10;
  void* slot = mmap(nullptr, kSlot, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(slot, MAP_FAILED);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  auto is_guarded = [&] { return write(ends[1], slot, 1) < 0 && errno == EFAULT; };
  EXPECT_FALSE(is_guarded());
  const StackPlaces place{static_cast<char*>(slot), kSlot, kSlot / 2, 0, 0, 0, true};
  for (const bool fresh : {true, false, false}) {
    StackRegion region;
    region.visit(kStackSize, place, fresh);
    EXPECT_TRUE(is_guarded());
    memset(region.low(0), 7, kStackSize);
  }
  EXPECT_TRUE(is_guarded());
  close(ends[0]);
  close(ends[1]);
  munmap(slot, kSlot);
}

/// The stack size of the ranks of a process with several, which follows from `ulimit -s`.
size_t from_ulimit() {
  rlimit limit{};
  EXPECT_EQ(getrlimit(RLIMIT_STACK, &limit), 0);
#ifdef FGMPI_SANITIZE
  return size_t{1} << 20;
#endif
  return std::clamp<size_t>(limit.rlim_cur, size_t{1} << 20, size_t{64} << 20);
}

TEST(Stacks, FewRanksHaveTheMainThreads) {
  size_t size = 0;
  run_ranks(1, [&] { size = current()->stack_size; });
  EXPECT_GE(size, size_t{1} << 20);
  run_ranks(2, [&] { size = current()->stack_size; });
  EXPECT_EQ(size, from_ulimit());
}

TEST(Stacks, SizeFollowsRanksAddressSpaceAndMemory) {
  constexpr uint64_t kAll = uint64_t{1} << 46, kMib = 1 << 20;
  EXPECT_EQ(default_stack_size(4096, kAll, -1), from_ulimit());
  EXPECT_EQ(default_stack_size(4097, kAll, -1), kMib);
  EXPECT_EQ(default_stack_size(65536, kAll, -1), kMib);
  EXPECT_EQ(default_stack_size(65537, kAll, -1), kMib / 4);
  EXPECT_EQ(default_stack_size(1000000, kAll, -1), kMib / 4);
  // 5,000 ranks of 1 MiB and a guard each may need half of the address space.
  const uint64_t space = 2 * 5000 * (kMib + guard_bytes());
  EXPECT_EQ(default_stack_size(5000, space, -1), kMib);
  EXPECT_EQ(default_stack_size(5000, space - 1, -1), kMib / 2);
  EXPECT_EQ(default_stack_size(5000, 100 * kMib, -1), kLeastStack);
  // With pages of 4 KiB, two stacks of 1 MiB share a page of page tables. 5,000 need 10,000 KiB,
  // which may be a twentieth of the memory.
  const auto memory = static_cast<int64_t>(20 * 5000 * (kMib / (machine_page_bytes() / 8)));
  EXPECT_EQ(default_stack_size(5000, kAll, memory), kMib);
  EXPECT_EQ(default_stack_size(5000, kAll, memory - 1), kMib / 2);
  EXPECT_EQ(default_stack_size(5000, kAll, 0), kLeastStack);
}

TEST(Stacks, TooManySaysHowManyWouldFit) {
  Options options;
  options.stack_size = size_t{1} << 30;
  set_options(options);
  Status status = create_ranks(
      1000000, [](void*) {}, nullptr);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.what().find("would fit"), std::string::npos) << status.what();
}

TEST(Options, FollowTheSettings) {
  EXPECT_EQ(configured_options().stack_size, 0u);
  EXPECT_EQ(configured_options().policy, Options::kFifo);
  test::Setting size("FGMPI_STACK_SIZE", "128k"), order("FGMPI_SCHED", "random:17");
  const Options options = configured_options();
  EXPECT_EQ(options.stack_size, size_t{128} << 10);
  EXPECT_EQ(options.policy, Options::kRandom);
  EXPECT_EQ(options.seed, 17u);
  test::Setting other("FGMPI_SCHED", "lifo");
  EXPECT_EQ(configured_options().policy, Options::kLifo);
}

}  // namespace
TEST(Limits, AsManyRanksFitAsIsSaid) {
  EXPECT_EQ(ranks_that_fit(uint64_t{1} << 46, 20000, 1000000, 0), 1000000u);
  for (uint64_t each : {0, 5000, 100000})
    for (uint64_t mib : {100, 300, 1000, 20000}) {
      uint32_t fit = ranks_that_fit(mib << 20, each, 1000000, 0);
      const uint64_t slot = page_up(kLeastStack) + guard_bytes();
      EXPECT_LE(fit * (slot + each), mib << 20) << mib << " MiB";
      EXPECT_GT((fit + 1) * (slot + each), mib << 20) << mib << " MiB";
    }
  const size_t each = page_bytes(), stack = 14 * each;
  EXPECT_EQ(ranks_that_fit(1000 * (stack + guard_bytes() + each), each, 5000, stack), 1000u);
  EXPECT_GT(memory_left(), 0);
}

}  // namespace fgmpi::sched
