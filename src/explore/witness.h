// Witness: a file that says how to repeat an execution. Text:
//
//   fgmpi-witness 1
//   ranks 4
//   word ./app                                  the program and its arguments, a word a line
//   finding deadlock: ranks wait for ever       what it shows, for people
//   choice 3 match rank 0 operation 2 wants -2 5 context 44000000 source 3 tag 5 number 0
//
// The number behind "choice" is that of the choice point; at points that are not listed the first
// choice happens. The names are those of explore/choice.h. Words and findings are escaped
// (base/strings.h). Thread rule: none (values).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "explore/choice.h"

namespace fgmpi::explore {

struct Witness {
  uint32_t ranks = 0;
  std::vector<std::string> words;
  std::string finding;
  std::map<uint32_t, Choice> choices;  ///< by choice point

  std::string to_text() const;
  Status write(const std::string& path) const;
  /// Errors: MPI_ERR_FILE, which names the line and what is allowed.
  static Status read(const std::string& path, Witness* out);
  static Status parse(std::string_view text, Witness* out);
};

/// The index of the choice that is forced at this point, else 0. *missing, if given: it is not
/// possible here.
size_t index_of_forced(const std::map<uint32_t, Choice>& forced, uint32_t point,
                       const std::vector<Choice>& choices, bool* missing = nullptr);
/// The choice as a line of a witness has it, from its kind on.
std::string words_of(const Choice& choice);

}  // namespace fgmpi::explore
