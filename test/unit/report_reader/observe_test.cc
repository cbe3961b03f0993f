// Observations: each is made above its threshold, and not below.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "readers/report/run.h"
#include "report_file.h"

namespace fgmpi::report {
namespace {

/// A run of ten seconds with files of one rank each, all of which is known.
JobRun quiet_run(int32_t ranks, int32_t processes = 1) {
  char name[] = "/tmp/report-observe-XXXXXX";
  EXPECT_NE(mkdtemp(name), nullptr);
  for (int32_t p = 0; p < processes; ++p) {
    ReportFile file(p * ranks, ranks, processes * ranks);
    ProfileHeader* h = file.header();
    h->last_ns = 10'000'000'000;
    h->samples = h->slice_looks = 1000;
    h->program_ns = h->program_cpu_ns = 5'000'000'000;
    for (int32_t i = 0; i < ranks; ++i) {
      file.rank(i)->flags = kStarted | kEnded;
      file.rank(i)->program_ns = file.rank(i)->cpu_ns = 5'000'000'000;
    }
    file.write(std::string(name) + "/report-" + std::to_string(p));
  }
  JobRun run;
  run.read(name);
  std::filesystem::remove_all(name);
  run.sum_up();
  EXPECT_EQ(run.ranks.size(), static_cast<size_t>(ranks * processes));
  return run;
}

/// The title of the observation that begins with these words, or "".
std::string title(const JobRun& run, const std::string& begin) {
  for (const Observation& o : observe(run))
    if (o.title.starts_with(begin)) return o.title;
  return "";
}

TEST(Observe, ARunWithoutFaultsHasNone) {
  EXPECT_TRUE(observe(JobRun()).empty());
  EXPECT_TRUE(observe(quiet_run(4)).empty());
  EXPECT_TRUE(observe(quiet_run(2, 3)).empty());
}

TEST(Observe, ALateSenderCostsATwentiethOfTheRun) {
  JobRun run = quiet_run(4);
  run.waited_for = {{2, 0.49}};
  EXPECT_EQ(title(run, "Late sender"), "");
  run.waited_for = {{2, 0.5}};
  EXPECT_EQ(title(run, "Late sender"), "Late sender: others waited 500 ms for messages of rank 2");
  run.waited_for = {{1, 0.5}, {2, 0.5}};
  EXPECT_EQ(title(run, "Late sender"), "") << "it is no later than others";
  run.waited_for = {{1, 0.1}, {2, 0.5}};
  EXPECT_NE(title(run, "Late sender"), "");
  run.waited_for = {{4, 9}};
  EXPECT_EQ(title(run, "Late sender"), "") << "there is no rank 4";
  run.waited_for = {{2, 9}};
  run.samples = kFewSamples - 1;
  EXPECT_EQ(title(run, "Late sender"), "") << "times are not known";
}

TEST(Observe, ALateReceiverIsNamed) {
  JobRun run = quiet_run(4);
  run.waited_for_target = {{3, 0.5}};
  EXPECT_EQ(title(run, "Late receiver"),
            "Late receiver: others waited 500 ms for rank 3 to take their messages");
  run.waited_for_target = {{3, 0.4}};
  EXPECT_EQ(title(run, "Late receiver"), "");
}

TEST(Observe, ReceivesOneAfterTheOtherAreFewRanksHabit) {
  JobRun run = quiet_run(20);
  run.ranks[7].behind = 1;
  EXPECT_EQ(title(run, "Serialised"),
            "Serialised receives: rank 7 waited 1 s for one rank while messages of others lay "
            "there");
  run.ranks[8].behind = 1;
  EXPECT_NE(title(run, "Serialised"), "");
  run.ranks[9].behind = 1;
  EXPECT_EQ(title(run, "Serialised"), "") << "more than a tenth of the ranks do it";
}

TEST(Observe, ImbalanceOfProcessesHidesThatOfRanks) {
  JobRun run = quiet_run(2);
  run.ranks[1].cpu = 15;
  EXPECT_EQ(title(run, "Imbalance"),
            "Imbalance: rank 1 computes 1.5 times as long as the average rank");
  run.ranks[1].cpu = 14;
  EXPECT_EQ(title(run, "Imbalance"), "");
}

TEST(Observe, SmallMessagesAreManyAndAQuarter) {
  JobRun run = quiet_run(2);
  run.ranks[1].repeated = 999, run.ranks[0].sent = 10;
  EXPECT_EQ(title(run, "Many small"), "");
  run.ranks[1].repeated = 1000, run.ranks[0].sent = 4000;
  EXPECT_EQ(title(run, "Many small"),
            "Many small messages: 1,000 of 4,000 could have been part of the one before");
  run.ranks[0].sent = 4001;
  EXPECT_EQ(title(run, "Many small"), "");
}

TEST(Observe, LeakedCommunicatorsAreMadeOften) {
  JobRun run = quiet_run(2);
  Family f;
  f.call = "MPI_Comm_dup";
  f.made = 10, f.members_made = 20, f.members_freed = 18;
  run.families = {f};
  EXPECT_NE(title(run, "Communicators are made"), "");
  run.families[0].members_freed = 19;
  EXPECT_EQ(title(run, "Communicators are made"), "") << "a twentieth is left";
  run.families[0].members_freed = 99;
  EXPECT_EQ(title(run, "Communicators are made"), "") << "more were freed than made";
  run.families[0] = f;
  run.families[0].made = 9;
  EXPECT_EQ(title(run, "Communicators are made"), "");
}

TEST(Observe, RacesNeedSeveralSenders) {
  JobRun run = quiet_run(4);
  run.ranks[2].any_received = 7;
  run.matrix[{0, 2, 0}].messages = 1;
  EXPECT_EQ(title(run, "Races"), "");
  run.matrix[{1, 3, 0}].messages = 1;
  run.matrix[{1, 2, FlowKey::kOneSided}].messages = 1;
  EXPECT_EQ(title(run, "Races"), "") << "only one rank sends messages to rank 2";
  run.matrix[{3, 2, 1}].messages = 1;
  EXPECT_NE(title(run, "Races: 7 receives from MPI_ANY_SOURCE"), "");
}

TEST(Observe, TheDearestIsFirst) {
  JobRun run = quiet_run(20);
  run.waited_for = {{2, 0.6}};
  run.waited_for_target = {{3, 5}};
  run.ranks[7].behind = 1;
  const auto all = observe(run);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](const auto& a, const auto& b) { return a.weight > b.weight; }));
}

