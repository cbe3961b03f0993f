// Witness: a file that describes how to repeat an execution. Text:
//
//   fgmpi-witness 1
//   ranks 4
//   word ./app                                  the program and its arguments, a word a line
//   finding deadlock: ranks wait for ever       the finding, for people
//   choice 3 match rank 0 operation 2 wants -2 5 context 44000000 source 3 tag 5 number 0
//
// The number behind "choice" is that of the choice point. At points that are not listed the first
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
  /// Errors: MPI_ERR_FILE; the text names the line and what is allowed.
  static Status read(const std::string& path, Witness* out);
  static Status parse(std::string_view text, Witness* out);
};

/// The index of the choice that the witness forces at this point, 0 where it forces none. *missing,
/// if given, is set where the forced choice is not possible.
size_t index_of_forced(const std::map<uint32_t, Choice>& forced, uint32_t point,
                       const std::vector<Choice>& choices, bool* missing = nullptr);
/// The choice in the words of a witness, from its kind on.
std::string words_of(const Choice& choice);

}  // namespace fgmpi::explore
