// The hook that runs for the request of a member of a meeting between the meeting's action and the
// request's completion. Thread rule: one thread.
#pragma once

#include "pt2pt/pt2pt.h"

namespace fgmpi::comm {

/// Called with the result in request->outcome, just before set_complete(). nullptr: no layer needs
/// it. The hook must not switch.
extern void (*g_before_complete)(pt2pt::Request* request);

}  // namespace fgmpi::comm
