// The choice of private libraries among those that this program is linked with (libs.cmake), each
// of which has one reason, or none, to be private.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <map>
#include <random>

#include "base/modules.h"
#include "privatize/image/images.h"
#include "privatize/load/libraries.h"

extern "C" {
[[gnu::visibility("default")]] int variable_of_program = 1;
int call_mpi(), call_constant();
int call_blis(), call_plain();
}

namespace fgmpi::privatize {
namespace {

/// Calls one function of each library that the program calls. Never runs.
[[gnu::used]] int call_all() { return call_mpi() + call_constant() + call_blis() + call_plain(); }

/// The chosen libraries of this test with their reasons, by the middle of their names.
using Chosen = std::map<std::string, std::string>;

std::string middle(std::string_view file) {
  constexpr std::string_view kFront = "libchoice_";
  const size_t at = file.find(kFront);
  if (at == file.npos) return file.find("libblis-choice") == file.npos ? "" : "blis";
  file.remove_prefix(at + kFront.size());
  return std::string(file.substr(0, file.find('.')));
}

Chosen choose(const std::string& text, bool program_has_images, std::string* error = nullptr) {
  ElfModule program;
  EXPECT_TRUE(program.read(loaded_modules().front(), "/proc/self/exe", true).ok());
  LibraryWishes wishes;
  EXPECT_TRUE(parse_library_wishes(text, &wishes).ok());
  std::vector<PrivateLibrary> chosen;
  const Status status = choose_private_libraries(program, wishes, program_has_images, &chosen);
  if (error) *error = status.what();
  EXPECT_EQ(status.ok(), error == nullptr) << status.what();
  Chosen named;
  for (const PrivateLibrary& library : chosen) {
    const std::string name = middle(library.map->l_name);
    if (name.empty()) continue;
    EXPECT_TRUE(named.emplace(name, library.reason).second) << name << " is chosen twice";
  }
  return named;
}

TEST(Choice, EachLibraryHasItsReason) {
  const Chosen chosen = choose("auto", true);
  const Chosen expected = {
      {"mpi", "uses MPI and has variables"},
      {"user", "uses MPI and has variables"},  // it needs the library that uses MPI
      {"used", "libchoice_user.so uses its variable variable_of_used"},
      {"plain", "the program calls call_plain, and it has variables"},
      {"called", "libchoice_plain.so calls call_called, and it has variables"},
      {"refers", "refers to variable_of_program of the program"}};
  EXPECT_EQ(chosen, expected);
}

TEST(Choice, WithoutImagesOfTheProgramItsVariablesAreNoReasonAtFirst) {
  // Other libraries are private, so the program has images in the end.
  EXPECT_EQ(choose("auto", false), choose("auto", true));
  EXPECT_EQ(choose("none", false), Chosen());
}

TEST(Choice, NamesAreAddedAndRemoved) {
  EXPECT_EQ(choose("none,libchoice_idle.so", true),
            Chosen({{"idle", "FGMPI_PRIVATIZE_LIBS names it"}}));
  EXPECT_EQ(choose("none,libchoice_idle", true),
            Chosen({{"idle", "FGMPI_PRIVATIZE_LIBS names it"}}));
  EXPECT_EQ(choose("none,libchoice_idle,-libchoice_idle", true), Chosen());
  Chosen without = choose("auto", true);
  EXPECT_EQ(without.erase("plain"), 1u);
  EXPECT_EQ(choose("-libchoice_plain.so", true), without);
  EXPECT_EQ(choose("-libchoice_pla", true), choose("auto", true)) << "that is no whole name";
}

TEST(Choice, WhatCannotBePrivateIsNamed) {
  std::string words;
  choose("libc.so.6", true, &words);
  EXPECT_NE(words.find("FGMPI_PRIVATIZE_LIBS names libc.so.6, of which a process has one"),
            words.npos);
  choose("libnothing", true, &words);
  EXPECT_NE(words.find("FGMPI_PRIVATIZE_LIBS names libnothing, which the program does not load"),
            words.npos);
}

TEST(Choice, LibrariesThatStaySharedAreListed) {
  LibraryWishes wishes;
  const std::string all = shared_libraries_with_state(wishes, {});
  EXPECT_NE(all.find("libchoice_mpi.so"), all.npos);
  EXPECT_NE(all.find("libchoice_user.so"), all.npos);
  for (const char* name : {"constant", "plain", "idle", "used", "blis"})
    EXPECT_EQ(all.find(name), all.npos) << all;
  wishes.removed = {"libchoice_mpi"};
  const std::string rest = shared_libraries_with_state(wishes, {});
  EXPECT_EQ(rest.find("libchoice_mpi.so"), rest.npos);
  EXPECT_NE(rest.find("libchoice_user.so"), rest.npos);
  for (const link_map* map : loaded_modules())
    if (!middle(map->l_name).empty()) {
      EXPECT_TRUE(serves_program(map)) << map->l_name;
    }
}

// ---- Words and names ----------------------------------------------------------------------------

TEST(Wishes, AreThoseOfANaiveParser) {
  std::mt19937 random(2);
  const std::string words[] = {"auto",  "none",      "",           "libx",
                               "-libx", "liby.so.3", "-liby.so.3", "--"};
  for (int round = 0; round < 2000; ++round) {
    LibraryWishes expected;
    std::string text;
    for (uint32_t n = random() % 6; n > 0; --n) {
      const std::string& word = words[random() % std::size(words)];
      text += word + (n > 1 ? "," : "");
      if (word == "none") expected.automatic = false;
      if (word[0] == '-') expected.removed.push_back(word.substr(1));
      if (word[0] == 'l') expected.added.push_back(word);
    }
    LibraryWishes wishes;
    ASSERT_TRUE(parse_library_wishes(text, &wishes).ok()) << text;
    EXPECT_EQ(wishes.automatic, expected.automatic) << text;
    EXPECT_EQ(wishes.added, expected.added) << text;
    EXPECT_EQ(wishes.removed, expected.removed) << text;
  }
  for (const char* bad : {"-", "libx,-", "/lib/libx.so", "-/libx", "a/b,none"}) {
    LibraryWishes wishes;
    const Status status = parse_library_wishes(bad, &wishes);
    EXPECT_EQ(status.error_class(), MPI_ERR_ARG) << bad;
    EXPECT_NE(status.what().find("allowed are auto, none, file names"), std::string::npos);
  }
}

TEST(Names, LibrariesOfMpiAndOfTheProcess) {
  for (const char* name :
       {"libmpi.so.40", "libmpich.so.12", "libmpich.so", "libmpichfort.so.12", "libmpl.so"}) {
    EXPECT_TRUE(is_mpi_library(name)) << name;
    EXPECT_TRUE(is_one_per_process(name)) << name;
  }
  for (const char* name :
       {"libc.so.6", "ld-linux-x86-64.so.2", "libfgmpi-check.so", "libstdc++.so.6",
        "libunwind-x86_64.so.8", "libclang_rt.asan.so", "libprofiler.so.0"}) {
    EXPECT_FALSE(is_mpi_library(name)) << name;
    EXPECT_TRUE(is_one_per_process(name)) << name;
  }
  for (const char* name :
       {"libmpi_utils.so", "libmpichx.so", "libcc.so", "libz.so.1", "libcrypto.so.3", "mylibc.so.6",
        "", "libgfortran.so.5", "libscalapack-mpich.so"})
    EXPECT_FALSE(is_mpi_library(name) || is_one_per_process(name)) << name;
}

}  // namespace
}  // namespace fgmpi::privatize
