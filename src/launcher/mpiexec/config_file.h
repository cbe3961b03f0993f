// The file of -configfile: each line has the options and the words of a program, as the command
// line would (MPI-4.1, 11.5).
//
//   # a comment
//   -n 2 -nfg 100 ./master input.txt
//   -n 4 -nfg 500 ./worker -fast
//
// As in hydra's files, words are separated by blanks, without quotes; "#" at the beginning of a
// word begins a comment; and a line may hold several programs with ":" between them. A line with a
// backslash at its end continues in the next line.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace fgmpi::launcher {

/// Appends the file's words, with ":" between the programs. An error names the file and the reason
/// why it cannot be read.
Status read_config_file(const std::string& name, std::vector<std::string>* words);

}  // namespace fgmpi::launcher
