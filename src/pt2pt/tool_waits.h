// Waits of a rank that a tool in front of MPI can end before what they wait for has come
// (MPIX_Tool_await). They complete and receive nothing: the tool does that afterwards, by MPI's
// calls.
//
// Thread rule: inside. The waits may switch; interrupt() never does.
#pragma once

#include "pt2pt/pt2pt.h"

namespace fgmpi::pt2pt {

/// Called before the rank parks, with the address to give to interrupt(). 0: it does not park. May
/// be called several times in a wait.
using ToolBegins = int (*)(void* wait, void* argument);

/// Waits until all of these requests, or one of them, are complete; inactive ones count as such.
/// With no request at all it waits until it is interrupted. Returns false where it was.
bool await_requests(Request* const* requests, size_t count, bool all, const char* call,
                    ToolBegins begins, void* argument);
/// Waits until a message has arrived that the pattern covers. *interrupted: none has.
Status await_message(Endpoint* at, int32_t source, int32_t tag, uint64_t ctx, const char* call,
                     ToolBegins begins, void* argument, bool* interrupted);
/// Ends a wait. It has no effect where the rank is about to run already.
void interrupt(void* wait);

/// What a rank waits with, on its stack.
struct ToolWait : sched::Waiter {
  explicit ToolWait(sched::Proclet* proclet) : sched::Waiter{proclet, 0} {}
  bool interrupted = false;
};

}  // namespace fgmpi::pt2pt
