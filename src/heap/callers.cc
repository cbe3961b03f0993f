// Finds out once for each place of a call whose memory it asks for.
#include "heap/callers.h"

#include <dlfcn.h>

#include <cstring>
#include <string_view>

namespace fgmpi::heap {

namespace {

/// Libraries whose memory is the process's, whoever calls them: those that the MPI library uses.
constexpr std::string_view kOfProcess[] = {
    "libc.so.",      "ld-linux",      "libmpich.so",  "libmpi.so", "libmpi_abi.so",
    "libfgmpi-",     "libfabric.so",  "libhwloc.so",  "libbdd.so", "libroaring.so",
    "libbz2.so",     "liburing.so",   "libudev.so",   "libpmi",    "libgcc_s.so",
    "libnuma.so",    "libibverbs.so", "librdmacm.so", "libefa.so", "libpsm",
    "libpthread.so", "libdl.so",      "libstdc++.so"};

/// Functions of these libraries that give their caller the memory.
constexpr std::string_view kForCaller[] = {
    "strdup",          "__strdup", "strndup",   "__strndup",  "wcsdup",
    "realpath",        "getcwd",   "getdelim",  "__getdelim", "_IO_getdelim",
    "getline",         "tsearch",  "__tsearch", "hcreate_r",  "_IO_default_pbackfail",
    "_IO_str_overflow"};
/// Strings and their streams, and streams of files, in C++'s library: beginnings of symbols.
constexpr std::string_view kStrings[] = {"_ZNSt7__cxx1112basic_string",
                                         "_ZNSs",
                                         "_ZNSbIw",
                                         "_ZNSt7__cxx1115basic_stringbuf",
                                         "_ZNSt13basic_filebuf",
                                         "_ZNSt12__basic_file"};

bool is_for_caller(const char* symbol, std::string_view module) {
  if (!symbol) return false;
  if (module.starts_with("libc.so.")) {
    for (std::string_view name : kForCaller)
      if (name == symbol) return true;
    return false;
  }
  if (!module.starts_with("libstdc++")) return false;
  // Exceptions, and operator new where a library has bound it by itself.
  const std::string_view name = symbol;
  if (name.starts_with("_Znw") || name.starts_with("_Zna") || name == "__cxa_allocate_exception")
    return true;
  for (std::string_view beginning : kStrings)
    if (name.starts_with(beginning)) return true;
  return false;
}

/// dladdr() may be interposed, and its code may allocate.
thread_local bool t_asks = false;

}  // namespace

bool Callers::find_out(uintptr_t at) {
  if (t_asks) return false;
  t_asks = true;
  Dl_info info{};
  bool for_rank = true;  // an image of the program, or code made at run time
  if (dladdr(reinterpret_cast<void*>(at - 1), &info) && info.dli_fname) {
    const char* slash = std::strrchr(info.dli_fname, '/');
    const std::string_view module = slash ? slash + 1 : info.dli_fname;
    for (std::string_view name : kOfProcess)
      if (module.starts_with(name)) for_rank = is_for_caller(info.dli_sname, module);
    // What these know of a rank goes where the rank goes: also the arguments that Fortran's library
    // has in C's form while it calls MPI, where ranks may move.
    if (module.starts_with("libfgmpi-checkpoint.so") || module.starts_with("libmpichfort.so"))
      for_rank = true;
  }
  t_asks = false;
  known_[slot_of(at)].store(at << 1 | (for_rank ? 0 : 1), std::memory_order_relaxed);
  return for_rank;
}

}  // namespace fgmpi::heap
