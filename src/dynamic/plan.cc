// The plan of a spawn: commands and their info keys as sections for the launcher.

#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/environment.h"
#include "base/split.h"
#include "base/strings.h"
#include "dynamic/spawn.h"

namespace fgmpi::dynamic {
namespace {

Status bad_value(const std::string& key, const std::string& value, const char* allowed) {
  return error(MPI_ERR_INFO_VALUE, "info key %s is \"%s\"; allowed is %s", key.c_str(),
               escaped(value).c_str(), allowed);
}

bool may_execute(const std::string& path) {
  struct stat is;
  return stat(path.c_str(), &is) == 0 && S_ISREG(is.st_mode) && access(path.c_str(), X_OK) == 0;
}

/// Finds the program as a process in `wdir` would, with the folders of `path` (else of PATH).
/// Empty: there is none.
std::string where_found(const LauncherSection& s) {
  auto in_wdir = [&](const std::string& path) {
    return path[0] == '/' || s.wdir.empty() ? path : s.wdir + "/" + path;
  };
  if (s.program.find('/') != std::string::npos)
    return may_execute(in_wdir(s.program)) ? in_wdir(s.program) : "";
  const char* known = environment::text(environment::kPath);
  const std::string folders = !s.path.empty() ? s.path : known ? known : "/usr/bin:/bin";
  for (std::string_view folder : split(folders, ':'))
    if (std::string at = in_wdir((folder.empty() ? "." : std::string(folder)) + "/" + s.program);
        may_execute(at))
      return at;
  return "";
}

Status parse_variables(const std::string& value, LauncherSection* s) {
  for (std::string_view line : split(value, '\n')) {
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    if (equals == 0 || equals == line.npos)
      return bad_value("env", value, "NAME=VALUE, one a line");
    s->environment.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  return {};
}

Status parse_errhandler(const std::string& value, LauncherSection* s) {
  for (const char* known : {"mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"})
    if (value == known) return s->errhandler = value, Status();
  return bad_value("mpi_initial_errhandler", value,
                   "mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return");
}

Status parse_info_key(const std::string& key, const std::string& value, LauncherSection* s,
                      int64_t* each) {
  if (key == "nfg") {
    auto number = parse_int(value);
    if (!number || *number < 1 || *number > INT32_MAX)
      return bad_value(key, value, "a number of ranks in each process, from 1 on");
    *each = *number;
  } else if (key == "wdir") {
    struct stat is;
    if (stat(value.c_str(), &is) != 0 || !S_ISDIR(is.st_mode))
      return bad_value(key, value, "a folder");
    s->wdir = value;
  } else if (key == "path") {
    s->path = value;
  } else if (key == "host" || key == "hosts") {
    s->hosts = value;
  } else if (key == "hostfile") {
    s->hostfile = value;
  } else if (key == "bind_to") {
    s->bind_to = value;
  } else if (key == "env") {
    return parse_variables(value, s);
  } else if (key == "mpi_initial_errhandler") {
    return parse_errhandler(value, s);
  } else if (key == "fgmpi_where") {
    if (value != "here" && value != "processes") return bad_value(key, value, "here or processes");
  } else if (key == "soft") {
    int64_t number = 0;
    FGMPI_TRY(pick_soft(value, s->ranks, &number));
    if (number == 0)
      return error(MPI_ERR_SPAWN,
                   "info key soft is \"%s\", and maxprocs %lld; no number of the "
                   "list is at most that",
                   escaped(value).c_str(), static_cast<long long>(s->ranks));
    s->ranks = number;
  }
  return {};  // arch, file and others: not needed, as MPI allows
}

}  // namespace

Status pick_soft(const std::string& text, int64_t most, int64_t* out) {
  constexpr const char* kAllowed =
      "numbers and triplets first:last:stride, with commas between them";
  *out = 0;
  for (std::string_view word : split(text, ',')) {
    int64_t triplet[3] = {0, 0, 1};
    size_t fields = 0;
    for (std::string_view field : split(word, ':')) {
      auto number = parse_int(std::string(field));
      if (!number || fields == 3) return bad_value("soft", text, kAllowed);
      triplet[fields++] = *number;
    }
    if (fields == 1) triplet[1] = triplet[0];
    const int64_t first = triplet[0], last = triplet[1], stride = triplet[2];
    if (fields == 0 || stride == 0 || first < 0 || last < 0)
      return bad_value("soft", text, kAllowed);
    const int64_t low = std::min(first, last), high = std::max(first, last);
    if (stride > 0 ? first > last : first < last) continue;  // contains no number
    // The result is the greatest of first, first + stride, ... that is at most `most`.
    const int64_t step = stride > 0 ? stride : -stride;
    const int64_t base = stride > 0 ? first : first - (first - last) / step * step;
    if (base > std::min(high, most)) continue;
    const int64_t best = base + (std::min(high, most) - base) / step * step;
    if (best >= low) *out = std::max(*out, best);
  }
  return {};
}

Status plan(const Command& command, LauncherSection* out) {
  LauncherSection& s = *out;
  s.program = command.program;
  s.arguments = command.arguments;
  s.ranks = command.ranks;
  int64_t each = 1;
  for (const auto& [key, value] : command.info) FGMPI_TRY(parse_info_key(key, value, &s, &each));
  if (s.ranks < 1)
    return error(MPI_ERR_SPAWN, "maxprocs is %lld; allowed is 1 or more",
                 static_cast<long long>(s.ranks));
  s.processes = (s.ranks + each - 1) / each;
  // On other hosts the starters search for the program.
  std::string ignored;
  return s.hosts.empty() && s.hostfile.empty() ? find_program(s, &ignored) : Status();
}

Status find_program(const LauncherSection& section, std::string* path) {
  *path = where_found(section);
  if (!path->empty()) return {};
  return error(MPI_ERR_SPAWN, "command is \"%s\"; allowed is a program that may be executed",
               escaped(section.program).c_str());
}

}  // namespace fgmpi::dynamic
