// A sleep of the whole process by the system call, past the interposed functions.

#include "base/stand_still.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

namespace fgmpi {

void stand_still(int64_t ns) {
  if (ns <= 0) return;
  timespec limit = to_timespec(ns);
  syscall(SYS_ppoll, nullptr, 0, &limit, nullptr);
}

}  // namespace fgmpi
