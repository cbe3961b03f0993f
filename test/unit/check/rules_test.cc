#include "check/rules.h"

#include <gtest/gtest.h>

namespace fgmpi::check {
namespace {

constexpr RuleSet kAll = (RuleSet{1} << kRuleCount) - 1;
constexpr RuleSet kOfArguments = rules_that_depend_on(DependsOn::kArguments);
constexpr RuleSet kOfState = rules_that_depend_on(DependsOn::kState);

/// A class for repeated calls that runs all rules which depend on state, except these.
template <RuleSet kExcept>
struct RunsAllExcept {
  static constexpr RuleSet kRuns = kOfState & ~kExcept;
};

CallInfo call_with(CallRole role, Starts starts) {
  CallInfo info = {};
  info.name = "MPI_Any";
  info.role = role;
  info.starts = starts;
  info.sets.buffers = 1;
  info.at.given = info.at.made = -1;
  return info;
}

TEST(Rules, EachDependsOnArgumentsAloneOrOnState) {
  EXPECT_EQ(kOfArguments | kOfState, kAll);
  EXPECT_EQ(kOfArguments & kOfState, 0u);
}

TEST(Rules, AClassMustRunEachRuleOfItsCallsThatDependsOnState) {
  const CallInfo send = call_with(CallRole::kSend, Starts::kBlocking);
  EXPECT_TRUE(runs_all_rules<RunsAllExcept<0>>(send));
  int needed = 0;
  auto check = [&]<RuleSet kRule>() {
    const bool needs = (rules_of(send) & kOfState & kRule) != 0;
    EXPECT_EQ(runs_all_rules<RunsAllExcept<kRule>>(send), !needs);
    needed += needs;
  };
  check.operator()<set_of_rules(kRule_check_pending_buffers)>();
  check.operator()<set_of_rules(kRule_check_messages_before)>();
  check.operator()<set_of_rules(kRule_record_send_after)>();
  check.operator()<set_of_rules(kRule_record_messages_after)>();
  check.operator()<set_of_rules(kRule_check_collective_before)>();
  check.operator()<set_of_rules(kRule_check_handles_before)>();
  EXPECT_EQ(needed, 3);
}

TEST(Rules, DependOnTheCall) {
  const CallInfo receive = call_with(CallRole::kReceive, Starts::kNonblocking);
  EXPECT_TRUE(rules_of(receive) & set_of_rules(kRule_check_messages_before));
  EXPECT_FALSE(rules_of(receive) & set_of_rules(kRule_record_messages_after));
  CallInfo wait = call_with(CallRole::kCompletion, Starts::kBlocking);
  wait.sets.buffers = 0;
  wait.at.given = 0;
  wait.at.op = -1;
  wait.at.target = -1;
  EXPECT_EQ(rules_of(wait), set_of_rules(kRule_check_requests_before, kRule_record_requests_after));
}

}  // namespace
}  // namespace fgmpi::check
