// mpiexec -rewind FILE -report PAGE: a page about a recorded run, made of its events alone.
//
// Its timeline has the events in their order, a row for each rank. A click on one shows the command
// that goes there. The page needs no other file. Thread rule: one thread.
#pragma once

#include <string>

#include "base/status.h"
#include "launcher/mpiexec/run_events.h"

namespace fgmpi::launcher {

struct RecordedPage {
  std::string recording;  ///< its file, as the commands name it
  std::string command;    ///< the program and its arguments
  std::string end;        ///< how the run ended
  uint32_t ranks = 0;
};

/// Writes the page. Errors: the file cannot be written.
Status write_recorded_page(const RecordedPage& about, RunEvents* events, const std::string& path);

}  // namespace fgmpi::launcher
