// The explorer: runs executions of a program until the tree of choices is explored, and says what
// was found.
//
// It listens on a socket in its folder; explored processes connect to it (explore/agent.h). The
// first one is the starting point of all; executions that have run for a while since their starting
// point become starting points themselves, so that what lies before is not run again. Thread rule:
// one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "explore/files.h"

namespace fgmpi::explore {

struct Program {
  std::vector<std::string> words;                              ///< the program and its arguments
  std::vector<std::pair<std::string, std::string>> variables;  ///< set for it only
  uint32_t ranks = 1;
  Patterns files;  ///< those that are compared (explore/files.h)
};

/// The file in which an exploration that has not come to its end is kept, by the name of its
/// program.
std::string name_of_saved(const Program& program);
/// The program of such a file. Errors: MPI_ERR_FILE.
Status read_saved(const std::string& path, Program* out);

struct Bounds {
  uint64_t executions = 0;  ///< at most so many; 0: all
  int64_t seconds = 0;      ///< at most so long; 0: until the end
  uint64_t fuzz = 0;  ///< not the tree of choices, but so many seeds of a random scheduler (fuzz.h)
  std::string resumed;  ///< the file of an exploration that goes on; empty: a new one
  uint32_t jobs = 1;    ///< executions at once
};

/// Explores, with everything written to standard output and errors, and returns mpiexec's exit
/// status: 86 with findings. `folder`: empty, its own, removed by the caller afterwards; `checker`:
/// the library that looks for errors.
Status explore(const Program& program, const Bounds& bounds, const std::string& folder,
               int* exit_status);

}  // namespace fgmpi::explore
