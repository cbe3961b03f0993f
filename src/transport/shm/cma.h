// Reading another process's memory (cross-memory attach): one copy, by the kernel, no help of the
// owner.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "transport/transport.h"

namespace fgmpi::transport::shm {

/// Lets processes of the same user read this one's memory where the kernel would otherwise allow
/// that to our ancestors only (Yama's ptrace_scope 1). To be called once per process.
void allow_reads_by_peers();

/// Copies `length` bytes at `remote` of process `pid` to `local`: kDone, kUnsupported (not
/// permitted, and nothing was read) or kFailed with the words in `why`.
ReadResult read_memory(pid_t pid, uint64_t remote, void* local, size_t length, std::string* why);

}  // namespace fgmpi::transport::shm
