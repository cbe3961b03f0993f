// Ports (MPI-4.0 section 11.8.2): a name under which this process is found, and who has come to it.
//
// Thread rule: one thread; accept() may switch, the rest does not.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "dynamic/conversation.h"

namespace fgmpi::dynamic {

/// Errors: MPI_ERR_OTHER without sockets.
Status open_port(std::string* name);
/// Errors of all three: MPI_ERR_PORT for a name that is none, or not of a port that this process
/// has open.
Status close_port(const std::string& name);
/// What ends the wait of accept() beside a caller. Whoever sets `over` calls wake_acceptors().
struct AcceptLimit {
  bool over = false;
  int64_t deadline = INT64_MAX;  ///< of now_ns()
  int error_class = 0;
  const char* words = "";  ///< the error when it is over
  bool gone_too = false;   ///< takes callers that have said what they had to say and gone
};
void wake_acceptors();
/// The next process that has come to this port. May switch. Errors: those of `limit`, too.
Status accept(const std::string& name, const char* call, std::unique_ptr<Conversation>* out,
              const AcceptLimit* limit = nullptr);
/// A conversation with the process behind a port, which may not have accepted it yet.
Status call_port(const std::string& name, std::unique_ptr<Conversation>* out);

}  // namespace fgmpi::dynamic
