#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "base/hash.h"
#include "base/strings.h"
#include "check/findings/spool.h"
#include "readers/findings/files.h"
#include "readers/findings/null_ranks.h"
#include "readers/findings/report.h"

namespace fgmpi::findings {
namespace {

/// A folder that is removed at the end of the test.
struct Folder {
  Folder() {
    char name[] = "/tmp/findings-test-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

std::string text_in(const std::string& folder) {
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    text.append(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return text;
}

Finding finding(FindingKind kind, const std::string& sentence, int64_t rank, bool note = false) {
  return {kind, sentence, "something else", {{rank, "MPI_Send", "dest=1", 0, ""}}, note};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Kinds, Parse) {
  uint32_t mask = 0;
  EXPECT_EQ(parse_kinds("leaks,types", &mask), "");
  EXPECT_EQ(mask, bit_of(FindingKind::kLeaks) | bit_of(FindingKind::kTypes));
  EXPECT_EQ(parse_kinds("all", &mask), "");
  EXPECT_EQ(mask, kAllKinds);
  EXPECT_EQ(parse_kinds("leaks,nonsense", &mask), "nonsense");
  EXPECT_EQ(parse_kinds("leaks,,types", &mask), "(nothing)");
}

TEST(Report, JoinsRanksOfAllProcesses) {
  Folder one, two;
  {
    Spool a, b;
    a.open(one.path);
    b.open(two.path);
    for (int64_t rank : {0, 1, 1}) a.add(finding(FindingKind::kLeaks, "it leaks", rank));
    b.add(finding(FindingKind::kLeaks, "it leaks", 7));
    b.add(finding(FindingKind::kTypes, "it differs", 7));
  }
  FindingReport report;
  report.read(one.path);
  report.read(two.path);
  EXPECT_EQ(report.count(), 2u);
  EXPECT_TRUE(has(report.to_text(), "of rank 0 and 2 others")) << report.to_text();
  EXPECT_TRUE(has(report.to_json(), "\"ranks\": [0, 1, 7]")) << report.to_json();
  EXPECT_TRUE(has(report.to_text(), "2 findings"));
}

TEST(Report, NotesAreNotCounted) {
  Folder folder;
  Spool spool;
  spool.open(folder.path);
  spool.add(finding(FindingKind::kRaces, "it may race", 3, true));
  FindingReport report;
  report.read(folder.path);
  EXPECT_EQ(report.count(), 0u);
  EXPECT_EQ(report.notes(), 1u);
  EXPECT_TRUE(has(report.to_text(), "races (note): it may race")) << report.to_text();
  EXPECT_TRUE(has(report.to_text(), "fgmpi: check: 1 note\n"));
  EXPECT_TRUE(has(report.to_sarif(), "\"level\": \"note\""));
}

TEST(Report, WhatIsWithdrawnIsForgottenOfThatProcessOnly) {
  Folder one, two;
  Spool a, b;
  a.open(one.path);
  b.open(two.path);
  const uint64_t key = a.add(finding(FindingKind::kDeadlock, "they wait", 0));
  a.add(finding(FindingKind::kDeadlock, "they wait", 1));
  a.withdraw(key);
  FindingReport gone;
  gone.read(one.path);
  EXPECT_EQ(gone.count(), 0u) << gone.to_text();
  EXPECT_EQ(gone.to_text(), "");
  b.add(finding(FindingKind::kDeadlock, "they wait", 5));
  FindingReport left;
  left.read(one.path);
  left.read(two.path);
  EXPECT_EQ(left.count(), 1u);
  EXPECT_TRUE(has(left.to_json(), "\"ranks\": [5]")) << left.to_json();
}

/// Consequences are left out whichever process has written the cause, and in whatever order the
/// files are read.
TEST(Report, ConsequencesAreLeftOutWhereTheirCauseIsKnown) {
  Folder folder;
  Spool a, b;
  a.open(folder.path);
  a.add_consequence(a.add(finding(FindingKind::kArguments, "it fails", 0)), 7);
  a.add_consequence(a.add(finding(FindingKind::kCollectives, "it fails, too", 0)), 8);
  FindingReport alone;
  alone.read(folder.path);
  EXPECT_EQ(alone.count(), 2u) << alone.to_text();
  Folder other;
  b.open(other.path);
  b.add(finding(FindingKind::kCollectives, "they differ", 1));
  b.add_cause(7);
  for (bool first : {true, false}) {
    FindingReport both;
    both.read_text(text_in(first ? other.path : folder.path));
    both.read_text(text_in(first ? folder.path : other.path));
    both.leave_out_consequences();
    EXPECT_EQ(both.count(), 2u) << both.to_text();
    EXPECT_FALSE(has(both.to_json(), "\"it fails\"")) << both.to_json();
    EXPECT_TRUE(has(both.to_json(), "\"it fails, too\"")) << both.to_json();
  }
}

TEST(Report, TextsComeBackAsTheyWere) {
  Folder folder;
  Spool spool;
  spool.open(folder.path);
  Finding f = finding(FindingKind::kArguments, "tab\tand line\nand \"quotes\" <b>", 1);
  f.calls.push_back({2, "MPI_Recv", "source=0", 0, "took\x1fit"});
  spool.add(f);
  FindingReport report;
  report.read(folder.path);
  EXPECT_EQ(report.count(), 1u);
  EXPECT_TRUE(has(report.to_html(), "&lt;b&gt;")) << report.to_html();
  EXPECT_FALSE(has(report.to_json(), "\t"));
}

/// Callers are read back with their call. Without source lines no caller's site replaces the call's
/// own.
TEST(Report, CallersComeBack) {
  Folder folder;
  Spool spool;
  spool.open(folder.path);
  Finding f = finding(FindingKind::kBuffers, "it is written", 1);
  f.calls[0].site = spool.add_site({"/bin/nothing", 0x10});
  f.calls[0].callers = {spool.add_site({"/bin/nothing", 0x20}), 7};
  f.calls[0].role = "is not complete";
  const uint64_t key = spool.add(f);
  FindingReport report;
  report.read(folder.path);
  report.resolve();
  ASSERT_EQ(report.count(), 1u);
  EXPECT_EQ(report.finding(key).calls[0].callers, f.calls[0].callers);
  EXPECT_EQ(report.finding(key).calls[0].site, f.calls[0].site);
  EXPECT_EQ(report.finding(key).calls[0].role, "is not complete");
}

TEST(Report, KnowsHeadersOfTheSystem) {
  EXPECT_TRUE(is_system_header("/usr/include/c++/12/bits/stl_algobase.h"));
  EXPECT_TRUE(is_system_header("/opt/gcc/include/c++/13/vector"));
  EXPECT_FALSE(is_system_header("/home/user/include/matrix.h"));
}

/// A process that is killed leaves a file that ends anywhere.
TEST(Report, ReadsFilesThatAreCutAnywhere) {
  Folder folder;
  {
    Spool spool;
    spool.open(folder.path);
    const uint64_t site = spool.add_site({"/bin/program", 0x1234});
    for (int64_t rank = 0; rank < 5; ++rank) {
      Finding f = finding(FindingKind::kMessages, "it is lost", rank);
      f.calls[0].site = site;
      spool.add(f);
    }
    spool.withdraw(spool.add(finding(FindingKind::kDeadlock, "they wait", 0)));
  }
  const std::string whole = text_in(folder.path);
  for (size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    FindingReport report;
    report.read_text(std::string_view(whole).substr(0, bytes));
    EXPECT_LE(report.count(), 2u);
    report.to_text();
    report.to_sarif();
  }
}

/// Arbitrary bytes are refused.
TEST(Report, ReadsAnything) {
  RandomSequence random(7);
  const std::string_view alphabet = "CDFNRSX 0123456789abcdef\t\x1f\n";
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (uint64_t n = random.next() % 200; n > 0; --n)
      text += alphabet[random.next() % alphabet.size()];
    FindingReport report;
    report.read_text(text);
    report.to_text();
    report.to_json();
    report.to_html();
  }
}

/// Compares random findings of several processes with a naive model, a map of sets.
TEST(Report, AgreesWithANaiveModel) {
  RandomSequence random(11);
  for (int round = 0; round < 20; ++round) {
    std::map<std::string, std::set<int64_t>> model;
    FindingReport report;
    for (int process = 0; process < 4; ++process) {
      Folder folder;
      std::map<std::string, std::set<int64_t>> of_process;
      {
        Spool spool;
        spool.open(folder.path);
        for (int i = 0; i < 30; ++i) {
          const std::string sentence = "s" + std::to_string(random.next() % 6);
          const auto rank = static_cast<int64_t>(random.next() % 10);
          const uint64_t key = spool.add(finding(FindingKind::kLeaks, sentence, rank));
          of_process[sentence].insert(rank);
          // A process does not add a finding again that it has withdrawn: both have one key.
          if (i == 29 && random.next() % 2) {
            spool.withdraw(key);
            of_process.erase(sentence);
          }
        }
      }
      report.read(folder.path);
      for (const auto& [sentence, ranks] : of_process)
        model[sentence].insert(ranks.begin(), ranks.end());
    }
    EXPECT_EQ(report.count(), model.size());
    const std::string json = report.to_json();
    for (const auto& [sentence, ranks] : model) {
      std::string list;
      for (int64_t rank : ranks) list += (list.empty() ? "" : ", ") + std::to_string(rank);
      EXPECT_TRUE(has(json, "\"sentence\": \"" + sentence +
                                "\", \"allowed\": \"something else\", \"ranks\": [" + list + "]"))
          << sentence << ": " << list << "\n"
          << json;
    }
  }
}

/// Returns the calls of each finding that follows from the steps of ranks.
std::vector<std::string> buffering(std::initializer_list<const char*> ranks) {
  UnbufferedRun run;
  NamedCalls calls;
  int rank = 0;
  for (const char* steps : ranks) run.add_steps(format("%d %s", rank++, steps));
  for (uint64_t key : {0xau, 0xbu, 0xcu})
    calls[key] = {{0, std::string(1, static_cast<char>('a' + key - 0xa)), "", key, ""}};
  std::vector<std::string> found;
  for (const Finding& f : run.find(calls)) {
    found.emplace_back();
    for (const Participant& p : f.calls)
      found.back() += format("%s%d ", p.call.c_str(), static_cast<int>(p.rank));
  }
  return found;
}

TEST(Unbuffered, HeadToHead) {
  using Found = std::vector<std::string>;
  // Both ranks send first; one receives first; both receives are posted before.
  EXPECT_EQ(buffering({"b.1 n.1.a t.2", "b.2 n.2.b t.1"}), (Found{"a0 b1 ", "b1 a0 "}));
  EXPECT_EQ(buffering({"b.1 n.1.a t.2", "t.1 g.1.c b.2 n.2.b"}), Found{});
  EXPECT_EQ(buffering({"p.1 m.1.2 b.1 n.1.a g.2.b", "p.1 m.1.1 b.2 n.2.b g.1.a"}), Found{});
  // The step that received a message is missing: it has been made.
  EXPECT_EQ(buffering({"b.1 n.1.a t.2", "b.2 n.2.b"}), Found{});
  EXPECT_EQ(buffering({"b.1 n.1.a t.1"}), Found{"a0 "});
}

TEST(Unbuffered, ThroughOthers) {
  using Found = std::vector<std::string>;
  EXPECT_EQ(buffering({"b.1 n.1.a e.9.0 a.9.0.b", "e.9.0 a.9.0.b t.1"}), Found{"a0 b1 "});
  EXPECT_EQ(buffering({"b.1 n.1.a e.9.0 a.9.0.b", "t.1 e.9.0 a.9.0.b"}), Found{});
  // The root of a broadcast waits for no rank.
  EXPECT_EQ(buffering({"b.1 n.1.a e.9.0", "e.9.0 r.9.0.0.b t.1"}), Found{"a0 b1 "});
  EXPECT_EQ(buffering({"b.1 n.1.a e.9.0 r.9.0.1.b", "e.9.0 t.1"}), Found{});
  EXPECT_EQ(buffering({"b.1 n.1.a b.2 n.2.a", "g.3.b t.1", "t.2 g.2.c b.3"}), Found{"a0 b1 "});
  // Each turn of a loop depends on buffering, and no turn hides the findings of later steps.
  EXPECT_EQ(buffering({"b.1 n.1.a t.2 b.3 n.3.a t.4 b.5 n.5.c t.5", "b.2 n.2.b t.1 b.4 n.4.b t.3"})
                .size(),
            5u);
}

TEST(Unbuffered, NothingButStepsIsTaken) {
  UnbufferedRun run;
  for (const char* line : {"", "x n.1", "0", "0 n", "0 n.", "0 q.1", "0 n.zz", "0 e.1", "0 r.1.2",
                           "0 n.1.2.3", "0 bb.1", "0 b.1.2"})
    run.add_steps(line);
  EXPECT_TRUE(run.find({}).empty());
}

/// Returns the calls of each finding that follows from accesses to files.
std::vector<std::string> of_files(std::initializer_list<const char*> accesses) {
  FileAccesses all;
  NamedCalls calls;
  for (uint64_t key : {0xau, 0xbu, 0xcu})
    calls[key] = {{0, std::string(1, static_cast<char>('a' + key - 0xa)), "", key, ""}};
  for (const char* access : accesses) all.add(access);
  std::vector<std::string> found;
  for (const Finding& f : all.find(calls)) {
    found.emplace_back();
    for (const Participant& p : f.calls)
      found.back() += format("%s%d ", p.call.c_str(), static_cast<int>(p.rank));
  }
  return found;
}

TEST(Files, AccessesThatMeet) {
  using Found = std::vector<std::string>;
  EXPECT_EQ(of_files({"1 0 w 0 0 0 a 0.8", "1 1 w 0 0 0 b 7.8"}), (Found{"a0 b1 "}));
  EXPECT_EQ(of_files({"1 0 w 0 0 0 a 0.8", "1 1 w 0 0 0 b 8.8"}), Found{});
  EXPECT_EQ(of_files({"1 0 w 0 0 0 a 0.4 20.4", "1 1 r 0 0 0 b 8.4 23.1"}), (Found{"a0 b1 "}));
  // No conflict: another file; one rank; reads; atomic mode.
  EXPECT_EQ(of_files({"1 0 w 0 0 0 a 0.8", "2 1 w 0 0 0 b 0.8"}), Found{});
  EXPECT_EQ(of_files({"1 0 w 0 0 0 a 0.8", "1 0 w 0 0 0 b 0.8"}), Found{});
  EXPECT_EQ(of_files({"1 0 r 0 0 0 a 0.8", "1 1 r 0 0 0 b 0.8"}), Found{});
  EXPECT_EQ(of_files({"1 0 w 1 0 0 a 0.8", "1 1 w 1 0 0 b 0.8"}), Found{});
  // One MPI_File_sync is between the accesses; or two, without and with communication between them.
  EXPECT_EQ(of_files({"1 0 w 0 0 0 a 0.8", "1 1 r 0 1 0 b 0.8"}), (Found{"a0 b1 "}));
  EXPECT_EQ(of_files({"1 0 w 0 0 0 a 0.8", "1 1 r 0 2 0 b 0.8"}), (Found{"a0 b1 "}));
  EXPECT_EQ(of_files({"1 0 w 0 0 0 a 0.8", "1 1 r 0 2 1 b 0.8"}), Found{});
  // Two calls give one finding, however often their accesses conflict.
  EXPECT_EQ(of_files({"1 0 w 0 0 0 a 0.8 10.8", "1 1 w 0 0 0 b 0.8 10.8", "1 2 r 0 0 0 c 0.1"}),
            (Found{"a0 b1 ", "a0 c2 ", "b1 c2 "}));
}

TEST(Files, NothingButAccessesIsTaken) {
  for (const char* line :
       {"", "1", "x 0 w 0 0 0 a 0.8", "1 0 w 0 0 0", "1 0 w 0 0 0 b zz", "1 0 w 0 0 0 b 1"})
    EXPECT_TRUE(of_files({"1 1 w 0 0 0 a 0.8", line}).empty()) << line;
}

/// Returns each note about ranks that pass -1, and their own rank plus a number.
std::vector<std::string> computed(const std::vector<std::string>& given) {
  NullRanks all;
  NamedCalls calls;
  for (int rank = 0; rank < 8; ++rank)
    calls[static_cast<uint64_t>(rank) + 1] = {{rank, "MPI_Recv", "", 1, ""}};
  for (const std::string& one : given) all.add(one);
  std::vector<std::string> found;
  for (const Finding& f : all.find(calls)) {
    EXPECT_TRUE(f.note);
    found.emplace_back();
    for (const Participant& p : f.calls)
      found.back() +=
          format("%d%s%s ", static_cast<int>(p.rank), p.role.empty() ? "" : " ", p.role.c_str());
  }
  return found;
}

TEST(NullRanks, LookComputedWhereAllGiveTheSameSum) {
  const std::string text = "0 1 gives its own rank minus 1 ";
  EXPECT_EQ(computed({"5 0 -1 1", "5 1 0 2", "5 2 1 3"}), std::vector{text});
  EXPECT_EQ(computed({"5 1 0 2", "5 0 -1 1"}), std::vector{text}) << "in any order";
  EXPECT_TRUE(computed({"5 0 -1 1"}).empty()) << "of one rank nothing is known";
  EXPECT_TRUE(computed({"5 0 -1 1", "6 1 0 2"}).empty()) << "another place";
  EXPECT_TRUE(computed({"5 0 -1 1", "5 1 0 2", "5 2 0 3"}).empty()) << "another sum";
  EXPECT_TRUE(computed({"5 0 1 1", "5 1 2 2"}).empty()) << "nobody gives -1";
  EXPECT_TRUE(computed({"5 0 -1 1", "5 1 0 2", "6 0 1 1", "6 1 -1 2"}).empty())
      << "MPI_PROC_NULL is known to the program";
}

TEST(NullRanks, NothingButRanksIsTaken) {
  EXPECT_TRUE(computed({"", "5", "5 0", "5 0 -1", "x 0 -1 1", "5 0 -1 y", "5 1 0 2"}).empty());
}

}  // namespace
}  // namespace fgmpi::findings
