// The start, and random numbers that the processor makes.
#include <dlfcn.h>

#include "base/fixed_guards.h"
#include "tape/tape.h"

#pragma weak fgmpi_rewind_hooks

namespace fgmpi::rewind {

Next g_next;
const RewindHooks* g_hooks = nullptr;

namespace {

void* find_next(const char* name) { return dlsym(RTLD_NEXT, name); }

/// The library is initialised first of all, so it may use the C library, but no stream or object
/// of another library.
[[gnu::constructor, gnu::no_stack_protector]] void loaded() {
  fix_guards_without_random_addresses();
  // The checker, which is loaded behind this library, has nothing to do in most runs.
  auto* find = reinterpret_cast<void* (*)(const char*)>(dlsym(RTLD_DEFAULT, "fgmpi_check_next"));
  if (!find) find = find_next;
  if (!find("PMPI_Init")) return;  // not an MPI program, or one that loads MPI later
  fill_next(&g_next, find);
  findings::find_bindings();
}

/// A number of std::random_device, which may ask the processor (rdrand, rdseed).
unsigned random_number(const char* function, void* device) {
  const auto real = reinterpret_cast<unsigned (*)(void*)>(dlsym(RTLD_NEXT, function));
  unsigned number = real(device);
  if (g_hooks || find_hooks()) g_hooks->pass_random(&number, sizeof number);
  return number;
}

}  // namespace

bool find_hooks() {
  if (&fgmpi_rewind_hooks == nullptr) return false;
  g_hooks = fgmpi_rewind_hooks();
  if (!g_hooks) return false;
  // The list of events, which only the repeated run makes, must not change the program's memory.
  g_hooks->set_places([](const void* place) { return findings::place_in_first_image(place); });
  if (*g_hooks->is_checked)
    fill_checked([](const char* name) { return dlsym(RTLD_DEFAULT, name); });
  else  // a search frees the text of an error before it, so all runs have one
    dlsym(RTLD_DEFAULT, "fgmpi_check_next");
  return g_hooks;
}

}  // namespace fgmpi::rewind

using fgmpi::rewind::random_number;

// Methods of std::random_device, by their symbols: the class has no virtual functions.
EXPORT unsigned _ZNSt13random_device9_M_getvalEv(void* device) {
  return random_number("_ZNSt13random_device9_M_getvalEv", device);
}
EXPORT unsigned _ZNSt13random_device16_M_getval_pretr1Ev(void* device) {
  return random_number("_ZNSt13random_device16_M_getval_pretr1Ev", device);
}
