// The look of an entry point at the module's view, and the way to the checker where it is not
// enough.

#include "gcc/access/look.h"

#include <dlfcn.h>

namespace fgmpi::access {

View g_view;

namespace {

Look g_checker = nullptr;
Touches g_touches = nullptr;  ///< found with it
bool g_searching = false;     ///< for the checker: what the search itself accesses is not looked at

/// No access of this module is looked at any more.
void close_view() {
  for (uintptr_t& length : g_view.length) length = 0;
}

[[gnu::noinline]] void tell(const Access& access) {
  if (!g_checker) {
    if (g_searching) return;
    g_searching = true;
    g_checker = reinterpret_cast<Look>(dlsym(RTLD_DEFAULT, kLook));
    g_touches = reinterpret_cast<Touches>(dlsym(RTLD_DEFAULT, kTouches));
    g_searching = false;
    if (!g_checker) return close_view();
  }
  g_checker(&g_view, &access);
}

/// A library is closed or a rank ends: the checker must not write to the view any more.
[[gnu::destructor]] void module_goes() {
  close_view();
  if (!g_checker) return;
  if (auto forget = reinterpret_cast<Forget>(dlsym(RTLD_DEFAULT, kForget))) forget(&g_view);
  g_searching = true;
  g_checker = nullptr;
  g_touches = nullptr;
}

}  // namespace

void look_closer(uintptr_t address, size_t bytes, bool writes, bool reads, const void* place) {
  const uint8_t* filter = g_view.filter;
  if (filter && !filter[granule(address)] && !filter[granule(address + bytes - 1)]) return;
  tell({address, bytes, writes, reads, nullptr, place});
}

void look_at_range(uintptr_t address, size_t bytes, bool writes, const void* place,
                   const char* function) {
  const uintptr_t low = g_view.low[writes], high = low + g_view.length[writes];
  const bool all = g_view.length[writes] == ~uintptr_t{0};
  if (!all && (address >= high || address + bytes <= low + kMost - 1)) return;
  if (g_view.filter && bytes <= uintptr_t{1} << kGranuleBits && !g_view.filter[granule(address)] &&
      !g_view.filter[granule(address + bytes - 1)])
    return;
  tell({address, bytes, writes, !writes, function, place});
}

/// Something in a loop's range may be owned: the loop needs the calls of its accesses.
static bool touches(uintptr_t low, size_t bytes, bool writes) {
  const uintptr_t first = g_view.low[writes], length = g_view.length[writes];
  if (length == 0) return false;
  // The checker is found and told of the view by an access: the loop runs with its calls.
  if (length == ~uintptr_t{0} || !g_touches) return true;
  if (low - first >= length && first - low >= bytes) return false;
  return g_touches(&g_view, low, bytes, writes);
}

}  // namespace fgmpi::access

using namespace fgmpi::access;

// What the plugin puts into programs: an access that begins where the view says "perhaps", and the
// question of a loop.
FGMPI_ENTRY void fgmpi_access_read(void* at, size_t bytes) {
  look_closer(reinterpret_cast<uintptr_t>(at), bytes, false, true, FGMPI_PLACE);
}
FGMPI_ENTRY void fgmpi_access_write(void* at, size_t bytes) {
  look_closer(reinterpret_cast<uintptr_t>(at), bytes, true, false, FGMPI_PLACE);
}
FGMPI_ENTRY int fgmpi_access_touches(uintptr_t low, size_t bytes, int writes) {
  return touches(low, bytes, writes);
}
