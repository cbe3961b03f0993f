// The check of an access by the module's view, and the call of the checker where the view does not
// decide.

#include "gcc/access/look.h"

#include <dlfcn.h>

namespace fgmpi::access {

AccessView g_view;

namespace {

Look g_checker = nullptr;
Touches g_touches = nullptr;  ///< found together with g_checker
bool g_searching = false;     ///< the search for the checker runs: its own accesses are not checked

/// Ends all checks of accesses of this module.
void close_view() {
  for (uintptr_t& length : g_view.length) length = 0;
}

[[gnu::noinline]] void report_access(const ProgramAccess& access) {
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

/// Runs when a library is closed or a rank ends: the checker must not write to the view any more.
[[gnu::destructor]] void module_goes() {
  close_view();
  if (!g_checker) return;
  if (auto forget = reinterpret_cast<Forget>(dlsym(RTLD_DEFAULT, kForget))) forget(&g_view);
  g_searching = true;
  g_checker = nullptr;
  g_touches = nullptr;
}

}  // namespace

namespace {

/// May an operation own a byte of the granules that the access touches? REQUIRES: bytes <= kMost.
[[gnu::always_inline]] inline bool is_in_filter(uintptr_t address, size_t bytes) {
  constexpr uintptr_t kBytes = uintptr_t{1} << kGranuleBits;
  const uint8_t* filter = g_view.filter;
  if (!filter || filter[granule(address)]) return true;
  return address % kBytes > kBytes - kMost && filter[granule(address + bytes - 1)];
}

/// Out of line, so that callers need no stack for the accesses that are not reported.
[[gnu::noinline]] void report_scalar(uintptr_t address, size_t bytes, bool writes, bool reads,
                                     const void* place) {
  report_access({address, bytes, writes, reads, nullptr, place});
}

}  // namespace

void check_access_slowly(uintptr_t address, size_t bytes, bool writes, bool reads,
                         const void* place) {
  if (is_in_filter(address, bytes)) report_scalar(address, bytes, writes, reads, place);
}

void check_range_access(uintptr_t address, size_t bytes, bool writes, const void* place,
                        const char* function) {
  const uintptr_t low = g_view.low[writes], high = low + g_view.length[writes];
  const bool all = g_view.length[writes] == ~uintptr_t{0};
  const uintptr_t first = low + kMost - 1;  // of the owned memory
  if (!all && (address >= high || (address < first && first - address >= bytes))) return;
  if (g_view.filter && bytes <= uintptr_t{1} << kGranuleBits && !g_view.filter[granule(address)] &&
      !g_view.filter[granule(address + bytes - 1)])
    return;
  report_access({address, bytes, writes, !writes, function, place});
}

void announce_poll(uintptr_t address, size_t bytes, const void* place) {
  if (g_view.length[0] != 0 && g_checker) check_range_access(address, bytes, false, place, kPolls);
}

/// True where memory in a loop's range may be owned, so that the loop needs its calls.
static bool touches(uintptr_t low, size_t bytes, bool writes) {
  const uintptr_t first = g_view.low[writes], length = g_view.length[writes];
  if (length == 0) return false;
  // The first access finds the checker, which then registers the view. Until then the loop must run
  // with its calls.
  if (length == ~uintptr_t{0} || !g_touches) return true;
  if (low - first >= length && first - low >= bytes) return false;
  return g_touches(&g_view, low, bytes, writes);
}

}  // namespace fgmpi::access

using namespace fgmpi::access;

// Functions that code of the plugin calls: for an access that begins within the view's bounds, and
// in front of a loop.
FGMPI_ENTRY void fgmpi_access_read(void* at, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(at);
  if (__builtin_expect(is_in_filter(address, bytes), 0))
    report_scalar(address, bytes, false, true, FGMPI_PLACE);
}
FGMPI_ENTRY void fgmpi_access_write(void* at, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(at);
  if (__builtin_expect(is_in_filter(address, bytes), 0))
    report_scalar(address, bytes, true, false, FGMPI_PLACE);
}
FGMPI_ENTRY void fgmpi_access_polls(const void* at, size_t bytes) {
  announce_poll(reinterpret_cast<uintptr_t>(at), bytes, FGMPI_PLACE);
}
FGMPI_ENTRY int fgmpi_access_touches(uintptr_t low, size_t bytes, int writes) {
  return touches(low, bytes, writes);
}
