#include "base/assert.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/farewell.h"

namespace fgmpi {

void check_failed(const char* file, int line, const char* text) {
  std::fprintf(stderr, "fgmpi: %s:%d: internal error: %s\n", file, line, text);
  std::fflush(stderr);
  say_farewell();
  std::abort();
}

void end_process(int status) {
  do_last_act(status);
  say_farewell();
  for (;;) syscall(SYS_exit_group, status);
}

}  // namespace fgmpi
