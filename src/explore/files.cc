// An execution's own folder, and the files in it that are compared.

#include "explore/files.h"

#include <fnmatch.h>
#include <mpi.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/strings.h"

namespace fgmpi::explore {
namespace {

namespace fs = std::filesystem;

bool matches(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) == 0;
}

/// The remainders of the patterns below a folder of this name.
Patterns below(const Patterns& patterns, const std::string& name) {
  Patterns rest;
  for (const std::string& pattern : patterns) {
    const size_t slash = pattern.find('/');
    if (slash != std::string::npos && matches(pattern.substr(0, slash), name))
      rest.push_back(pattern.substr(slash + 1));
  }
  return rest;
}

bool is_asked(const Patterns& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return pattern.find('/') == std::string::npos && matches(pattern, name);
  });
}

std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  std::error_code failed;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
    entries.push_back(*it);
  return entries;
}

void add_files(const fs::path& folder, const Patterns& patterns, const std::string& before,
               std::vector<FileLeft>* out) {
  for (const fs::directory_entry& entry : entries_of(folder)) {
    std::error_code failed;
    const std::string name = entry.path().filename().string();
    if (entry.is_symlink(failed)) continue;  // a link into the program's own working folder
    if (entry.is_directory(failed)) {
      if (const Patterns rest = below(patterns, name); !rest.empty())
        add_files(entry.path(), rest, before + name + "/", out);
    } else if (entry.is_regular_file(failed) && is_asked(patterns, name)) {
      std::ifstream in(entry.path(), std::ios::binary);
      out->push_back({before + name, {std::istreambuf_iterator<char>(in), {}}});
    }
  }
}

}  // namespace

Status check_pattern(const std::string& pattern) {
  const std::string in_slashes = "/" + pattern + "/";
  const bool good =
      !pattern.empty() && pattern.front() != '/' && pattern.back() != '/' &&
      pattern.find('\n') == std::string::npos && in_slashes.find("/../") == std::string::npos &&
      in_slashes.find("/./") == std::string::npos && in_slashes.find("//") == std::string::npos;
  if (good) return {};
  return error(
      MPI_ERR_ARG,
      "-explore-files \"%s\": allowed are names of files in the working folder or below it, "
      "with *, ? and [...], and without . and ..",
      escaped(pattern).c_str());
}

std::string text_of(const Patterns& patterns) {
  std::string text;
  for (const std::string& pattern : patterns) text += pattern + "\n";
  return text;
}

Patterns read_patterns(const std::string& text) {
  Patterns patterns;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) patterns.push_back(line);
  return patterns;
}

fs::path private_folder(const fs::path& folder, int pid) {
  std::error_code failed;
  const fs::path here = fs::current_path(failed).relative_path();
  return (folder / "root" / here).parent_path() / ("explored-" + std::to_string(pid));
}

void make_surroundings(const fs::path& folder) {
  std::error_code failed;
  fs::path real = "/", stand_in = folder / "root";
  for (const fs::path& next : fs::current_path(failed).relative_path()) {
    fs::create_directory(stand_in, failed);
    for (const fs::directory_entry& entry : entries_of(real))
      if (entry.path().filename() != next)
        fs::create_symlink(entry.path(), stand_in / entry.path().filename(), failed);
    real /= next;
    stand_in /= next;
  }
  // Other paths may lead to the working folder by its own name.
  fs::create_symlink(real, stand_in, failed);
}

bool make_private(const fs::path& from, const fs::path& to, const Patterns& patterns) {
  std::error_code failed;
  if (!fs::create_directory(to, failed)) return false;
  for (const fs::directory_entry& entry : entries_of(from)) {
    const std::string name = entry.path().filename().string();
    std::error_code unknown;
    const Patterns rest = below(patterns, name);
    if (!rest.empty() && entry.is_directory(unknown) && !entry.is_symlink(unknown)) {
      if (!make_private(entry.path(), to / name, rest)) return false;
    } else if (is_asked(patterns, name) && entry.is_regular_file(unknown)) {
      fs::copy_file(entry.path(), to / name, failed);
    } else {
      fs::create_symlink(entry.path(), to / name, failed);
    }
    if (failed) return false;
  }
  return true;
}

std::vector<FileLeft> files_left(const fs::path& folder, const Patterns& patterns) {
  std::vector<FileLeft> files;
  add_files(folder, patterns, "", &files);
  std::sort(files.begin(), files.end(),
            [](const FileLeft& a, const FileLeft& b) { return a.name < b.name; });
  return files;
}

}  // namespace fgmpi::explore
