// The words and columns about predicted runs.

#include "readers/prediction/text.h"

#include <algorithm>
#include <string_view>

#include "base/strings.h"

namespace fgmpi::predict {
namespace {

/// Waits outside of MPI that are shorter in all are not reported.
constexpr VirtualTime kReportedWait = 1'000'000 * kPicosecondsPerNs;

/// Mean times of a rank, as parts of the run's time.
struct TimeShares {
  double computing = 0, overhead = 0, messages = 0, collectives = 0, other = 0, early = 0;
  double imbalance = 0;  ///< the longest time of computing less the mean
};

TimeShares shares_of(const PredictionOutcome& outcome) {
  TimeShares s;
  VirtualTime longest = 0;
  for (const RankTimes& rank : outcome.ranks) {
    s.computing += static_cast<double>(rank.computing);
    s.messages += static_cast<double>(rank.messages);
    s.collectives += static_cast<double>(rank.collectives);
    s.other += static_cast<double>(rank.other);
    s.overhead += static_cast<double>(rank.overhead);
    s.early += static_cast<double>(outcome.total() - rank.total);
    longest = std::max(longest, rank.computing);
  }
  const double whole = static_cast<double>(std::max<VirtualTime>(outcome.total(), 1)) *
                       static_cast<double>(outcome.ranks.size());
  for (double* part : {&s.computing, &s.overhead, &s.messages, &s.collectives, &s.other, &s.early})
    *part /= whole;
  s.imbalance = static_cast<double>(longest) /
                    static_cast<double>(std::max<VirtualTime>(outcome.total(), 1)) -
                s.computing;
  return s;
}

}  // namespace

std::string time_words(VirtualTime time) {
  const double seconds = static_cast<double>(time) * 1e-12;
  if (seconds >= 1) return format("%.3f s", seconds);
  if (seconds >= 1e-3) return format("%.3f ms", seconds * 1e3);
  return format("%.3f us", seconds * 1e6);
}

std::string_view limit_of(const PredictionOutcome& outcome) {
  const TimeShares s = shares_of(outcome);
  const double waiting = std::max(s.messages, s.collectives);
  if (s.other > std::max(s.computing, waiting)) return "files, windows and other calls";
  if (s.computing >= waiting && s.imbalance < s.computing / 2) return "computing";
  if (s.imbalance >= waiting / 2) return "imbalance of computing";
  const double contended = static_cast<double>(outcome.contention) /
                           static_cast<double>(std::max<size_t>(outcome.ranks.size(), 1)) /
                           static_cast<double>(std::max<VirtualTime>(outcome.total(), 1));
  if (contended >= waiting / 2) return "contention at the nodes' ports";
  return s.messages >= s.collectives ? "messages" : "collectives";
}

std::string summary_of(const PredictionOutcome& outcome) {
  const TimeShares s = shares_of(outcome);
  uint64_t messages = 0, bytes = 0;
  for (const RankTimes& rank : outcome.ranks) {
    messages += rank.sent;
    bytes += rank.sent_bytes;
  }
  std::string text = format("predicted: %s on %s, %zu ranks on %u node%s\n",
                            time_words(outcome.total()).c_str(), outcome.machine.c_str(),
                            outcome.ranks.size(), outcome.nodes, outcome.nodes == 1 ? "" : "s");
  text += format(
      "  a rank's time: computing %.1f %%, messages %.1f %%, collectives %.1f %%, other calls %.1f "
      "%%, ended early %.1f %%\n",
      100 * s.computing, 100 * s.messages, 100 * s.collectives, 100 * s.other, 100 * s.early);
  text += format("  limited by: %s\n", std::string(limit_of(outcome)).c_str());
  text += format(
      "  %llu messages of the program with %llu bytes; %llu transfers with those of collectives; "
      "waits for ports %s in all\n",
      static_cast<unsigned long long>(messages), static_cast<unsigned long long>(bytes),
      static_cast<unsigned long long>(outcome.transfers), time_words(outcome.contention).c_str());
  for (const ScheduleCount& s : outcome.schedules)
    text += format("%s%llu %s by %s", &s == &outcome.schedules.front() ? "  collectives: " : ", ",
                   static_cast<unsigned long long>(s.count), name_of_collective(s.collective),
                   name_of(s.algorithm));
  if (!outcome.schedules.empty()) text += '\n';
  if (outcome.corrected != 0) {
    double counted = 0;
    for (const RankTimes& rank : outcome.ranks) counted += static_cast<double>(rank.computing);
    const auto left_out = static_cast<double>(outcome.corrected);
    text += format("  computing: %.1f %% of what was measured is left out as disturbed\n",
                   100 * left_out / std::max(counted + left_out, 1.0));
  }
  if (outcome.times_missing || outcome.times_left)
    text += format(
        "  warning: the program has computed between other calls than when its times were "
        "measured: "
        "%llu times were missing, %llu are left\n",
        static_cast<unsigned long long>(outcome.times_missing),
        static_cast<unsigned long long>(outcome.times_left));
  if (outcome.by_clock)
    text += format(
        "  warning: %u rank%s the clock until a time has come: what the program does then may "
        "differ from what it does there\n",
        outcome.by_clock, outcome.by_clock == 1 ? " looks at" : "s look at");
  if (outcome.waited_outside >= kReportedWait)
    text += format(
        "  warning: ranks have waited up to %s outside of MPI (for a child, a pipe, a disk, their "
        "threads): this takes no time in a prediction\n",
        time_words(outcome.waited_outside).c_str());
  return text + path_words(outcome);
}

std::string table_of(const std::vector<PredictionOutcome>& outcomes) {
  std::string text = format("%10s %8s %14s %10s %11s  %s\n", "ranks", "nodes", "predicted",
                            "speed-up", "efficiency", "limited by");
  const PredictionOutcome& first = outcomes.front();
  for (const PredictionOutcome& o : outcomes) {
    const double faster = static_cast<double>(first.total()) /
                          static_cast<double>(std::max<VirtualTime>(o.total(), 1));
    const double more =
        static_cast<double>(o.ranks.size()) / static_cast<double>(first.ranks.size());
    text += format("%10zu %8u %14s %10.2f %9.1f %%  %s\n", o.ranks.size(), o.nodes,
                   time_words(o.total()).c_str(), faster, 100 * faster / more,
                   std::string(limit_of(o)).c_str());
  }
  return text;
}

}  // namespace fgmpi::predict
