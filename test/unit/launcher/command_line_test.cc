#include "launcher/mpiexec/command_line.h"

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <fstream>

namespace fgmpi::launcher {
namespace {

Words words(const std::string& text) {
  Words out;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin) out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::string joined(const Words& list) {
  std::string out;
  for (const auto& word : list) out += (out.empty() ? "" : " ") + word;
  return out;
}

const Setting kSetting{4, "/prefix/lib"};

std::string plan_of(const std::string& line) {
  LaunchPlan plan;
  Status status = make_plan(words(line), kSetting, &plan);
  return status.ok() ? joined(plan.hydra) : "error: " + status.what();
}

TEST(CommandLine, NfgBecomesAVariableOfTheProgram) {
  EXPECT_EQ(plan_of("-n 2 -nfg 5000 prog -n 7"), "-n 2 -env FGMPI_NFG 5000 prog -n 7");
  EXPECT_EQ(plan_of("-np 2 --nfg 3 prog"), "-n 2 -env FGMPI_NFG 3 prog");
  EXPECT_EQ(plan_of("prog -nfg 9"), "prog -nfg 9");
  EXPECT_EQ(plan_of("-n 2 -nfg 3 a x : -n 1 -nfg 4 b y"),
            "-n 2 -env FGMPI_NFG 3 a x : -n 1 -env FGMPI_NFG 4 b y");
}

TEST(CommandLine, RanksAreDividedOverProcesses) {
  EXPECT_EQ(plan_of("-ranks 10 prog"), "-n 4 -env FGMPI_RANKS 10 prog");
  EXPECT_EQ(plan_of("-ranks 3 prog"), "-n 3 -env FGMPI_RANKS 3 prog");
  EXPECT_EQ(plan_of("-n 3 -ranks 10 prog"), "-n 3 -env FGMPI_RANKS 10 prog");
  EXPECT_EQ(
      plan_of("-n 3 -ranks 10 a : -n 2 -ranks 4 b"),
      "-env FGMPI_APPNUM 0 -n 1 -env FGMPI_NFG 4 a : -env FGMPI_APPNUM 0 -n 2 -env FGMPI_NFG 3 a : "
      "-env FGMPI_APPNUM 1 -n 2 -env FGMPI_NFG 2 b");
}

TEST(CommandLine, SharesOfRanksAreSaid) {
  const auto shares_of = [](const std::string& line) {
    LaunchPlan plan;
    EXPECT_TRUE(make_plan(words(line), kSetting, &plan).ok());
    return plan.shares;
  };
  EXPECT_EQ(shares_of("-n 2 -nfg 5000 prog"), "2x5000");
  EXPECT_EQ(shares_of("-n 3 -ranks 10 prog"), "1x4,2x3");
  EXPECT_EQ(shares_of("-n 2 -nfg 3 a : -n 1 b : -n 2 -ranks 4 c"), "2x3,1x1,2x2");
  EXPECT_EQ(shares_of("-n 2 prog"), "");  // as the environment says
  EXPECT_EQ(shares_of("-nfg 3 prog"), "");
}

TEST(CommandLine, JobsThatSurviveFailures) {
  EXPECT_EQ(plan_of("-ft -n 2 prog"), "-disable-auto-cleanup -n 2 prog");
  EXPECT_EQ(plan_of("-disable-auto-cleanup -n 2 prog"), "-disable-auto-cleanup -n 2 prog");
  Setting setting = kSetting;
  setting.can_share = [](const Words&, const Words&) { return true; };
  LaunchPlan plan;
  ASSERT_TRUE(make_plan(words("-ft -n 1000 prog"), setting, &plan).ok());
  EXPECT_TRUE(plan.survives);
  EXPECT_EQ(joined(plan.hydra), "-disable-auto-cleanup -n 1000 prog");  // each rank fails alone
}

TEST(CommandLine, ManyMoreProcessesThanCoresBecomeRanks) {
  Setting setting = kSetting;  // 4 cores: up to 16 processes
  setting.can_share = [](const Words& program, const Words&) { return program[0] != "hostname"; };
  auto plan_of = [&](const char* line, std::string* note) {
    LaunchPlan plan;
    EXPECT_TRUE(make_plan(words(line), setting, &plan).ok());
    *note = plan.note;
    return joined(plan.hydra);
  };
  std::string note;
  EXPECT_EQ(plan_of("-n 16 a", &note), "-n 16 a");
  EXPECT_EQ(note, "");
  EXPECT_EQ(plan_of("-n 1000 a", &note), "-n 4 -env FGMPI_RANKS 1000 a");
  EXPECT_EQ(note,
            "1000 processes are more than 4 for each of 4 cores: 1000 ranks run in 4 processes "
            "(-nfg 1: one rank a process)");
  EXPECT_EQ(plan_of("-n 1000 -nfg 1 a", &note), "-n 1000 -env FGMPI_NFG 1 a");
  EXPECT_EQ(plan_of("-n 17 hostname", &note), "-n 17 hostname");
  EXPECT_EQ(note, "");
  EXPECT_EQ(
      plan_of("-n 10 a : -n 9 hostname : -n 1 b", &note),
      "-env FGMPI_APPNUM 0 -n 2 -env FGMPI_NFG 3 a : -env FGMPI_APPNUM 0 -n 2 -env FGMPI_NFG 2 a : "
      "-n 9 hostname : -n 1 b");
  setting.can_share = {};
  EXPECT_EQ(plan_of("-n 1000 a", &note), "-n 1000 a");
}

TEST(CommandLine, DryRunDescribesProgramsAndTouchesNothing) {
  Setting setting = kSetting;
  setting.track = [](const std::string&) -> Status { return error(MPI_ERR_OTHER, "called"); };
  LaunchPlan plan;
  ASSERT_TRUE(
      make_plan(words("-dry-run -track t -n 2 -nfg 3 a x : -ranks 10 b"), setting, &plan).ok());
  EXPECT_TRUE(plan.dry_run);
  EXPECT_EQ(plan.programs,
            (Words{"a: 2 processes, 3 ranks each", "b: 4 processes, 10 ranks in all"}));
}

TEST(CommandLine, OptionsOfHydraPassWithTheirValues) {
  EXPECT_EQ(plan_of("-f hosts -ppn 2 -genv A 1 -prepend-rank -n 4 prog"),
            "-f hosts -ppn 2 -genv A 1 -genv FGMPI_PREPEND_RANK 1 -n 4 prog");
  EXPECT_EQ(plan_of("--bind-to=core -genv A=1 --env=B=2 -env=C 3 -n 1 prog"),
            "-bind-to core -genv A 1 -env B 2 -env C 3 -n 1 prog");
  EXPECT_EQ(plan_of("-v -v -n 1 a : -v b"),
            "-genv FGMPI_VERBOSE 1 -v -genv FGMPI_VERBOSE 1 -n 1 a : -genv FGMPI_VERBOSE 1 b");
  EXPECT_EQ(plan_of("-what-is-this -n 1 prog"), "-what-is-this -n 1 prog");
  EXPECT_EQ(plan_of("-info"), "-info");
}

TEST(CommandLine, TrackIsSetUpOnceAndComesBeforeWhatAProgramPreloads) {
  std::string folders;
  Setting setting = kSetting;
  setting.tracker = "tracker.so";
  setting.track = [&](const std::string& folder) {
    folders += folder + ";";
    return Status();
  };
  LaunchPlan plan;
  ASSERT_TRUE(make_plan(words("-track t -n 2 -nfg 3 -env LD_PRELOAD own.so a -track : -track t b"),
                        setting, &plan)
                  .ok());
  EXPECT_EQ(folders, "t;");
  EXPECT_EQ(joined(plan.hydra),
            "-env LD_PRELOAD tracker.so:own.so -n 2 -env FGMPI_NFG 3 a -track : b");
  EXPECT_EQ(plan_of("-track"), "error: -track: a value is missing behind it");
  EXPECT_EQ(plan_of("-track a x : -track b y"),
            "error: -track a and -track b: allowed is one folder a job");
}

TEST(CommandLine, PlacesThatHydraDoesNotKnowAreRefused) {
  for (const char* good : {"none", "rr", "machine", "core", "core:2", "numa", "l3cache:1", "user:0",
                           "user:0+2,1-4,3", "hwthread", "gpu0", "pci:00:02"}) {
    std::string line = std::string("-bind-to ") + good + " -n 1 prog";
    EXPECT_EQ(plan_of(line), line);
  }
  EXPECT_EQ(plan_of("-map-by socket:2 -n 1 prog"), "-map-by socket:2 -n 1 prog");
  EXPECT_EQ(plan_of("-bind-to -help"), "error: no program given (see mpiexec -help)");
  for (const char* bad : {"-bind-to nonsense", "-bind-to core:", "-bind-to core:0",
                          "-bind-to user:", "-bind-to user:x", "-bind-to user:1,,2",
                          "-bind-to user:1,", "-map-by none", "-map-by user:1", "-map-by nodes"})
    EXPECT_EQ(plan_of(std::string(bad) + " -n 1 prog")
                  .find(std::string("error: ") + bad + ": allowed are"),
              0u)
        << bad;
}

TEST(CommandLine, OpenMpisSpellingsAreUnderstood) {
  EXPECT_EQ(plan_of("--oversubscribe --allow-run-as-root -np 2 prog"), "-n 2 prog");
  EXPECT_EQ(plan_of("--bind-to core:overload-allowed -np 2 prog"), "-bind-to core -n 2 prog");
  EXPECT_EQ(plan_of("-x PATH -x A=b=c -n 1 prog"), "-env A b=c -n 1 prog");
}

TEST(CommandLine, OptionsThatTheStandardNames) {
  EXPECT_EQ(plan_of("-n 2 -initial-errhandler mpi_errors_return a : -n 1 b"),
            "-env FGMPI_INITIAL_ERRHANDLER mpi_errors_return -n 2 a : -n 1 b");
  EXPECT_EQ(plan_of("-memory-alloc-kinds mpi,system -n 2 prog"), "-n 2 prog");
  EXPECT_EQ(plan_of("-initial-errhandler none prog"),
            "error: -initial-errhandler none: allowed is mpi_errors_are_fatal, mpi_errors_abort or "
            "mpi_errors_return");
}

TEST(CommandLine, OurLibraryStaysFirstInALibraryPath) {
  EXPECT_EQ(plan_of("-genv LD_LIBRARY_PATH /x -n 1 prog"),
            "-genv LD_LIBRARY_PATH /prefix/lib:/x -n 1 prog");
}

TEST(CommandLine, ReportsAreNotForHydra) {
  LaunchPlan plan;
  ASSERT_TRUE(
      make_plan(words("-report a.html -summary -n 2 prog -progress"), kSetting, &plan).ok());
  EXPECT_EQ(joined(plan.hydra), "-n 2 prog -progress");
  EXPECT_EQ(plan.report.file, "a.html");
  EXPECT_TRUE(plan.report.summary);
  EXPECT_FALSE(plan.report.progress);
  EXPECT_EQ(plan_of("-report"), "error: -report: a value is missing behind it");
  EXPECT_EQ(plan_of("-report a.html -report b.html prog"),
            "error: -report a.html and -report b.html: allowed is one file a job");
  EXPECT_EQ(plan_of("-summary -check prog"),
            "error: -report, -summary or -progress with -check: allowed is one of them");
  EXPECT_EQ(plan_of("-progress -track t prog"),
            "error: -report, -summary or -progress with -track: allowed is one of them");
}

/// Each option in each form, first, last, behind an option of hydra's, and twice.
TEST(CommandLine, AllFormsOfAnOptionAreAlike) {
  struct {
    const char *name, *value, *rest;
  } const kOptions[] = {{"n", "3", "prog"},
                        {"np", "3", "-nfg 2 prog"},
                        {"c", "3", "prog"},
                        {"nfg", "7", "prog"},
                        {"ranks", "7", "prog"},
                        {"x", "A=b=c", "prog"},
                        {"env", "A=b", "prog"},
                        {"genv", "A=b", "prog"},
                        {"hosts", "a,b", "prog"},
                        {"f", "hosts.txt", "prog"},
                        {"wdir", "/tmp", "prog"},
                        {"bind-to", "core:2", "prog"},
                        {"track", "folder", "prog"},
                        {"report", "a.html", "prog"},
                        {"check-report", "a.json", "prog"},
                        {"fuzz", "8", "-nfg 2 prog"},
                        {"resume", "file", ""},
                        {"replay", "file", "prog"},
                        {"record", "file", "-nfg 2 prog"},
                        {"rewind", "file", "-events 3 -call MPI_Recv"},
                        {"rewind", "file", "gdb -q"},
                        {"goto", "7", "-rewind file"},
                        {"checkpoint", "folder", "-n 2 prog"},
                        {"checkpoint-every", "10m", "-checkpoint folder prog"},
                        {"restart", "folder", "-n 2"},
                        {"explore-files", "*.txt", "-explore prog"}};
  auto all_of = [](const std::string& line) {
    LaunchPlan plan;
    const Status made = make_plan(words(line), kSetting, &plan);
    if (!made.ok()) return "error: " + made.what();
    return joined(plan.hydra) + "|" + joined(plan.check_reports) + "|" + plan.report.file + "|" +
           plan.replay + "|" + plan.record.file + joined(plan.record.program) + "|" +
           plan.rewind.file + plan.rewind.call + joined(plan.rewind.debugger) +
           std::to_string(plan.rewind.rank) + std::to_string(plan.rewind.event) + "|" +
           plan.explore.resumed + "|" + joined(plan.explore.files) + "|" +
           std::to_string(plan.explore.seeds) + "|" + std::to_string(plan.names_hosts) + "|" +
           plan.checkpoint.folder + "|" + plan.checkpoint.restart + "|" +
           std::to_string(plan.checkpoint.every_ms);
  };
  for (const auto& [name, value, rest] : kOptions) {
    const std::string option = std::string("-") + name, behind = std::string(" ") + rest;
    const std::string expected = all_of(option + " " + value + behind);
    EXPECT_EQ(expected.find("error"), std::string::npos) << expected;
    for (const std::string& form :
         {"-" + option + " " + value, option + "=" + value, "-" + option + "=" + value}) {
      EXPECT_EQ(all_of(form + behind), expected) << form;
      // Arguments of the program are not arguments of mpiexec.
      EXPECT_EQ(plan_of("-n 2 prog " + form), "-n 2 prog " + form);
    }
    EXPECT_EQ(plan_of(option), "error: " + option + ": a value is missing behind it");
    EXPECT_EQ(plan_of(option + " : prog"), "error: " + option + ": a value is missing behind it");
  }
  for (const char* flag : {"ft", "disable-auto-cleanup", "summary", "progress", "dry-run", "l",
                           "prepend-rank", "oversubscribe", "check", "v"}) {
    const std::string option = std::string("-") + flag;
    const std::string expected = all_of(option + " -n 2 prog");
    EXPECT_EQ(expected.find("error"), std::string::npos) << expected;
    EXPECT_EQ(all_of("-" + option + " -n 2 prog"), expected);
    const std::string twice = plan_of(option + " " + option + " -n 2 a : " + option + " -n 1 b");
    EXPECT_EQ(twice.find("error"), std::string::npos) << twice;
    if (option == "-check") continue;
    EXPECT_EQ(plan_of(option + "=1 -n 2 prog"),
              "error: " + option + "=1: allowed is " + option + " without a value");
  }
  EXPECT_EQ(plan_of("-ft -ft -n 1 a : -ft -n 1 b"), "-disable-auto-cleanup -n 1 a : -n 1 b");
  EXPECT_EQ(plan_of("-n 2 -np 2 prog"), "-n 2 prog");
  EXPECT_EQ(plan_of("-n 2 -np=3 prog"),
            "error: -np=3: 2 has been given before; allowed is one number");
  EXPECT_EQ(plan_of("-nfg=3 -n=2 prog"), "-n 2 -env FGMPI_NFG 3 prog");
}

TEST(CommandLine, AConfigurationFileStandsForTheCommandLine) {
  const std::string file = testing::TempDir() + "config_file_" + std::to_string(getpid());
  auto plan_with = [&](const char* text, const std::string& line) {
    std::ofstream(file) << text;
    return plan_of(line);
  };
  const char* kTwo = "# two programs\n\n-n 2 -nfg=3 a x#y # the first\n  -n 1 -nfg 4 \\\n\tb\r\n";
  const std::string both = "-n 2 -env FGMPI_NFG 3 a x#y : -n 1 -env FGMPI_NFG 4 b";
  EXPECT_EQ(plan_with(kTwo, "-configfile " + file), both);
  EXPECT_EQ(plan_with(kTwo, "--configfile=" + file), both);
  EXPECT_EQ(plan_with(kTwo, "-genv A 1 -configfile " + file), "-genv A 1 " + both);
  EXPECT_EQ(plan_with(kTwo, "-configfile " + file + " -ft"), "-disable-auto-cleanup " + both);
  EXPECT_EQ(plan_with(kTwo, "-n 1 c : -configfile " + file + " : -n 1 d"),
            "-n 1 c : " + both + " : -n 1 d");
  EXPECT_EQ(plan_with("-ranks 6 a : -n 1 b", "-n 2 -configfile " + file),
            "-env FGMPI_APPNUM 0 -n 2 -env FGMPI_NFG 3 a : -n 1 b");
  EXPECT_EQ(plan_with(kTwo, "-n 3 -configfile " + file),
            "error: -n 2: 3 has been given before; allowed is one number");
  EXPECT_EQ(plan_with(kTwo, "-configfile " + file + " prog"),
            "error: -configfile " + file + ": prog stands behind it; allowed are options and ':'");
  EXPECT_EQ(plan_with(kTwo, "-configfile " + file + " -configfile " + file),
            "error: -configfile " + file + ": allowed is one file, which names no other");
  EXPECT_EQ(plan_with("# none\n", "-configfile " + file),
            "error: -configfile " + file + ": names no program; allowed is one on each line");
  EXPECT_EQ(plan_with("-n 1 a\n-n 2\n-n 3 b\n", "-configfile " + file),
            "error: no program given before ':'");
  unlink(file.c_str());
  EXPECT_EQ(plan_of("-configfile " + file),
            "error: -configfile " + file + ": cannot be read: No such file or directory");
  EXPECT_EQ(plan_of("-configfile /tmp"), "error: -configfile /tmp: cannot be read: Is a directory");
}

TEST(CommandLine, HelpAndVersionNeedNoProgram) {
  LaunchPlan plan;
  ASSERT_TRUE(make_plan(words("-n 2 --help"), kSetting, &plan).ok());
  EXPECT_EQ(plan.action, LaunchPlan::kHelp);
  ASSERT_TRUE(make_plan(words("-version"), kSetting, &plan).ok());
  EXPECT_EQ(plan.action, LaunchPlan::kVersion);
}

TEST(CommandLine, BadValuesAreNamedWithWhatIsAllowed) {
  const char* kNumber = "allowed is a number from 1 to";
  for (const char* line : {"-nfg 0 prog", "-nfg x prog", "-nfg -1 prog", "-nfg 1.5 prog",
                           "-n 0 prog", "-np 2x prog", "-ranks 99999999999 prog"}) {
    std::string said = plan_of(line);
    EXPECT_NE(said.find(kNumber), std::string::npos) << said;
    EXPECT_NE(said.find(words(line)[0] + " " + words(line)[1]), std::string::npos) << said;
  }
  EXPECT_EQ(plan_of("-nfg"), "error: -nfg: a value is missing behind it");
  EXPECT_EQ(plan_of("-genv A"), "error: -genv: a value is missing behind it");
  EXPECT_EQ(plan_of(""), "error: no program given (see mpiexec -help)");
  EXPECT_EQ(plan_of("-n 2"), "error: no program given (see mpiexec -help)");
  EXPECT_EQ(plan_of("-n 2 : prog"), "error: no program given before ':'");
  EXPECT_EQ(plan_of("prog :"), "error: no program given after ':'");
  EXPECT_EQ(plan_of("-nfg 2 -ranks 3 prog"), "error: -nfg 2 and -ranks 3: allowed is one of them");
  EXPECT_EQ(plan_of("-n 4 -ranks 3 prog"),
            "error: -ranks 3 with -n 4: allowed is at least one rank for each process");
}

TEST(CommandLine, CheckpointsRefuseWhatTheyDoNotKnow) {
  for (const char* line :
       {"-checkpoint a -check p", "-checkpoint a -report r.html p", "-checkpoint a -track b p",
        "-checkpoint a -explore p", "-checkpoint a -predict m p", "-checkpoint a -n 2 p : -n 2 q",
        "-checkpoint-every 3s p", "-restart-on-failure p", "-checkpoint a -checkpoint-every 3d p",
        "-checkpoint a -checkpoint-every 0 p", "-checkpoint a -checkpoint-every m p",
        "-checkpoint a -checkpoint b p", "-restart a p", "-restart a -nfg 2", "-restart a -ranks 2",
        "-restart a -summary"}) {
    const std::string made = plan_of(line);
    EXPECT_TRUE(made.starts_with("error: -")) << line << ": " << made;
  }
}

TEST(CommandLine, BalanceRefusesWhatItDoesNotKnow) {
  for (const char* line : {"-balance -check p", "-balance -track b p", "-balance -progress p",
                           "-balance -explore p", "-balance -predict m p", "-balance -record f p",
                           "-balance -checkpoint a p", "-balance -ft p"}) {
    const std::string made = plan_of(line);
    EXPECT_TRUE(made.starts_with("error: -")) << line << ": " << made;
  }
  EXPECT_EQ(plan_of("-balance=1 p"), "error: -balance=1: allowed is -balance without a value");
  EXPECT_EQ(plan_of("-balance -n 2 -nfg 3 p"), plan_of("-n 2 -nfg 3 p"));
  EXPECT_EQ(plan_of("-balance -summary -n 2 -nfg 3 p"), plan_of("-n 2 -nfg 3 p"));
  EXPECT_EQ(plan_of("-balance -report r.html -n 2 -nfg 3 p"), plan_of("-n 2 -nfg 3 p"));
}

TEST(CommandLine, Resize) {
  LaunchPlan plan;
  ASSERT_TRUE(make_plan(words("-resize 3 4711"), kSetting, &plan).ok());
  EXPECT_EQ(plan.action, LaunchPlan::kResize);
  EXPECT_EQ(plan.checkpoint.processes, 3);
  EXPECT_EQ(plan.checkpoint.pid, 4711);
  LaunchPlan leaving;
  ASSERT_TRUE(make_plan(words("-leave node3 4711"), kSetting, &leaving).ok());
  EXPECT_EQ(leaving.action, LaunchPlan::kLeave);
  EXPECT_EQ(leaving.checkpoint.leaves, "node3");
  EXPECT_EQ(leaving.checkpoint.pid, 4711);
  for (const char* line :
       {"-leave", "-leave a", "-leave a x", "-leave a 7 p", "-resize", "-resize 0 7", "-resize 3",
        "-resize 3 x", "-resize 3 0", "-resize 3 7 p"}) {
    LaunchPlan refused;
    EXPECT_FALSE(make_plan(words(line), kSetting, &refused).ok()) << line;
  }
}

TEST(CommandLine, TimesBetweenCheckpoints) {
  const std::pair<const char*, int64_t> kTimes[] = {
      {"500ms", 500}, {"7", 7000}, {"30s", 30'000}, {"10m", 600'000}, {"2h", 7'200'000}};
  for (const auto& [text, ms] : kTimes) {
    LaunchPlan plan;
    const std::string line = std::string("-checkpoint a -checkpoint-every ") + text + " p";
    ASSERT_TRUE(make_plan(words(line), kSetting, &plan).ok());
    EXPECT_EQ(plan.checkpoint.every_ms, ms) << text;
  }
}

TEST(CommandLine, RestartTakesProgramAndRanksFromTheCheckpoint) {
  Setting setting = kSetting;
  setting.checkpoint = [](const LaunchPlan::Checkpoint& wishes, RestartedProgram* program) {
    EXPECT_EQ(wishes.restart, "a");
    *program = {"/bin/prog", {"/bin/prog", "7"}, 10, 4};
    return Status();
  };
  const auto hydra_of = [&](const std::string& line) {
    LaunchPlan plan;
    EXPECT_TRUE(make_plan(words(line), setting, &plan).ok());
    EXPECT_EQ(plan.checkpoint.processes, line == "-restart a" ? 4 : 3);
    return joined(plan.hydra);
  };
  EXPECT_EQ(hydra_of("-restart a"), "-n 4 -env FGMPI_RANKS 10 /bin/prog 7");
  EXPECT_EQ(hydra_of("-restart a -n 3"), "-n 3 -env FGMPI_RANKS 10 /bin/prog 7");
}

TEST(CommandLine, RecordingRefusesWhatItDoesNotKnow) {
  for (const char* line : {"-record a -rewind b",
                           "-record a -n 2 p : -n 2 q",
                           "-record a -check p",
                           "-record a -ft p",
                           "-record a -report r.html p",
                           "-record a -predict m p",
                           "-record a -explore p",
                           "-record a -host h p",
                           "-record-inputs p",
                           "-rewind a -record-inputs",
                           "-record a -replay w -n 3 p",
                           "-rewind a -replay w",
                           "-rewind a -report b.html -events",
                           "-rewind a -summary",
                           "-rewind a -check -events",
                           "-rewind a -check -goto 3",
                           "-rewind a -check gdb",
                           "-rewind a -check -report b.html",
                           "-rewind a -report b.html gdb",
                           "-rewind a p",
                           "-rewind a -n 2",
                           "-rewind a -events -goto 2",
                           "-rewind a -goto 0",
                           "-rewind a -goto x",
                           "-events p",
                           "-goto 3 p",
                           "-call MPI_Send p",
                           "-rewind a -events gdb",
                           "-rewind a -comm x",
                           "-rewind a -events -partner x"}) {
    LaunchPlan plan;
    EXPECT_FALSE(make_plan(words(line), kSetting, &plan).ok()) << line;
  }
  LaunchPlan plan;
  ASSERT_TRUE(make_plan(words("-record a -n 3 -nfg 4 -env A b p q"), kSetting, &plan).ok());
  EXPECT_EQ(plan.record.ranks, 12);
  EXPECT_EQ(joined(plan.record.program), "p q");
  EXPECT_EQ(plan.record.variables.at(0), std::make_pair(std::string("A"), std::string("b")));
}

}  // namespace
}  // namespace fgmpi::launcher
