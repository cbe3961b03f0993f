// Ports (MPI-4.0 section 11.8.2): names under which other jobs find this process, and
// their callers.
//
// Thread rule: one thread; accept() may switch, the rest does not.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "dynamic/conversation.h"

namespace fgmpi::dynamic {

/// Opens a port. Errors: MPI_ERR_OTHER without sockets.
Status open_port(std::string* name);
/// Closes a port. Errors of this and of the functions below: MPI_ERR_PORT for a text that is no
/// port's name, or not of a port that this process has open.
Status close_port(const std::string& name);
/// A limit on the wait of accept() for a caller. Code that sets `over` must call wake_acceptors().
struct AcceptLimit {
  bool over = false;
  int64_t deadline = INT64_MAX;  ///< of now_ns()
  int error_class = 0;
  const char* words = "";       ///< the error when it is over
  bool accepts_closed = false;  ///< accepts callers that have sent all they had and closed
};
void wake_acceptors();
/// Accepts the next caller of this port. May switch. Errors: those of `limit`, too.
Status accept(const std::string& name, const char* call, std::unique_ptr<Conversation>* out,
              const AcceptLimit* limit = nullptr);
/// Begins a conversation with the process behind a port, which may not have accepted it yet.
Status call_port(const std::string& name, std::unique_ptr<Conversation>* out);

}  // namespace fgmpi::dynamic
