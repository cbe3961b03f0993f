// The explorer: runs executions of a program until the tree of choices is explored, and
// reports the findings.
//
// The explorer listens on a socket in its folder; explored processes connect to it
// (explore/agent.h). The first process is the starting point of all executions. Executions that
// have run for a while since their starting point become starting points themselves, so that the
// earlier part of the program need not run again. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "explore/files.h"

namespace fgmpi::explore {

struct ExploredProgram {
  std::vector<std::string> words;                              ///< the program and its arguments
  std::vector<std::pair<std::string, std::string>> variables;  ///< set for the program only
  uint32_t ranks = 1;
  Patterns files;  ///< files that are compared (explore/files.h)
};

/// The name of the file for an exploration that has not reached its end, by the
/// name of its program.
std::string name_of_saved(const ExploredProgram& program);
/// The program of such a file. Errors: MPI_ERR_FILE.
Status read_saved(const std::string& path, ExploredProgram* out);

struct ExplorationBounds {
  uint64_t executions = 0;  ///< at most this many; 0: all
  int64_t seconds = 0;      ///< at most this long; 0: until the end
  /// The number of seeds of a random scheduler (fuzz.h) in place of the tree of
  /// choices; 0: the tree.
  uint64_t fuzz = 0;
  std::string resumed;  ///< the file of an exploration to continue; empty: a new one
  uint32_t jobs = 1;    ///< executions that run at the same time
};

/// Explores and writes everything to standard output and errors. Returns mpiexec's exit status: 86
/// with findings. `folder`: an empty folder for the explorer, which the caller removes afterwards.
/// `checker`: the library that finds errors.
Status explore(const ExploredProgram& program, const ExplorationBounds& bounds,
               const std::string& folder, int* exit_status);

}  // namespace fgmpi::explore
