#include "proclet-sched/coroutine/deputies.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/checkpoint_link.h"
#include "proclet-sched/sched.h"

namespace fgmpi::sched {
namespace {

std::function<void()>* g_deputies_body;

int run_ranks(uint32_t count, std::function<void()> body, Options::Policy policy, uint64_t seed) {
  Options options;
  options.policy = policy;
  options.seed = seed;
  set_options(options);
  g_deputies_body = &body;
  const Status status = create_ranks(
      count, [](void*) { (*g_deputies_body)(); }, nullptr);
  EXPECT_TRUE(status.ok()) << status.what();
  return run();
}

class Deputies : public ::testing::TestWithParam<std::tuple<Options::Policy, int>> {
 protected:
  int run_as(uint32_t count, std::function<void()> body) {
    return run_ranks(count, std::move(body), std::get<0>(GetParam()),
                     static_cast<uint64_t>(std::get<1>(GetParam())));
  }
};
INSTANTIATE_TEST_SUITE_P(All, Deputies,
                         ::testing::Values(std::tuple{Options::kFifo, 0},
                                           std::tuple{Options::kLifo, 0},
                                           std::tuple{Options::kRandom, 1},
                                           std::tuple{Options::kRandom, 7}));

template <class Body>
checkpoint::LayerCall call_of(Body& body) {
  return {[](void* data) { (*static_cast<Body*>(data))(); }, &body};
}
template <class Body>
void* begin(const char* what, Body& body) {
  return fgmpi_begin_deputy(what, call_of(body));
}
template <class Body>
bool call_by_rank(Body&& body) {
  return fgmpi_call_by_rank(call_of(body));
}

TEST_P(Deputies, CallInAHelperThatHasTheRanksState) {
  int done = 0;
  EXPECT_EQ(0, run_as(20, [&] {
              Proclet* const rank = current();
              rank->rank_state = &rank->index;
              for (int i = 0; i < 5; ++i) {
                int result = 0;
                auto call = [&] {
                  EXPECT_EQ(current()->kind, ProcletKind::kHelper);
                  EXPECT_EQ(current()->rank_state, &rank->index);
                  yield();
                  result = 100 + i;
                };
                void* deputy = begin("call", call);
                ASSERT_NE(deputy, nullptr);
                fgmpi_end_deputy(deputy);
                EXPECT_EQ(result, 100 + i);
                EXPECT_EQ(current(), rank);
                ++done;
              }
            }));
  EXPECT_EQ(done, 100);
}

TEST_P(Deputies, AskTheirRankAlsoFromCallsThatItMakesForThem) {
  int nested = 0;
  EXPECT_EQ(0, run_as(8, [&] {
              Proclet* const rank = current();
              rank->rank_state = &rank->index;
              // Each function of the program calls MPI again, four deep.
              std::function<void(int)> calls_mpi = [&](int depth) {
                auto call = [&] {
                  yield();
                  if (depth == 0) return;
                  EXPECT_TRUE(call_by_rank([&] {
                    EXPECT_EQ(current(), rank);
                    ++nested;
                    calls_mpi(depth - 1);
                  }));
                  EXPECT_EQ(current()->kind, ProcletKind::kHelper);
                };
                fgmpi_end_deputy(begin("call", call));
              };
              calls_mpi(4);
            }));
  EXPECT_EQ(nested, 32);
}

TEST_P(Deputies, OtherHelpersOfTheRankAskWhileItWaits) {
  EXPECT_EQ(0, run_as(3, [&] {
              Proclet* const rank = current();
              rank->rank_state = &rank->index;
              struct Asking {
                Proclet* rank;
                int by_rank = 0, over = 0;
              } asking = {rank};
              constexpr int kHelpers = 6;
              auto call = [&] {
                for (int i = 0; i < kHelpers; ++i)
                  spawn_helper(
                      rank,
                      [](void* data) {
                        auto* a = static_cast<Asking*>(data);
                        EXPECT_TRUE(call_by_rank([&] { a->by_rank += current() == a->rank; }));
                        ++a->over;
                      },
                      &asking);
                while (asking.over < kHelpers) yield();
              };
              fgmpi_end_deputy(begin("call", call));
              EXPECT_EQ(asking.by_rank, kHelpers);
            }));
}

TEST_P(Deputies, NobodyAsksARankThatDoesNotWaitForOne) {
  EXPECT_EQ(0, run_as(2, [&] {
              Proclet* const rank = current();
              rank->rank_state = &rank->index;
              EXPECT_FALSE(call_by_rank([] {}));  // the rank itself
              bool over = false;
              spawn_helper(
                  rank,
                  [](void* data) {
                    EXPECT_FALSE(call_by_rank([] {}));
                    *static_cast<bool*>(data) = true;
                  },
                  &over);
              while (!over) yield();
            }));
}

TEST_P(Deputies, AreAwaitedLater) {
  EXPECT_EQ(0, run_as(4, [&] {
              int value = 0;
              auto call = [&] { value = 1; };
              void* deputy = begin("call", call);
              while (value == 0) yield();
              fgmpi_end_deputy(deputy);
            }));
}

TEST_P(Deputies, ExceptionsOfTheProgramReachTheRank) {
  EXPECT_EQ(0, run_as(2, [&] {
              Proclet* const rank = current();
              rank->rank_state = &rank->index;
              auto call = [&] { call_by_rank([] { throw 7; }); };
              int caught = 0;
              try {
                fgmpi_end_deputy(begin("call", call));
              } catch (int value) {
                caught = value;
              }
              EXPECT_EQ(caught, 7);
              int result = 0;
              auto next = [&] { result = 1; };
              fgmpi_end_deputy(begin("call", next));
              EXPECT_EQ(result, 1);
            }));
}

TEST_P(Deputies, ReportsSeeWhatTheDeputyWaitsFor) {
  EXPECT_EQ(0, run_as(1, [&] {
              Proclet* const rank = current();
              static const WaitSite site{
                  "inner", [](const WaitSite*, std::string* out) { *out += "words"; }, true};
              Proclet* helper = nullptr;
              auto call = [&] {
                helper = current();
                park(&site);
              };
              void* deputy = begin("outer", call);
              spawn_helper(
                  rank,
                  [](void* data) {
                    Proclet*& waiting = *static_cast<Proclet**>(data);
                    while (!waiting || waiting->state != ProcletState::kParked) yield();
                    const WaitSite* of_rank = rank_proclet(0)->wait;
                    EXPECT_STREQ(of_rank->call, "outer");
                    EXPECT_EQ(innermost_wait(of_rank), &site);
                    std::string words;
                    of_rank->describe(of_rank, &words);
                    EXPECT_EQ(words, "words");
                    ready(waiting);
                  },
                  &helper);
              fgmpi_end_deputy(deputy);
            }));
}

}  // namespace
}  // namespace fgmpi::sched
