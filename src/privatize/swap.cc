#include "privatize/swap.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <iostream>
#include <vector>

#include "base/assert.h"
#include "privatize/images.h"
#include "privatize/internal.h"
#include "privatize/output.h"
#include "proclet-sched/immortal.h"

namespace fgmpi::privatize {
namespace {

struct Area {
  char* live;
  size_t size;
  size_t offset;        ///< within Image::areas
  std::string initial;  ///< of images but the first
  bool moves = false;   ///< a pointer into the program
  int64_t module = -1;  ///< a thread-local block: the module whose template initialises it
};

struct Swap {
  std::vector<Area> areas;
  size_t bytes = 0;
  Image* loaded = nullptr;           ///< whose areas are in place
  std::vector<size_t> stream_areas;  ///< those that hold pointers to ranks' objects
  bool locales = false;              ///< some proclet has called uselocale()
  locale_t locale_in_place = nullptr;
};
constinit Immortal<Swap> g_swap;
constexpr Swap& g = g_swap.value;

void copy_out(Image* image) {
  for (const Area& a : g.areas) memcpy(image->areas + a.offset, a.live, a.size);
}

void copy_in(Image* image) {
  for (const Area& a : g.areas) memcpy(a.live, image->areas + a.offset, a.size);
}

locale_t set_locale(locale_t locale) {
  static auto* real = next_symbol<locale_t(locale_t)>("uselocale");
  return real(locale);
}

void swap_locale(sched::Proclet* to) {
  auto wanted = static_cast<locale_t>(to->locale);
  if (wanted == g.locale_in_place) return;
  set_locale(wanted ? wanted : LC_GLOBAL_LOCALE);
  g.locale_in_place = wanted;
}

/// The scheduler's hook: on the stack of whoever leaves.
void on_switch(sched::Proclet* from, sched::Proclet* to) {
  if (from) settle_output();
  if (!to) return;
  if (to->image && to->image != g.loaded) load_image(static_cast<Image*>(to->image));
  if (g.locales) swap_locale(to);
}

struct TlsBlock {
  uintptr_t base;
  void* live;
};

int find_tls(dl_phdr_info* info, size_t, void* data) {
  auto* block = static_cast<TlsBlock*>(data);
  if (info->dlpi_addr != block->base) return 0;
  block->live = info->dlpi_tls_data;
  return 1;
}

void add_thread_local_blocks() {
  for (size_t m = 0; m < g_images.modules().size(); ++m) {
    const ElfModule& module = g_images.modules()[m];
    if (!module.tls()) continue;
    TlsBlock block{module.base(), nullptr};
    dl_iterate_phdr(find_tls, &block);
    if (!block.live) continue;
    add_swapped_area(block.live, module.tls()->p_memsz);
    g.areas.back().module = static_cast<int64_t>(m);
  }
}

/// The Fortran binding notes once where the program keeps MPI_BOTTOM, MPI_IN_PLACE and the like,
/// and compares arguments with that. It is made to note them now; each image has them at its own
/// place.
void add_fortran_cells() {
  auto* needed = static_cast<int*>(dlsym(RTLD_DEFAULT, "MPIR_F_NeedInit"));
  auto* note = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "mpirinitf_"));
  if (!needed || !note) return;
  note();
  *needed = 0;
  for (const char* name :
       {"MPIR_F_MPI_BOTTOM", "MPIR_F_MPI_IN_PLACE", "MPIR_F_MPI_UNWEIGHTED",
        "MPIR_F_MPI_WEIGHTS_EMPTY", "MPI_F_ARGVS_NULL", "MPI_F_ARGV_NULL", "MPI_F_ERRCODES_IGNORE",
        "MPI_F_STATUS_IGNORE", "MPI_F_STATUSES_IGNORE"}) {
    void* live = dlsym(RTLD_DEFAULT, name);
    if (!live) continue;
    add_swapped_area(live, sizeof(uintptr_t));
    g.areas.back().moves = true;
  }
}

/// What a program changes in a standard stream: format flags, precision, width and state, members of
/// libstdc++'s ios_base; tie, fill character and buffer, members of basic_ios. Their layout is part
/// of its ABI and is verified here before it is used. Not where the program holds a copy of the
/// stream: each image has a clone.
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

  struct Rest {
    std::ostream* tie;
    char fill;
    bool fill_known;
    std::streambuf* buffer;
  } rest;
  char* behind = reinterpret_cast<char*>(&base) + sizeof base;
  char fill = stream.fill('%');
  memcpy(&rest, behind, sizeof rest);
  stream.fill(fill);
  if (rest.tie != stream.tie() || rest.fill != '%' || rest.buffer != stream.rdbuf()) return;
  add_swapped_area(behind, sizeof rest);
  g.stream_areas.push_back(g.areas.size() - 1);
}

}  // namespace

void add_swapped_area(void* live, size_t size) {
  auto* bytes = static_cast<const char*>(live);
  g.areas.push_back({static_cast<char*>(live), size, g.bytes, std::string(bytes, size), false, -1});
  g.bytes += (size + 7) / 8 * 8;
}

void add_areas_of_program() {
  add_thread_local_blocks();
  add_fortran_cells();
  add_option_cells();
  add_stream_state(std::cin, "_ZSt3cin");
  add_stream_state(std::cout, "_ZSt4cout");
  add_stream_state(std::cerr, "_ZSt4cerr");
  add_stream_state(std::clog, "_ZSt4clog");
}

void restore_streams() {
  for (size_t i : g.stream_areas)
    memcpy(g.areas[i].live, g.areas[i].initial.data(), g.areas[i].size);
}

size_t swapped_bytes() { return g.bytes; }

void init_areas(Image* image) {
  if (!g.bytes) return;
  image->areas = static_cast<char*>(malloc(g.bytes));
  FGMPI_CHECK(image->areas);
  for (const Area& a : g.areas) {
    char* to = image->areas + a.offset;
    memcpy(to, a.initial.data(), a.size);
    if (a.moves) {
      uintptr_t value = 0;
      memcpy(&value, to, sizeof value);
      value = g_images.move_to(value, image->index);
      memcpy(to, &value, sizeof value);
    }
    if (a.module < 0) continue;
    auto m = static_cast<size_t>(a.module);
    const ElfW(Phdr)* tls = g_images.modules()[m].tls();
    memset(to, 0, a.size);
    memcpy(to, reinterpret_cast<void*>(g_images.place(m, image->index) + tls->p_vaddr),
           tls->p_filesz);
  }
}

void load_image(Image* image) {
  if (g.bytes && g.loaded != image) {
    if (g.loaded) copy_out(g.loaded);
    copy_in(image);
  }
  g.loaded = image;
}

void install_switch_hook(Image* first) {
  g.loaded = first;
  sched::RuntimeCells cells;
  cells.errno_cell = &errno;
  cells.exceptions = reinterpret_cast<void**>(abi::__cxa_get_globals());
  sched::set_runtime_cells(cells);
  sched::set_switch_hook(on_switch, g.bytes ? sched::HookAt::kEachSwitch : sched::HookAt::kWatched);
}

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

FGMPI_INTERPOSE locale_t uselocale(locale_t locale) noexcept {
  if (locale && on_proclet()) {
    if (!g.locales) fgmpi::sched::call_hook_at_each_switch();
    g.locales = true;
    fgmpi::sched::current()->locale = locale == LC_GLOBAL_LOCALE ? nullptr : locale;
    g.locale_in_place = locale == LC_GLOBAL_LOCALE ? nullptr : locale;
  }
  return set_locale(locale);
}
