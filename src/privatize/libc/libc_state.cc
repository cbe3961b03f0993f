// State that the C library has once per process, and that programs use as if it were theirs: random
// numbers, strtok, getopt. Each image has its own state; the sequences of random numbers are those
// of the C library.
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include <initializer_list>
#include <vector>

#include "privatize/image/images.h"
#include "privatize/image/swap.h"
#include "privatize/internal.h"
#include "privatize/libc/libc_state.h"
#include "privatize/load/guests.h"

namespace fgmpi::privatize {

namespace {

/// The state of the running rank's image; nullptr where the C library's own is to be used.
LibcState* state() {
  if (!on_scheduler_thread()) return nullptr;
  sched::Proclet* p = sched::running();
  if (!p || !p->image) return nullptr;
  auto* image = static_cast<Image*>(p->image);
  if (!image->libc) image->libc = new LibcState;
  if (!image->libc->begun) image->libc->begin();
  return image->libc;
}

/// A variable of getopt: `live` is the one that the C library uses; `copy` is the offset of the
/// program's copy from the program's base, 0 where the program has none.
struct OptionCell {
  char* live;
  size_t size;
  uintptr_t copy;
};
std::vector<OptionCell> g_option_cells;
bool g_options_fresh = false;  ///< no scan has begun since reset_getopt()

using GetoptLong = int(int, char* const*, const char*, const option*, int*);

/// Makes getopt() take the order of arguments from the options of this call, as at its first call
/// in a process: reset_getopt() has called it with other ones.
void begin_scan() {
  if (g_options_fresh && optind == 1) optind = 0;
  g_options_fresh = false;
}

/// Calls getopt. Images that this library has made have clones of the program's copies of its
/// variables: their values are copied to where the C library uses them before the call, and back
/// after it.
template <class F>
int with_option_cells(F&& call) {
  sched::Proclet* p = on_scheduler_thread() ? sched::running() : nullptr;
  uint32_t k = p && p->image ? static_cast<Image*>(p->image)->index : 0;
  if (!p || g_images.is_loaded(k) || is_guest(p)) {
    begin_scan();
    return call();
  }
  auto* program = reinterpret_cast<char*>(g_images.base_of(0, k));
  for (const OptionCell& c : g_option_cells)
    if (c.copy) memcpy(c.live, program + c.copy, c.size);
  begin_scan();
  int result = call();
  for (const OptionCell& c : g_option_cells)
    if (c.copy) memcpy(program + c.copy, c.live, c.size);
  return result;
}

}  // namespace

void add_option_cells() {
  const ElfModule& program = g_images.program();
  bool used = program.imports("getopt") || program.imports("getopt_long") ||
              program.imports("getopt_long_only");
  if (!used) return;
  for (const char* name : {"optarg", "optind", "opterr", "optopt"}) {
    auto* live = static_cast<char*>(dlsym(RTLD_DEFAULT, name));
    if (!live) continue;
    OptionCell cell{live, strcmp(name, "optarg") == 0 ? sizeof(char*) : sizeof(int), 0};
    if (program.contains(reinterpret_cast<uintptr_t>(live)))
      cell.copy = reinterpret_cast<uintptr_t>(live) - program.base();
    g_option_cells.push_back(cell);
    add_swapped_area(cell.live, cell.size);
  }
}

void forget_libc_state(Image* image) {
  delete image->libc;
  image->libc = nullptr;
}

void reset_getopt(bool always) {
  if (!always && g_option_cells.empty()) return;
  static auto* real = next_symbol<int(int, char* const*, const char*)>("getopt");
  char name[] = "x";
  char* arguments[] = {name, nullptr};
  optind = 0;  // makes getopt() drop the position where the scan of another rank stopped
  real(1, arguments, "");
  optind = 1;
  g_options_fresh = true;
}

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

FGMPI_INTERPOSE long random(void) noexcept {
  static auto* real = next_symbol<long()>("random");
  LibcState* s = state();
  if (!s) return real();
  int32_t value = 0;
  random_r(&s->random, &value);
  return value;
}

FGMPI_INTERPOSE int rand(void) noexcept { return static_cast<int>(random()); }

FGMPI_INTERPOSE void srandom(unsigned seed) noexcept {
  static auto* real = next_symbol<void(unsigned)>("srandom");
  LibcState* s = state();
  if (!s) return real(seed);
  srandom_r(seed, &s->random);
}

FGMPI_INTERPOSE char* initstate(unsigned seed, char* buffer, size_t size) noexcept {
  static auto* real = next_symbol<char*(unsigned, char*, size_t)>("initstate");
  LibcState* s = state();
  if (!s) return real(seed, buffer, size);
  // The buffer of a state begins one word before its numbers, with the type of the state.
  auto* before = reinterpret_cast<char*>(s->random.state - 1);
  return initstate_r(seed, buffer, size, &s->random) == 0 ? before : nullptr;
}

FGMPI_INTERPOSE char* setstate(char* buffer) noexcept {
  static auto* real = next_symbol<char*(char*)>("setstate");
  LibcState* s = state();
  if (!s) return real(buffer);
  auto* before = reinterpret_cast<char*>(s->random.state - 1);
  return setstate_r(buffer, &s->random) == 0 ? before : nullptr;
}

FGMPI_INTERPOSE void srand(unsigned seed) noexcept { srandom(seed); }

FGMPI_INTERPOSE void srand48(long seed) noexcept {
  static auto* real = next_symbol<void(long)>("srand48");
  LibcState* s = state();
  if (!s) return real(seed);
  srand48_r(seed, &s->drand);
}

FGMPI_INTERPOSE unsigned short* seed48(unsigned short seed[3]) noexcept {
  static auto* real = next_symbol<unsigned short*(unsigned short*)>("seed48");
  LibcState* s = state();
  if (!s) return real(seed);
  seed48_r(seed, &s->drand);
  return s->drand.__old_x;
}

FGMPI_INTERPOSE void lcong48(unsigned short* parameters) noexcept {
  static auto* real = next_symbol<void(unsigned short*)>("lcong48");
  LibcState* s = state();
  if (!s) return real(parameters);
  lcong48_r(parameters, &s->drand);
}

FGMPI_INTERPOSE double drand48(void) noexcept {
  static auto* real = next_symbol<double()>("drand48");
  LibcState* s = state();
  if (!s) return real();
  double value = 0;
  drand48_r(&s->drand, &value);
  return value;
}

FGMPI_INTERPOSE long lrand48(void) noexcept {
  static auto* real = next_symbol<long()>("lrand48");
  LibcState* s = state();
  if (!s) return real();
  long value = 0;
  lrand48_r(&s->drand, &value);
  return value;
}

FGMPI_INTERPOSE long mrand48(void) noexcept {
  static auto* real = next_symbol<long()>("mrand48");
  LibcState* s = state();
  if (!s) return real();
  long value = 0;
  mrand48_r(&s->drand, &value);
  return value;
}

FGMPI_INTERPOSE char* strtok(char* text, const char* delimiters) noexcept {
  static auto* real = next_symbol<char*(char*, const char*)>("strtok");
  LibcState* s = state();
  return s ? strtok_r(text, delimiters, &s->strtok_rest) : real(text, delimiters);
}

FGMPI_INTERPOSE int getopt(int argc, char* const* argv, const char* options) noexcept {
  static auto* real = next_symbol<int(int, char* const*, const char*)>("getopt");
  return with_option_cells([&] { return real(argc, argv, options); });
}

FGMPI_INTERPOSE int getopt_long(int argc, char* const* argv, const char* options,
                                const option* longs, int* index) noexcept {
  static auto* real = next_symbol<GetoptLong>("getopt_long");
  return with_option_cells([&] { return real(argc, argv, options, longs, index); });
}

FGMPI_INTERPOSE int getopt_long_only(int argc, char* const* argv, const char* options,
                                     const option* longs, int* index) noexcept {
  static auto* real = next_symbol<GetoptLong>("getopt_long_only");
  return with_option_cells([&] { return real(argc, argv, options, longs, index); });
}
