// Registration of areas that are swapped at a switch, and the swap.

#include "privatize/image/swap.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <vector>

#include "base/assert.h"
#include "base/modules.h"
#include "privatize/image/images.h"
#include "privatize/internal.h"
#include "privatize/libc/output.h"
#include "privatize/load/guests.h"
#include "privatize/load/plugins.h"
#include "privatize/load/rank_heaps.h"
#include "proclet-sched/immortal.h"

namespace fgmpi::privatize {
namespace {

struct Area {
  char* live;
  size_t size;
  size_t offset;        ///< within Image::areas
  std::string initial;  ///< bytes that the area has at first in images 1, 2, ...
  bool moves = false;   ///< a pointer into a private module
  int64_t module = -1;  ///< thread-local areas: the module whose template initialises them; else -1
  size_t in_block = 0;  ///< thread-local areas: where they begin in the module's block
};

/// A function that sets a pointer of the C++ runtime and returns the pointer before.
using Exchange = void*(void*);
struct RuntimeHandler {
  Exchange* exchange;
  void* initial;
};

struct Swap {
  std::vector<Area> areas;
  std::vector<RuntimeHandler> handlers;
  size_t bytes = 0;
  Image* loaded = nullptr;           ///< the image whose areas are in place
  Image* plain = nullptr;            ///< the image whose areas ranks without an image use
  std::vector<size_t> stream_areas;  ///< indices of areas that hold pointers to ranks' objects
  bool locales = false;              ///< some proclet has called uselocale()
  locale_t locale_in_place = nullptr;
};
constinit Immortal<Swap> g_immortal_swap;
constexpr Swap& g_swap = g_immortal_swap.value;

void copy_out(Image* image) {
  for (const Area& a : g_swap.areas) memcpy(image->areas + a.offset, a.live, a.size);
}

void copy_in(Image* image) {
  for (const Area& a : g_swap.areas) memcpy(a.live, image->areas + a.offset, a.size);
}

constexpr size_t kExceptionBytes = sizeof(sched::Proclet::exception_state);

locale_t set_locale(locale_t locale) {
  static auto* real = next_symbol<locale_t(locale_t)>("uselocale");
  return real(locale);
}

void swap_locale(sched::Proclet* to) {
  auto wanted = static_cast<locale_t>(to->locale);
  if (wanted == g_swap.locale_in_place) return;
  set_locale(wanted ? wanted : LC_GLOBAL_LOCALE);
  g_swap.locale_in_place = wanted;
}

/// The scheduler calls this at a switch, on the stack of the proclet that is switched out.
void on_switch(sched::Proclet* from, sched::Proclet* to) {
  if (from) assign_output();
  if (!to) return;
  auto* image = to->image ? static_cast<Image*>(to->image) : g_swap.plain;
  if (image && image != g_swap.loaded) load_image(image);
  if (to->image && __builtin_expect(plugins::any(), 0))
    plugins::load_thread_locals(static_cast<Image*>(to->image)->index);
  if (g_swap.locales) swap_locale(to);
}

void add_thread_local_part(size_t module, char* block, char* from, char* to) {
  if (from == to) return;
  add_swapped_area(from, static_cast<size_t>(to - from));
  g_swap.areas.back().module = static_cast<int64_t>(module);
  g_swap.areas.back().in_block = static_cast<size_t>(from - block);
}

void add_thread_local_blocks() {
  for (size_t m = 0; m < g_images.modules().size(); ++m) {
    const ElfModule& module = g_images.modules()[m];
    void* live = module.tls() ? thread_local_block(module) : nullptr;
    if (!live) continue;
    // With a C++ runtime linked into the program (-static-libstdc++), the state of caught
    // exceptions lies in this block. It is left out: the scheduler swaps it, since it belongs to a
    // proclet and not to an image.
    auto* begin = static_cast<char*>(live);
    auto* end = begin + module.tls()->p_memsz;
    auto* exceptions = reinterpret_cast<char*>(abi::__cxa_get_globals());
    bool inside = exceptions >= begin && exceptions + kExceptionBytes <= end;
    add_thread_local_part(m, begin, begin, inside ? exceptions : end);
    if (inside) add_thread_local_part(m, begin, exceptions + kExceptionBytes, end);
  }
}

/// Registers the pointers into the program that the C++ runtime stores, where a private module can
/// set them.
void add_handlers() {
  for (const char* setter : {"_ZSt13set_terminatePFvvE", "_ZSt15set_new_handlerPFvvE",
                             "_ZNSt3pmr20set_default_resourceEPNS_15memory_resourceE"}) {
    const auto& modules = g_images.modules();
    auto imports = [&](const ElfModule& m) { return m.imports(setter); };
    if (std::none_of(modules.begin(), modules.end(), imports)) continue;
    auto* exchange = reinterpret_cast<Exchange*>(dlsym(RTLD_DEFAULT, setter));
    Images::ImageLocation where;
    if (!exchange || g_images.locate(reinterpret_cast<uintptr_t>(exchange), &where)) continue;
    void* initial = exchange(nullptr);
    exchange(initial);
    g_swap.handlers.push_back({exchange, initial});
  }
}

/// Registers as swapped areas what a program changes in a standard stream: format flags, precision,
/// width and state, members of libstdc++'s ios_base; tie, fill character and buffer, members of
/// basic_ios. Their layout is part of libstdc++'s ABI and is verified here before it is used.
/// Nothing is registered where the program holds a copy of the stream: each image has a clone.
void add_stream_state(std::ios& stream, const char* symbol) {
  const ElfModule& program = g_images.program();
  if (!program.imports(symbol) || program.contains(reinterpret_cast<uintptr_t>(&stream))) return;
  std::ios_base& base = stream;
  char* members = reinterpret_cast<char*>(&base) + sizeof(void*);
  constexpr size_t kMembers = 2 * sizeof(std::streamsize) + 3 * sizeof(int);
  std::streamsize precision = base.precision(77), width = base.width(55);
  std::streamsize seen[2];
  memcpy(seen, members, sizeof seen);
  base.precision(precision);
  base.width(width);
  if (seen[0] == 77 && seen[1] == 55) add_swapped_area(members, kMembers);

  struct IosMembers {
    std::ostream* tie;
    char fill;
    bool fill_known;
    std::streambuf* buffer;
  } members_of_ios;
  char* behind = reinterpret_cast<char*>(&base) + sizeof base;
  char fill = stream.fill('%');
  memcpy(&members_of_ios, behind, sizeof members_of_ios);
  stream.fill(fill);
  if (members_of_ios.tie != stream.tie() || members_of_ios.fill != '%' ||
      members_of_ios.buffer != stream.rdbuf())
    return;
  add_swapped_area(behind, sizeof members_of_ios);
  g_swap.stream_areas.push_back(g_swap.areas.size() - 1);
}

}  // namespace

void add_swapped_area(void* live, size_t size) {
  auto* bytes = static_cast<const char*>(live);
  g_swap.areas.push_back(
      {static_cast<char*>(live), size, g_swap.bytes, std::string(bytes, size), false, -1, 0});
  g_swap.bytes += (size + 7) / 8 * 8;
}

void add_swapped_pointer(void* live) {
  add_swapped_area(live, sizeof(uintptr_t));
  g_swap.areas.back().moves = true;
}

void add_areas_of_program() {
  add_thread_local_blocks();
  add_fortran_constants();
  add_option_cells();
  add_handlers();
  add_stream_state(std::cin, "_ZSt3cin");
  add_stream_state(std::cout, "_ZSt4cout");
  add_stream_state(std::cerr, "_ZSt4cerr");
  add_stream_state(std::clog, "_ZSt4clog");
}

void restore_streams() {
  for (size_t i : g_swap.stream_areas)
    memcpy(g_swap.areas[i].live, g_swap.areas[i].initial.data(), g_swap.areas[i].size);
}

void visit_swapped_areas(const std::function<void(const char* live, size_t size)>& see) {
  for (const Area& a : g_swap.areas) see(a.live, a.size);
}

size_t swapped_bytes() { return g_swap.bytes; }
size_t swapped_handlers() { return g_swap.handlers.size(); }

void* thread_local_block(const ElfModule& module) {
  void* block = nullptr;
  find_loaded_module([&](const dl_phdr_info& loaded) {
    if (loaded.dlpi_addr != module.base()) return false;
    block = loaded.dlpi_tls_data;
    return true;
  });
  return block;
}

void init_areas(Image* image) {
  if (!image->handlers && !g_swap.handlers.empty())
    image->handlers = new void*[g_swap.handlers.size()];
  for (size_t i = 0; i < g_swap.handlers.size(); ++i)
    image->handlers[i] = g_swap.handlers[i].initial;
  if (!g_swap.bytes) return;
  if (!image->areas) image->areas = static_cast<char*>(malloc(g_swap.bytes));
  FGMPI_CHECK(image->areas);
  for (const Area& a : g_swap.areas) {
    char* to = image->areas + a.offset;
    memcpy(to, a.initial.data(), a.size);
    if (a.moves && !image->guest) {
      uintptr_t value = 0;
      memcpy(&value, to, sizeof value);
      value = g_images.move_to(value, image->index);
      memcpy(to, &value, sizeof value);
    }
    if (a.module < 0) continue;
    auto m = static_cast<size_t>(a.module);
    const ElfW(Phdr)* tls = g_images.modules()[m].tls();
    memset(to, 0, a.size);
    if (image->guest) {
      copy_thread_locals(*image->guest, image->index, a.live, a.size, to);
      continue;
    }
    if (a.in_block < tls->p_filesz)
      memcpy(to,
             reinterpret_cast<void*>(g_images.base_of(m, image->index) + tls->p_vaddr + a.in_block),
             std::min(a.size, tls->p_filesz - a.in_block));
  }
}

void load_image(Image* image) {
  if (g_swap.bytes && g_swap.loaded != image) {
    if (g_swap.loaded) copy_out(g_swap.loaded);
    copy_in(image);
  }
  for (size_t i = 0; i < g_swap.handlers.size() && g_swap.loaded != image; ++i) {
    void* before = g_swap.handlers[i].exchange(image->handlers[i]);
    if (g_swap.loaded) g_swap.loaded->handlers[i] = before;
  }
  g_swap.loaded = image;
}

void store_loaded_areas() {
  Image* image = g_swap.loaded;
  if (!image) return;
  if (g_swap.bytes) copy_out(image);
  for (size_t i = 0; i < g_swap.handlers.size(); ++i) {
    void* handler = g_swap.handlers[i].exchange(nullptr);
    g_swap.handlers[i].exchange(handler);
    image->handlers[i] = handler;
  }
}

void install_switch_hook(Image* first) {
  g_swap.loaded = first;
  sched::RuntimeCells cells;
  cells.errno_cell = &errno;
  cells.exceptions = reinterpret_cast<void**>(abi::__cxa_get_globals());
  sched::set_runtime_cells(cells);
  bool each = g_swap.bytes || !g_swap.handlers.empty();
  sched::set_switch_hook(on_switch, each ? sched::HookAt::kEachSwitch : sched::HookAt::kWatched);
}

void use_for_ranks_without_image(Image* image) { g_swap.plain = image; }

void forget_loaded_areas(const Image* image) {
  // The areas in place need not be saved: the next image that is loaded overwrites them.
  if (g_swap.loaded == image) g_swap.loaded = nullptr;
}

void free_areas(Image* image) {
  forget_loaded_areas(image);
  free(image->areas);
  delete[] image->handlers;
  image->areas = nullptr;
  image->handlers = nullptr;
}

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

FGMPI_INTERPOSE locale_t uselocale(locale_t locale) noexcept {
  if (locale && on_proclet()) {
    if (!g_swap.locales) fgmpi::sched::call_hook_at_each_switch();
    g_swap.locales = true;
    fgmpi::sched::running()->locale = locale == LC_GLOBAL_LOCALE ? nullptr : locale;
    g_swap.locale_in_place = locale == LC_GLOBAL_LOCALE ? nullptr : locale;
  }
  return set_locale(locale);
}