TEST(End, ItsWordsNameWhatEndedTheJob) {
  JobRun run = quiet_run(3);
  EXPECT_EQ(words_of_end(run), "exit status 0: all ranks ended");
  run.ranks[1].ended = false;
  run.end.status = 9;
  EXPECT_EQ(words_of_end(run),
            "exit status 9: the job was ended before its ranks were; 1 of 3 ranks had not come to "
            "MPI_Finalize");
  run.end.signals = {9, 12345};
  EXPECT_NE(words_of_end(run).find("(signal 9, \"Killed\", ended a process)"), std::string::npos);
  run.end.status = 137;
  EXPECT_NE(words_of_end(run).find("(signal 9, \"Killed\", ended a process)"), std::string::npos);
  run.end.status = 138;
  EXPECT_EQ(words_of_end(run).find("signal"), std::string::npos);
  run.end.launcher_signal = 15;
  EXPECT_NE(words_of_end(run).find("(mpiexec was sent signal 15"), std::string::npos);
  run.ranks[1].now = call_number("MPI_Abort");
  EXPECT_NE(words_of_end(run).find("(a rank called MPI_Abort)"), std::string::npos);
  run.end.launcher_killed = true;
  EXPECT_TRUE(words_of_end(run).starts_with("mpiexec was killed: ")) << words_of_end(run);
  EXPECT_EQ(words_of_end(JobRun()), "exit status 0: no process came back from MPI_Init");
}

}  // namespace
}  // namespace fgmpi::report
