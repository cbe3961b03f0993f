// The picture of a witness: a page with a column for each rank, from top to bottom what happens in
// it.
//
// An arrow goes from the sender of a message to the rank that receives or sees it: grey where it
// could be no other, blue where there was a choice, red where the witness forces it. A choice
// without a message is a mark in its rank's column. The page needs no other file and no script.
// Thread rule: none (values).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explore/choice.h"

namespace fgmpi::explore {

struct Step {
  Choice choice;
  int32_t sender = -1;      ///< index of the rank that has sent the message; -1: none, or unknown
  bool decided = false;     ///< it was a choice point
  bool forced = false;      ///< by the witness
  size_t alternatives = 0;  ///< of the choice point, itself among them
};

/// `title` and `text` are what was found.
std::string picture_of(uint32_t ranks, const std::vector<Step>& steps, const std::string& title,
                       const std::string& text);

}  // namespace fgmpi::explore
