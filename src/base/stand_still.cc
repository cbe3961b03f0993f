#include "base/stand_still.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace fgmpi {

void stand_still(int64_t ns) {
  if (ns <= 0) return;
  timespec limit{ns / 1'000'000'000, ns % 1'000'000'000};
  syscall(SYS_ppoll, nullptr, 0, &limit, nullptr);
}

}  // namespace fgmpi
