// _dl_find_object for images: by this function the C++ runtime finds the unwind tables of a code
// address. Images lie at a fixed stride, so the look-up takes constant time, however many images
// there are.
#include <dlfcn.h>

#include "privatize/image/images.h"
#include "privatize/internal.h"
#include "privatize/load/plugins.h"

using namespace fgmpi::privatize;

namespace {

using Find = int(void*, dl_find_object*);

/// Asks the dynamic linker about the same offset in the copy of the module that it has loaded, and
/// moves the addresses of its answer to the image that holds `pc`.
int find_moved(Find* real, const ElfModule* module, uintptr_t offset, uintptr_t pc,
               dl_find_object* result) {
  if (!module->eh_frame_header()) return -1;
  if (!real || real(reinterpret_cast<void*>(module->base() + offset), result) != 0) return -1;
  const uintptr_t shift = pc - offset - module->base();
  auto move = [&](void* p) {
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(p) + shift);
  };
  result->dlfo_map_start = move(result->dlfo_map_start);
  result->dlfo_map_end = move(result->dlfo_map_end);
  result->dlfo_eh_frame = move(result->dlfo_eh_frame);
  return 0;
}

}  // namespace

FGMPI_INTERPOSE int _dl_find_object(void* address, dl_find_object* result) noexcept {
  static auto* real = next_symbol<Find>("_dl_find_object");
  auto pc = reinterpret_cast<uintptr_t>(address);
  Images::ImageLocation where;
  plugins::PluginLocation plugin;
  if (__builtin_expect(plugins::any(), 0) && plugins::locate(pc, &plugin))
    return find_moved(real, plugin.module, plugin.offset, pc, result);
  if (__builtin_expect(pc - g_images.region_low() >= g_images.region_high() - g_images.region_low(),
                       1) ||
      !g_images.locate(pc, &where))
    return real ? real(address, result) : -1;
  return find_moved(real, &g_images.modules()[where.module], where.offset, pc, result);
}
