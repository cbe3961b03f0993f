#include "base/assert.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/end_hooks.h"

namespace fgmpi {

void check_failed(const char* file, int line, const char* text) {
  std::fprintf(stderr, "fgmpi: %s:%d: internal error: %s\n", file, line, text);
  std::fflush(stderr);
  leave_end_mark();
  std::abort();
}

void out_of_memory(const char* what, unsigned long long bytes) {
  if (bytes)
    std::fprintf(stderr, "fgmpi: process id %d: no memory for %llu bytes of %s\n", getpid(), bytes,
                 what);
  else
    std::fprintf(stderr, "fgmpi: process id %d: no memory for %s\n", getpid(), what);
  std::fflush(stderr);
  end_process(1);
}

void end_process(int status) {
  tell_others_of_end(status);
  leave_end_mark();
  for (;;) syscall(SYS_exit_group, status);
}

}  // namespace fgmpi
