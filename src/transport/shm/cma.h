// Reads another process's memory (cross-memory attach): one copy, by the kernel, without help
// of the owner.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "transport/remote_memory.h"

namespace fgmpi::transport::shm {

/// Copies `length` bytes at `remote` of process `pid` to `local`. Returns kDone, kUnsupported (not
/// permitted, or no longer) or kFailed with the words in `why`. The peer gives the permission by
/// base/attach.h.
ReadResult read_memory(pid_t pid, uint64_t remote, void* local, size_t length, std::string* why);

}  // namespace fgmpi::transport::shm
