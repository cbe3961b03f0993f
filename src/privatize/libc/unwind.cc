// _dl_find_object for images: by this function the C++ runtime finds the unwind tables of a code
// address. Images lie at a fixed stride, so the look-up takes constant time, however many images
// there are.
#include "privatize/image/images.h"
#include "privatize/internal.h"
#include "privatize/load/plugins.h"
#include "privatize/load/real_loader.h"

using namespace fgmpi::privatize;

namespace {

/// Asks the dynamic linker about the same offset in the copy of the module that it has loaded, and
/// moves the addresses of its answer to the image that holds `pc`.
int find_moved(const ElfModule* module, uintptr_t offset, uintptr_t pc, dl_find_object* result) {
  if (!module->eh_frame_header()) return -1;
  if (real::find_object(reinterpret_cast<void*>(module->base() + offset), result) != 0) return -1;
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
  auto pc = reinterpret_cast<uintptr_t>(address);
  Images::ImageLocation where;
  plugins::PluginLocation plugin;
  if (__builtin_expect(plugins::any(), 0) && plugins::locate(pc, &plugin))
    return find_moved(plugin.module, plugin.offset, pc, result);
  if (__builtin_expect(!g_images.may_be_copied(pc), 1) || !g_images.locate(pc, &where))
    return real::find_object(address, result);
  return find_moved(&g_images.modules()[where.module], where.offset, pc, result);
}
