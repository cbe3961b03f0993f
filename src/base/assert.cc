#include "base/assert.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace fgmpi {

void check_failed(const char* file, int line, const char* text) {
  std::fprintf(stderr, "fgmpi: %s:%d: internal error: %s\n", file, line, text);
  std::fflush(stderr);
  std::abort();
}

void end_process(int status) {
  for (;;) syscall(SYS_exit_group, status);
}

}  // namespace fgmpi
