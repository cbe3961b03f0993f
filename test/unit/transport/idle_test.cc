#include "transport/idle.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/settings.h"
#include "exchange.h"

namespace fgmpi::transport {
namespace {

using testing::ns_of;

/// A source whose descriptor is always readable, or whose arm() always refuses. poll() returns
/// `arrives`.
struct FakeSource final : WaitSource {
  explicit FakeSource(bool may_sleep) : arms(may_sleep) {}
  ~FakeSource() override { ::close(fd); }
  bool poll() override {
    ++polls;
    for (const int64_t end = ns_of(CLOCK_MONOTONIC) + poll_ns; ns_of(CLOCK_MONOTONIC) < end;) {
    }
    return arrives;
  }
  bool arm() override { return arms; }
  int wait_fd() const override { return fd; }
  bool tick() override { return finds; }

  bool arms, arrives = false, finds = false;
  uint64_t polls = 0;
  int64_t poll_ns = 0;  ///< duration of a poll
  int fd = eventfd(1, EFD_CLOEXEC);
};

/// Makes a source whose descriptor is not readable, so that a process can sleep.
FakeSource* make_quiet(std::vector<std::unique_ptr<WaitSource>>* list) {
  auto quiet = std::make_unique<FakeSource>(true);
  uint64_t one;
  EXPECT_EQ(read(quiet->fd, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  list->push_back(std::move(quiet));
  return static_cast<FakeSource*>(list->back().get());
}

/// The number of wake-ups in a wait for `ns`.
uint64_t wakeups(Idle* idle, int64_t ns) {
  const uint64_t before = idle->kernel_sleeps();
  for (const int64_t end = ns_of(CLOCK_MONOTONIC) + ns; ns_of(CLOCK_MONOTONIC) < end;)
    idle->sleep(end - ns_of(CLOCK_MONOTONIC));
  return idle->kernel_sleeps() - before;
}

class IdleOverABusySource : public ::testing::TestWithParam<bool> {};

TEST_P(IdleOverABusySource, SleepsAllTheSame) {
  std::vector<std::unique_ptr<WaitSource>> list;
  list.push_back(std::make_unique<FakeSource>(GetParam()));
  auto* fake = static_cast<FakeSource*>(list[0].get());
  Idle idle(list);
  wakeups(&idle, 100'000'000);
  const int64_t cpu = ns_of(CLOCK_PROCESS_CPUTIME_ID);
  // A wake-up every 32 ms is expected. Twice as many are allowed, since each second begins anew.
  EXPECT_LE(wakeups(&idle, 1'000'000'000), 64u);
  EXPECT_LT(ns_of(CLOCK_PROCESS_CPUTIME_ID) - cpu, 50'000'000);
  // After an event the source may keep the process awake again, for a while.
  fake->arrives = true;
  idle.sleep(100'000'000);
  fake->arrives = false;
  const int64_t start = ns_of(CLOCK_MONOTONIC);
  fake->arms = true;
  EXPECT_GT(wakeups(&idle, 100'000'000), 30u);
  EXPECT_LT(ns_of(CLOCK_MONOTONIC) - start, 5'000'000'000);
}

INSTANTIATE_TEST_SUITE_P(ByDescriptorAndByRefusal, IdleOverABusySource, ::testing::Bool());

/// A refusal of arm() may mean that there is room for a refused frame: so the sleep ends, and the
/// caller tries again, although a poll finds nothing.
TEST(Idle, RefusalToSleepGoesBackToTheCaller) {
  std::vector<std::unique_ptr<WaitSource>> list;
  list.push_back(std::make_unique<FakeSource>(false));
  Idle idle(list);
  const int64_t start = ns_of(CLOCK_MONOTONIC);
  idle.sleep(10'000'000'000);
  EXPECT_LT(ns_of(CLOCK_MONOTONIC) - start, 5'000'000'000);
}

/// A check of the peers that delivers a frame, or finds room, ends the sleep.
TEST(Idle, ALookAfterThePeersCanEndIt) {
  std::vector<std::unique_ptr<WaitSource>> list;
  make_quiet(&list)->finds = true;
  Idle idle(list);
  const int64_t start = ns_of(CLOCK_MONOTONIC);
  idle.sleep(-1);
  EXPECT_LT(ns_of(CLOCK_MONOTONIC) - start, 20'000'000'000);
}

/// A deadline beyond the end of time is for ever, not in the past: only the look after the peers
/// ends this sleep.
TEST(Idle, ASleepForEverIsNoBusyLoop) {
  for (int64_t timeout : {INT64_MAX, INT64_MAX - 1}) {
    std::vector<std::unique_ptr<WaitSource>> list;
    make_quiet(&list)->finds = true;
    Idle idle(list);
    const int64_t start = ns_of(CLOCK_MONOTONIC), cpu = ns_of(CLOCK_PROCESS_CPUTIME_ID);
    idle.sleep(timeout);
    EXPECT_GT(ns_of(CLOCK_MONOTONIC) - start, 500'000'000);
    EXPECT_LT(ns_of(CLOCK_PROCESS_CPUTIME_ID) - cpu, 100'000'000);
  }
}

/// Rare wake-ups without a frame (by a signal, or a piece of a message) must not end sleeping on
/// the descriptor.
TEST(Idle, RareWakeupsForNothingAreForgiven) {
  std::vector<std::unique_ptr<WaitSource>> list;
  FakeSource* fake = make_quiet(&list);
  Idle idle(list);
  for (int i = 0; i < 300; ++i) idle.sleep(2'000'000);
  const uint64_t one = 1;
  ASSERT_EQ(write(fake->fd, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  fake->arrives = true;
  const int64_t start = ns_of(CLOCK_MONOTONIC);
  idle.sleep(10'000'000'000);
  EXPECT_LT(ns_of(CLOCK_MONOTONIC) - start, 1'000'000'000);
}

/// A wait polls at least once more before it sleeps. Where polls take long, as those of sockets do,
/// it makes only a few: other processes of the core wait for each of them.
TEST(Idle, FewSlowPollsBeforeASleep) {
  setenv("FGMPI_SPIN", "1", 1);
  ASSERT_TRUE(settings::load().ok());
  std::vector<std::unique_ptr<WaitSource>> list;
  FakeSource* fake = make_quiet(&list);
  Idle idle(list);
  unsetenv("FGMPI_SPIN");
  ASSERT_TRUE(settings::load().ok());
  fake->poll_ns = 50'000;
  idle.sleep(20'000'000);
  EXPECT_GE(fake->polls, 2u);
  EXPECT_LE(fake->polls, 16u);
}

}  // namespace
}  // namespace fgmpi::transport
