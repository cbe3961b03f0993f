// _dl_find_object for images: by this function the C++ runtime finds the unwind tables of a code address. Images lie at a
// fixed stride, so the look-up takes constant time, however many images there are.
#include <dlfcn.h>

#include "privatize/images.h"
#include "privatize/internal.h"

using namespace fgmpi::privatize;

FGMPI_INTERPOSE int _dl_find_object(void* address, dl_find_object* result) noexcept {
  static auto* real = next_symbol<int(void*, dl_find_object*)>("_dl_find_object");
  auto pc = reinterpret_cast<uintptr_t>(address);
  Images::Location where;
  if (__builtin_expect(pc - g_images.region_low() >= g_images.region_high() - g_images.region_low(),
                       1) ||
      !g_images.locate(pc, &where))
    return real ? real(address, result) : -1;
  const ElfModule& module = g_images.modules()[where.module];
  if (!module.eh_frame_header()) return -1;
  // Image 0's answer has the link_map; the addresses in it are moved to the image.
  if (!real || real(reinterpret_cast<void*>(module.base() + where.offset), result) != 0) return -1;
  uintptr_t shift = pc - where.offset - module.base();
  auto move = [&](void* p) {
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(p) + shift);
  };
  result->dlfo_map_start = move(result->dlfo_map_start);
  result->dlfo_map_end = move(result->dlfo_map_end);
  result->dlfo_eh_frame = move(result->dlfo_eh_frame);
  return 0;
}
