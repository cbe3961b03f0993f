// The search for the source line of an address.

#include "privatize/libc/source_lines.h"

#include <backtrace.h>
#include <stdio.h>

#include <mutex>
#include <string_view>

#include "base/plain_mutex.h"

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

backtrace_state* source_state() {
  static backtrace_state* const state =
      backtrace_create_state("/proc/self/exe", 0, ignore_error, nullptr);
  return state;
}

/// In which files the functions at an address are.
struct FoundFiles {
  bool any, own;  ///< own: one of them is no header of the system
};

int record_file(void* data, uintptr_t, const char* file, int, const char*) {
  auto* found = static_cast<FoundFiles*>(data);
  if (!file) return 0;
  found->any = true;
  const std::string_view name = file;
  found->own |= !name.starts_with("/usr/include/") && name.find("/include/c++/") == name.npos;
  return 0;
}

PlainMutex g_header_lock;

}  // namespace

bool find_source_line(uintptr_t address, char* text, size_t size) {
  FoundLine found{text, size, false};
  backtrace_state* const state = source_state();
  if (state) backtrace_pcinfo(state, address, record_innermost_line, ignore_error, &found);
  return found.any;
}

bool is_of_system_header(uintptr_t address) {
  const std::lock_guard<PlainMutex> lock(g_header_lock);
  FoundFiles found{false, false};
  backtrace_state* const state = source_state();
  if (state) backtrace_pcinfo(state, address, record_file, ignore_error, &found);
  return found.any && !found.own;
}

}  // namespace fgmpi::privatize
