// What a process publishes about itself for the case that it is lost: its identity, and what its
// watcher (watch.h) needs.
#pragma once

#include <string>

namespace fgmpi::liveness {

/// "PID:LAUNCHERFD:ENDMARKFD:HOSTID:HOSTNAME". Descriptors are numbers in the process's own table.
struct Card {
  int pid = 0;
  int launcher_fd = -1;   ///< its connection to the launcher
  int end_mark_fd = -1;   ///< end_mark.h
  std::string host_id;    ///< equal for processes of one host
  std::string host_name;  ///< for messages

  std::string to_string() const;
  /// False for any other text.
  bool parse(const std::string& text);
};

/// Makes the card of this process, and its end mark.
Card own_card(int launcher_fd, const std::string& host_id);

}  // namespace fgmpi::liveness
