// The line of a site, by GCC's libbacktrace, which reads the debug information of one file.
#include <backtrace.h>
#include <cxxabi.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/elf_file.h"
#include "base/modules.h"
#include "readers/findings/report.h"

namespace fgmpi::findings {
namespace {

struct Found {
  SourceLine line;
  bool any = false;    ///< a line was found
  bool final = false;  ///< it belongs to code that is not in a header of the system
};

std::string demangled(const char* name) {
  int failed = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &failed);
  std::string result = text ? text : name;
  std::free(text);
  return result;
}

/// The load address of the running program. libbacktrace takes the given file for this program.
uintptr_t own_base() { return program_module()->l_addr; }

/// False for a pipe, a device and the like, from which reading may never end.
bool is_regular(const std::string& path) {
  std::error_code failed;
  return std::filesystem::is_regular_file(path, failed);
}

/// Is the file position-independent, as shared libraries and most programs are?
bool is_relocated(const std::string& path) {
  ElfFile file;
  return file.open(path.c_str()) && file.header()->e_type == ET_DYN;
}

void ignore_error(void*, const char*, int) {}

/// Called for the function at the site and for those that it is inlined into, the innermost first.
/// The first one in the program's own code counts, such as the caller of std::copy.
int record_line(void* data, uintptr_t, const char* file, int line, const char* function) {
  auto* found = static_cast<Found*>(data);
  if (!file || found->final) return 0;
  found->final = !is_system_header(file);
  if (found->any && !found->final) return 0;
  found->any = true;
  found->line = {file, line, function ? demangled(function) : ""};
  return 0;
}

void record_symbol(void* data, uintptr_t, const char* name, uintptr_t, uintptr_t) {
  if (name) static_cast<Found*>(data)->line.function = demangled(name);
}

}  // namespace

bool is_system_header(std::string_view file) {
  return file.starts_with("/usr/include/") || file.find("/include/c++/") != file.npos;
}

SourceLine find_line(const Site& site) {
  // libbacktrace never frees a state and does not copy the name, so there is one state for each
  // file, stored with its name.
  static std::map<std::string, backtrace_state*> states;
  auto [at, fresh] = states.try_emplace(site.path, nullptr);
  if (fresh && is_regular(site.path))
    at->second = backtrace_create_state(at->first.c_str(), 0, ignore_error, nullptr);
  if (!at->second) return {};
  const uintptr_t pc = site.offset + (is_relocated(site.path) ? own_base() : 0);
  Found found;
  backtrace_pcinfo(at->second, pc, record_line, ignore_error, &found);
  if (!found.any) backtrace_syminfo(at->second, pc, record_symbol, ignore_error, &found);
  return found.line;
}

}  // namespace fgmpi::findings
