// How a failed check, or missing memory, ends the process: by one line that says where and why.

#include "base/assert.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/end_hooks.h"
#include "base/raw_call.h"

namespace fgmpi {

void check_failed(const char* file, int line, const char* expected) {
  // The words are written in two lines, past the C library's buffers: describe_caller() may crash
  // where memory is destroyed.
  char words[1024], who[256];
  auto print = [&](const char* format, auto... values) {
    const int length = std::snprintf(words, sizeof words, format, values...);
    if (length > 0)
      raw_call(SYS_write, STDERR_FILENO, reinterpret_cast<long>(words),
               std::min<long>(length, sizeof words - 1));
  };
  print("fgmpi: internal error at %s:%d: expected was that %s\n", file, line, expected);
  describe_caller(who, sizeof who);
  print(
      "fgmpi: %s%sa program that overwrites memory of the library (a buffer that is too small for "
      "what it receives, a wild pointer) ends so, too; if this one does not, please report the "
      "line above\n",
      who, *who ? "; " : "");
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
  announce_end(status);
  leave_end_mark();
  for (;;) syscall(SYS_exit_group, status);
}

}  // namespace fgmpi
