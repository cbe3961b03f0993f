#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "base/hash.h"
#include "tools/findings/report.h"
#include "tools/findings/spool.h"

namespace fgmpi::findings {
namespace {

/// A folder that goes with the test.
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

Finding finding(Kind kind, const std::string& sentence, int64_t rank, bool note = false) {
  return {kind, sentence, "something else", {{rank, "MPI_Send", "dest=1", 0, ""}}, note};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Kinds, Parse) {
  uint32_t mask = 0;
  EXPECT_EQ(parse_kinds("leaks,types", &mask), "");
  EXPECT_EQ(mask, bit_of(Kind::kLeaks) | bit_of(Kind::kTypes));
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
    for (int64_t rank : {0, 1, 1}) a.add(finding(Kind::kLeaks, "it leaks", rank));
    b.add(finding(Kind::kLeaks, "it leaks", 7));
    b.add(finding(Kind::kTypes, "it differs", 7));
  }
  Report report;
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
  spool.add(finding(Kind::kRaces, "it may race", 3, true));
  Report report;
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
  const uint64_t key = a.add(finding(Kind::kDeadlock, "they wait", 0));
  a.add(finding(Kind::kDeadlock, "they wait", 1));
  a.withdraw(key);
  Report gone;
  gone.read(one.path);
  EXPECT_EQ(gone.count(), 0u) << gone.to_text();
  EXPECT_EQ(gone.to_text(), "");
  b.add(finding(Kind::kDeadlock, "they wait", 5));
  Report left;
  left.read(one.path);
  left.read(two.path);
  EXPECT_EQ(left.count(), 1u);
  EXPECT_TRUE(has(left.to_json(), "\"ranks\": [5]")) << left.to_json();
}

TEST(Report, TextsComeBackAsTheyWere) {
  Folder folder;
  Spool spool;
  spool.open(folder.path);
  Finding f = finding(Kind::kArguments, "tab\tand line\nand \"quotes\" <b>", 1);
  f.calls.push_back({2, "MPI_Recv", "source=0", 0, "took\x1fit"});
  spool.add(f);
  Report report;
  report.read(folder.path);
  EXPECT_EQ(report.count(), 1u);
  EXPECT_TRUE(has(report.to_html(), "&lt;b&gt;")) << report.to_html();
  EXPECT_FALSE(has(report.to_json(), "\t"));
}

/// A process that is killed leaves a file that ends anywhere.
TEST(Report, ReadsFilesThatAreCutAnywhere) {
  Folder folder;
  {
    Spool spool;
    spool.open(folder.path);
    const uint64_t site = spool.add_site({"/bin/program", 0x1234});
    for (int64_t rank = 0; rank < 5; ++rank) {
      Finding f = finding(Kind::kMessages, "it is lost", rank);
      f.calls[0].site = site;
      spool.add(f);
    }
    spool.withdraw(spool.add(finding(Kind::kDeadlock, "they wait", 0)));
  }
  const std::string whole = text_in(folder.path);
  for (size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    Report report;
    report.read_text(std::string_view(whole).substr(0, bytes));
    EXPECT_LE(report.count(), 2u);
    report.to_text();
    report.to_sarif();
  }
}

/// Bytes of nobody's: nothing but refusal.
TEST(Report, ReadsAnything) {
  RandomSequence random(7);
  const std::string_view alphabet = "FNRSX 0123456789abcdef\t\x1f\n";
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (uint64_t n = random.next() % 200; n > 0; --n)
      text += alphabet[random.next() % alphabet.size()];
    Report report;
    report.read_text(text);
    report.to_text();
    report.to_json();
    report.to_html();
  }
}

/// Random findings of several processes beside a map of sets.
TEST(Report, AgreesWithANaiveModel) {
  RandomSequence random(11);
  for (int round = 0; round < 20; ++round) {
    std::map<std::string, std::set<int64_t>> model;
    Report report;
    for (int process = 0; process < 4; ++process) {
      Folder folder;
      std::map<std::string, std::set<int64_t>> of_process;
      {
        Spool spool;
        spool.open(folder.path);
        for (int i = 0; i < 30; ++i) {
          const std::string sentence = "s" + std::to_string(random.next() % 6);
          const auto rank = static_cast<int64_t>(random.next() % 10);
          const uint64_t key = spool.add(finding(Kind::kLeaks, sentence, rank));
          of_process[sentence].insert(rank);
          // What was withdrawn does not come back in this process: its records carry one key.
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

}  // namespace
}  // namespace fgmpi::findings
