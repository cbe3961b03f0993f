// What each of the checker's rules depends on, and which of them a call needs (rules.def).
//
// The classes of repeated/ handle calls that the rank has made before. They may skip a rule whose
// answer follows from the call's arguments, since the answer was recorded (RememberedCall::kFine).
// A rule that also depends on state must be run for each call. So each of these classes lists the
// rules that its own code runs, and its wrappers do not compile where the list lacks a rule that a
// call needs (runs_all_rules()). Thread rule: constants.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "check/check_calls.h"

namespace fgmpi::check {

/// What decides the answer of a rule.
enum class DependsOn : uint8_t {
  /// The arguments of the call, and the objects behind its handles as long as Rank::epoch is the
  /// same. A call that was found correct need not be checked again.
  kArguments,
  /// Also what is pending or under way, what other ranks do, or what MPI returns. Each call needs
  /// the rule.
  kState,
};

/// When CheckedCall runs a rule.
enum class RulePhase : uint8_t {
  kCheck,   ///< before MPI makes the call: are its arguments allowed?
  kBegin,   ///< then: what the call sends, receives or agrees on with others
  kReturn,  ///< after MPI has made the call
  kError,   ///< after MPI has returned an error, in place of kReturn
};

enum CheckRule : uint8_t {
#define FGMPI_CHECK_RULE(function, phase, depends_on, calls) kRule_##function,
#define FGMPI_CHECK_MODE_RULE(function, mode)
#include "check/rules.def"
  kRuleCount,
};

/// A set of rules: bit i stands for rule i.
using RuleSet = uint32_t;
static_assert(kRuleCount <= 32);

template <class... Rules>
constexpr RuleSet set_of_rules(Rules... rules) {
  return ((RuleSet{1} << rules) | ...);
}

constexpr RuleSet rules_that_depend_on(DependsOn wanted) {
  RuleSet set = 0;
#define FGMPI_CHECK_RULE(function, phase, depends_on, calls) \
  if (DependsOn::depends_on == wanted) set |= set_of_rules(kRule_##function);
#define FGMPI_CHECK_MODE_RULE(function, mode)
#include "check/rules.def"
  return set;
}

constexpr bool has_several(unsigned parameters) { return (parameters & (parameters - 1)) != 0; }
constexpr bool is_collective(const CallInfo& info) {
  return info.role == CallRole::kCollective || info.role == CallRole::kCreation;
}
constexpr bool is_message(const CallInfo& info) {
  return info.role >= kFirstOfMessages && info.role <= kLastOfMessages;
}
constexpr bool receives_too(const CallInfo& info) {
  return info.role == CallRole::kSendReceive || info.role == CallRole::kReplace;
}
/// Has the call received or found a message when MPI returns?
constexpr bool returns_message(const CallInfo& info) {
  return info.role == CallRole::kProbe ||
         (info.starts == Starts::kBlocking &&
          (info.role == CallRole::kReceive || info.role == CallRole::kMatchedProbe ||
           receives_too(info)));
}
constexpr bool returns_from_send(const CallInfo& info) {
  return info.starts == Starts::kBlocking && (info.role == CallRole::kSend || receives_too(info));
}
constexpr bool returns_from_collective(const CallInfo& info) {
  return is_collective(info) && info.starts != Starts::kNonblocking;
}
constexpr bool is_named(const CallInfo& info, std::string_view name) { return info.name == name; }

/// The rules that the call needs.
constexpr RuleSet rules_of(const CallInfo& info) {
  RuleSet set = 0;
#define FGMPI_CHECK_RULE(function, phase, depends_on, calls) \
  if (calls) set |= set_of_rules(kRule_##function);
#define FGMPI_CHECK_MODE_RULE(function, mode)
#include "check/rules.def"
  return set;
}
/// rules_of() by function.
extern const std::array<RuleSet, kCallCount> kRulesOf;

/// Does this class of repeated/ run each rule of the call that depends on state?
template <class RepeatedClass>
constexpr bool runs_all_rules(const CallInfo& info) {
  return (rules_of(info) & rules_that_depend_on(DependsOn::kState) & ~RepeatedClass::kRuns) == 0;
}

}  // namespace fgmpi::check
