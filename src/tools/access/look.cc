#include "tools/access/look.h"

#include <dlfcn.h>

namespace fgmpi::access {

View g_view;

namespace {

Look g_checker = nullptr;
bool g_searching = false;  ///< for the checker: what the search itself accesses is not looked at

/// No access of this module is looked at any more.
void close_view() {
  for (uintptr_t& length : g_view.length) length = 0;
}

[[gnu::noinline]] void tell(const Access& access) {
  if (!g_checker) {
    if (g_searching) return;
    g_searching = true;
    g_checker = reinterpret_cast<Look>(dlsym(RTLD_DEFAULT, kLook));
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
}

}  // namespace

void look_closer(uintptr_t address, size_t bytes, bool writes, const void* place) {
  const uint8_t* filter = g_view.filter;
  if (filter && !filter[granule(address)] && !filter[granule(address + bytes - 1)]) return;
  tell({address, bytes, writes, nullptr, place});
}

void look_at_range(uintptr_t address, size_t bytes, bool writes, const void* place,
                   const char* function) {
  const uintptr_t low = g_view.low[writes], high = low + g_view.length[writes];
  const bool all = g_view.length[writes] == ~uintptr_t{0};
  if (!all && (address >= high || address + bytes <= low + kMost - 1)) return;
  if (g_view.filter && bytes <= uintptr_t{1} << kGranuleBits && !g_view.filter[granule(address)] &&
      !g_view.filter[granule(address + bytes - 1)])
    return;
  tell({address, bytes, writes, function, place});
}

}  // namespace fgmpi::access
