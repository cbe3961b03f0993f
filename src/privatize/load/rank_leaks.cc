// Where pointers of a rank may be, when leaks of its memory are searched.
#include "privatize/load/rank_leaks.h"

#include <unistd.h>

#include <string_view>
#include <vector>

#include "base/modules.h"
#include "privatize/image/images.h"
#include "privatize/image/swap.h"
#include "privatize/internal.h"
#include "privatize/load/plugins.h"
#include "privatize/load/rank_heaps.h"

namespace fgmpi::privatize {
namespace {

void (*g_leaked)(const void* place, int64_t blocks, int64_t bytes) = nullptr;

using Ranges = std::vector<heap::MemoryRange>;

void add_range(uintptr_t low, size_t bytes, Ranges* ranges) {
  const auto* at = reinterpret_cast<const char*>(low);
  ranges->push_back({at, at + bytes});
}

void add_variables(const ElfModule& module, uintptr_t base, Ranges* ranges) {
  for (const LoadSegment& s : module.segments())
    if (s.flags & PF_W) add_range(base + s.low, s.high - s.low, ranges);
}

/// The variables of what the dynamic linker has loaded, but for libraries of ours: what MPI was
/// given, it does not keep.
Ranges variables_of_loaded_modules() {
  Ranges ranges;
  const ElfModule& program = g_images.program();
  add_variables(program, program.base(), &ranges);
  for (const link_map* map : loaded_modules()) {
    const std::string_view name = file_name(map->l_name);
    ElfModule module;
    if (!name.empty() && !name.starts_with("libmpi") && !name.starts_with("libfgmpi-") &&
        module.read(map, map->l_name, false).ok())
      add_variables(module, module.base(), &ranges);
  }
  return ranges;
}

void add_environment(Ranges* ranges) {
  size_t count = 0;
  while (environ && environ[count]) ++count;
  add_range(reinterpret_cast<uintptr_t>(environ), count * sizeof *environ, ranges);
}

Ranges pointer_roots_of(const sched::Proclet* rank, const char* frame) {
  Ranges ranges;
  ranges.push_back({frame, rank->stack_low + rank->stack_size});
  if (const auto* image = static_cast<const Image*>(rank->image)) {
    for (size_t m = 0; m < g_images.modules().size() && image->index < g_images.count(); ++m)
      add_variables(g_images.modules()[m], g_images.base_of(m, image->index), &ranges);
    plugins::visit_images(image->index, [&](const ElfModule& module, uintptr_t base) {
      add_variables(module, base, &ranges);
    });
    visit_thread_values(*image, [&](void* const* value) {
      add_range(reinterpret_cast<uintptr_t>(value), sizeof *value, &ranges);
    });
  }
  visit_swapped_areas([&](const char* live, size_t size) {
    add_range(reinterpret_cast<uintptr_t>(live), size, &ranges);
  });
  static const Ranges loaded = variables_of_loaded_modules();
  ranges.insert(ranges.end(), loaded.begin(), loaded.end());
  add_environment(&ranges);
  return ranges;
}

}  // namespace

void set_tool_leaked(void (*leaked)(const void* place, int64_t blocks, int64_t bytes)) {
  g_leaked = leaked;
}

bool leaks_are_wanted() { return g_leaked != nullptr; }

void report_leaked_memory() {
  const sched::Proclet* rank = sched::running();
  if (!g_leaked || !ranks_have_heaps() || sched::has_threads(rank)) return;
  const auto* frame = static_cast<const char*>(__builtin_frame_address(0));
  const Ranges roots = pointer_roots_of(rank, frame);
  visit_leaks_of(rank->index, roots, [](const heap::LeakedBlocks& leak) {
    g_leaked(leak.place, static_cast<int64_t>(leak.blocks), static_cast<int64_t>(leak.bytes));
  });
}

}  // namespace fgmpi::privatize
