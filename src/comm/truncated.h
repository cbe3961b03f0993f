// The error of collectives whose data has another length than is expected.
// Thread rule: any thread; nothing here switches.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace fgmpi::comm {

/// MPI_ERR_TRUNCATE: `have` bytes were sent, `room` were expected.
Status truncated(int64_t have, int64_t room);

}  // namespace fgmpi::comm
