// The picture of a witness: a page with a column for each rank; time runs from top to bottom.
//
// An arrow goes from the sender of a message to the rank that receives or probes it: grey where no
// other message was possible, blue where there was a choice, red where the witness forces it. A
// choice without a message is a mark in its rank's column. The page needs no other file and no
// script. Thread rule: none (values).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explore/choice.h"

namespace fgmpi::explore {

struct ExecutionStep {
  Choice choice;
  int32_t sender = -1;      ///< index of the sending rank; -1: none, or unknown
  bool decided = false;     ///< the step was a choice point
  bool forced = false;      ///< the witness forces the choice
  size_t alternatives = 0;  ///< number of choices at the point, including this one
};

/// `title` and `text` describe the finding.
std::string picture_of(uint32_t ranks, const std::vector<ExecutionStep>& steps,
                       const std::string& title, const std::string& text);

}  // namespace fgmpi::explore
