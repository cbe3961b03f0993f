// The search for the source line of an address.

#include "privatize/libc/source_lines.h"

#include <backtrace.h>
#include <stdio.h>

namespace fgmpi::privatize {
namespace {

struct FoundLine {
  char* text;
  size_t size;
  bool any;
};

void ignore_error(void*, const char*, int) {}

/// libbacktrace calls this for the function at the address, then for each function that it is
/// inlined into. Only the first call, for the innermost function, writes the text.
int record_innermost_line(void* data, uintptr_t, const char* file, int line, const char*) {
  auto* found = static_cast<FoundLine*>(data);
  if (!file || found->any) return 0;
  snprintf(found->text, found->size, "%s:%d", file, line);
  found->any = true;
  return 0;
}

}  // namespace

bool find_source_line(uintptr_t address, char* text, size_t size) {
  static backtrace_state* const state =
      backtrace_create_state("/proc/self/exe", 0, ignore_error, nullptr);
  FoundLine found{text, size, false};
  if (state) backtrace_pcinfo(state, address, record_innermost_line, ignore_error, &found);
  return found.any;
}

}  // namespace fgmpi::privatize
