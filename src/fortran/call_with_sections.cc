// A call of mpi_f08 with array sections: prepares its buffers, calls libmpichfort's procedure and
// ends the call.

#include "fortran/call_with_sections.h"

#include <dlfcn.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/modules.h"
#include "fortran/code_range.h"
#include "fortran/section_call.h"
#include "mpi/binding.h"
#include "mpi/file/file.h"
#include "mpi/rma/win.h"
#include "privatize/load/real_loader.h"

namespace fgmpi::fortran {
namespace {

constexpr const char* kLibrary = "libmpichfort.so.12";  // as Debian and Fedora name it
constexpr const char* kUpstreamLibrary = "libmpifort.so.12";

template <class Body>
auto run_in_library(const char* call, Body&& body) {
  if (__builtin_expect(sched::outside(), 0)) return mpi::run_inside_here(call, body);
  return body();
}

/// Finds a symbol of libmpichfort by the library's handle. RTLD_NEXT would search the program's
/// scope only, which lacks the library if the program has loaded it with a plugin. The search goes
/// on in the libraries that libmpichfort needs: nullptr where it finds this library's procedure.
void* find_symbol(const char* call, const char* name) {
  using OpenLibrary = void*(const char*, int);
  using FindSymbol = void*(void*, const char*);
  static auto* const open = reinterpret_cast<OpenLibrary*>(privatize::real::function("dlopen"));
  static auto* const find = reinterpret_cast<FindSymbol*>(privatize::real::function("dlsym"));
  void* found = nullptr;
  run_in_library(call, [&] {
    sched::call_on_host([&] {
      void* library = open(kLibrary, RTLD_LAZY | RTLD_NOLOAD);
      if (!library) library = open(kUpstreamLibrary, RTLD_LAZY | RTLD_NOLOAD);
      found = find(library ? library : RTLD_NEXT, name);
    });
    return 0;
  });
  if (found && in_same_module(found, reinterpret_cast<const void*>(&find_symbol))) return nullptr;
  return found;
}

int fail(const Procedure& p, const Argument* arguments, const Status& status) {
  const auto handle = p.object == kAbsent ? 0 : *static_cast<const int*>(arguments[p.object]);
  if (p.object != kAbsent && p.answers == Answers::kWindow)
    if (rma::Win* win = rma::find(handle)) return mpi::fail(p.call, win, status);
  if (p.object != kAbsent && p.answers == Answers::kFile)
    if (file::File* file = file::find(MPI_File_f2c(handle))) return mpi::fail(p.call, file, status);
  const bool comm = p.object != kAbsent && p.answers == Answers::kCommunicator;
  return mpi::fail(p.call, comm ? comm::find(handle) : nullptr, status);
}

template <size_t... i>
[[gnu::always_inline]] inline void call_with(ProcedureCode* code, const Argument* arguments,
                                             std::index_sequence<i...> all) {
  as_procedure(code, all)(arguments[i]...);
}

/// Calls libmpichfort's procedure with kMostArguments arguments. A procedure with fewer parameters
/// does not read the others, and the caller removes them from the stack.
[[gnu::noinline]] FGMPI_FORTRAN_CODE void call_next(ProcedureCode* code,
                                                    const Argument* arguments) {
  call_with(code, arguments, std::make_index_sequence<kMostArguments>());
}

}  // namespace

ProcedureCode* find_next(const Procedure& procedure, unsigned number) {
  const std::string name = std::string(number % 2 ? "pmpir_" : "mpi_") + procedure.symbol;
  auto* code = reinterpret_cast<ProcedureCode*>(find_symbol(procedure.call, name.c_str()));
  constexpr std::string_view kLarge = "_c_f08ts_", kLargeOf4_0 = "_f08ts_large_";
  if (!code && name.ends_with(kLarge)) {
    const std::string older = name.substr(0, name.size() - kLarge.size()).append(kLargeOf4_0);
    code = reinterpret_cast<ProcedureCode*>(find_symbol(procedure.call, older.c_str()));
  }
  if (!code)
    mpi::abort_job(1, std::string("fgmpi: ") + procedure.call + ": " + kLibrary +
                          ", MPICH's Fortran binding, is not loaded or has no " + name +
                          "; link the program with mpifort");
  g_next[number].store(code, std::memory_order_release);
  return code;
}

FGMPI_FORTRAN_CODE void call_with_sections(const Procedure& procedure, unsigned number,
                                           Argument* arguments) {
  Argument passed[kMostArguments] = {};
  std::copy(arguments, arguments + procedure.arguments, passed);
  int code = MPI_SUCCESS;
  passed[procedure.error] = &code;
  SectionCall call(procedure, passed);
  const bool ready = run_in_library(procedure.call, [&] {
    const Status status = call.prepare();
    if (!status.ok()) code = fail(procedure, passed, status);
    return status.ok();
  });
  if (ready && procedure.direct) {
    code = procedure.direct(passed);
  } else if (ready) {
    next<0>(number);
    call_next(g_next[number].load(std::memory_order_relaxed), passed);
  }
  run_in_library(procedure.call, [&] {
    call.finish(ready, code);
    return 0;
  });
  if (auto* error = static_cast<int*>(arguments[procedure.error])) *error = code;
}

}  // namespace fgmpi::fortran

extern "C" {
[[gnu::visibility("hidden")]] extern const char __start_fgmpi_fortran[], __stop_fgmpi_fortran[];
const fgmpi::fortran::CodeRange fgmpi_fortran_code{__start_fgmpi_fortran, __stop_fgmpi_fortran};
}
