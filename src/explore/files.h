// Files of an execution (mpiexec -explore-files GLOB): a working folder of its own, in which what
// is compared is private.
//
// An execution's folder stands for the program's working folder: files that a pattern matches are
// copies, folders on the way to them are folders, everything else is a link to what is there. What
// the program makes in it stays there. The folders above are stood for, too, so that paths like
// ../input lead to what they led to. With the working folder /A/B:
//
//   FOLDER/root, FOLDER/root/A      links to what is in / (but A) and in /A (but B), and
//   FOLDER/root/A/B                 a link to /A/B
//   FOLDER/root/A/explored-PID      stands for /A/B in the execution of this process
//
// Patterns are relative to the working folder, as fnmatch(3) has them, between slashes:
// results-*.txt, out/*. Thread rule: none (no shared state).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"

namespace fgmpi::explore {

using Patterns = std::vector<std::string>;

/// Errors: MPI_ERR_ARG for what is no relative pattern.
Status check_pattern(const std::string& pattern);
/// As text, and back: a line each.
std::string text_of(const Patterns& patterns);
Patterns read_patterns(const std::string& text);

/// Makes what stands for the folders above the working folder.
void make_surroundings(const std::filesystem::path& folder);
/// What stands there for the working folder in this execution.
std::filesystem::path private_folder(const std::filesystem::path& folder, int pid);
/// Makes `to`, which stands for `from`, an absolute path. False: something cannot be made (errno).
bool make_private(const std::filesystem::path& from, const std::filesystem::path& to,
                  const Patterns& patterns);

/// A file of an execution.
struct FileLeft {
  std::string name;  ///< relative to its folder
  std::string text;
};
/// What an execution has left in its folder that a pattern matches, by name.
std::vector<FileLeft> files_left(const std::filesystem::path& folder, const Patterns& patterns);

}  // namespace fgmpi::explore
