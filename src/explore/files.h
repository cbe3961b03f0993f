// The files of an execution (mpiexec -explore-files GLOB): a working folder of its own, in which
// the compared files are private.
//
// An execution's folder replaces the program's working folder. Files that a pattern matches are
// copied into it, folders on the way to them are created, everything else is a link to the
// original. What the program creates there stays there. The folders above are replaced too, so that
// paths like ../input lead to the same file. With the working folder /A/B:
//
//   FOLDER/root, FOLDER/root/A      links to the contents of / (but A) and of /A (but B), and
//   FOLDER/root/A/B                 a link to /A/B
//   FOLDER/root/A/explored-PID      replaces /A/B in the execution of this process
//
// Patterns are relative to the working folder and match as in fnmatch(3), between slashes:
// results-*.txt, out/*. Thread rule: none (no shared state).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"

namespace fgmpi::explore {

using Patterns = std::vector<std::string>;

/// Errors: MPI_ERR_ARG for a pattern that is not relative.
Status check_pattern(const std::string& pattern);
/// The patterns as text, one on each line, and back.
std::string text_of(const Patterns& patterns);
Patterns read_patterns(const std::string& text);

/// Makes the replacements of the folders above the working folder.
void make_surroundings(const std::filesystem::path& folder);
/// The folder that replaces the working folder in this execution.
std::filesystem::path private_folder(const std::filesystem::path& folder, int pid);
/// Makes the folder `to`, which replaces `from`, an absolute path. Returns false where something
/// cannot be made (errno).
bool make_private(const std::filesystem::path& from, const std::filesystem::path& to,
                  const Patterns& patterns);

/// A file of an execution.
struct FileLeft {
  std::string name;  ///< relative to its folder
  std::string text;
};
/// The files in an execution's folder that a pattern matches, sorted by name.
std::vector<FileLeft> files_left(const std::filesystem::path& folder, const Patterns& patterns);

}  // namespace fgmpi::explore
