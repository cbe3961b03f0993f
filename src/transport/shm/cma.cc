// The outcome of reading another process's memory.

#include "transport/shm/cma.h"

#include <cerrno>

#include "base/count_words.h"
#include "base/process_memory.h"
#include "base/strings.h"

namespace fgmpi::transport::shm {

ReadResult read_memory(pid_t pid, uint64_t remote, void* local, size_t length, std::string* why) {
  const size_t done = ProcessMemory(pid).read_long(remote, local, length);
  if (done == length) return ReadResult::kDone;
  if (errno == EPERM || errno == ENOSYS) return ReadResult::kUnsupported;
  *why = format("reading %s at 0x%llx of process id %d stopped after %zu: %m",
                count_words(length, "byte").c_str(), static_cast<unsigned long long>(remote), pid,
                done);
  return ReadResult::kFailed;
}

}  // namespace fgmpi::transport::shm
