// The parser of -configfile.

#include "launcher/mpiexec/config_file.h"

#include <mpi.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace fgmpi::launcher {
namespace {

/// Reads a line and the lines in which it continues; returns false at the end of the file.
bool next_line(std::istream& in, std::string* line) {
  line->clear();
  std::string part;
  while (std::getline(in, part)) {
    if (part.ends_with('\r')) part.pop_back();
    const bool goes_on = part.ends_with('\\');
    if (goes_on) part.back() = ' ';
    *line += part;
    if (!goes_on) return true;
  }
  return !line->empty();
}

}  // namespace

Status read_config_file(const std::string& name, std::vector<std::string>* words) {
  errno = 0;
  std::ifstream file(name);
  const size_t before = words->size();
  std::string line, word;
  while (file && next_line(file, &line)) {
    std::istringstream rest(line);
    for (bool begins = true; rest >> word && word[0] != '#'; begins = false) {
      if (begins && words->size() > before && words->back() != ":") words->push_back(":");
      words->push_back(word);
    }
  }
  if (!file.is_open() || file.bad())
    return error(MPI_ERR_ARG, "-configfile %s: cannot be read: %s", name.c_str(),
                 std::strerror(errno));
  if (words->size() == before)
    return error(MPI_ERR_ARG, "-configfile %s: names no program; allowed is one on each line",
                 name.c_str());
  return {};
}

}  // namespace fgmpi::launcher
