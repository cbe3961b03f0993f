// Calls that the plugin puts in front of calls of MPI (plugin/facts.cc).
#include <dlfcn.h>

#include "gcc/access/look.h"

namespace fgmpi::access {
namespace {

Call g_call = nullptr;
bool g_call_searched = false;

}  // namespace
}  // namespace fgmpi::access

using namespace fgmpi::access;

FGMPI_ENTRY void fgmpi_access_call(const char* facts, const void* object, size_t bytes,
                                   const void* second, size_t second_bytes) {
  if (!g_call_searched) {
    g_call_searched = true;
    g_call = reinterpret_cast<Call>(dlsym(RTLD_DEFAULT, kCall));
  }
  if (!g_call) return;
  const ProgramCall call = {facts, {object, second}, {bytes, second_bytes}};
  g_call(&call);
}
