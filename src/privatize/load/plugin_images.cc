// Images of plugins: where they lie, and how they are made and dropped.
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/modules.h"
#include "base/page.h"
#include "privatize/image/images.h"
#include "privatize/load/plugin_table.h"
#include "privatize/load/rank_heaps.h"
#include "privatize/load/real_loader.h"

namespace fgmpi::privatize::plugins {
namespace {

struct TlsIndex {
  size_t module, offset;
};
extern "C" void* __tls_get_addr(TlsIndex*);

int find_tls_module(dl_phdr_info* info, size_t, void* data) {
  auto* plugin = static_cast<Plugin*>(data);
  if (info->dlpi_addr != plugin->module.base()) return 0;
  plugin->tls_module = info->dlpi_tls_modid;
  return 1;
}

/// Returns the alignment of images.
size_t set_stride(Plugin* p) {
  const size_t alignment = std::max(page_bytes(), p->module.alignment());
  p->stride = (p->module.span() + alignment - 1) / alignment * alignment;
  return alignment;
}

}  // namespace

void* Plugin::thread_local_block() const {
  TlsIndex index{tls_module, 0};
  return __tls_get_addr(&index);
}

std::string Plugin::initial_block(uint32_t k) const {
  const ElfW(Phdr)* tls = module.tls();
  std::string block(tls->p_memsz, '\0');
  memcpy(block.data(), reinterpret_cast<void*>(image(k) + tls->p_vaddr), tls->p_filesz);
  return block;
}

Status reserve(Plugin* p, uint32_t first, uint32_t count) {
  const size_t alignment = set_stride(p);
  Room room;
  room.first = first;
  room.count = count;
  room.bytes = p->stride * count + alignment;
  room.reserved =
      mmap(nullptr, room.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room.reserved == MAP_FAILED)
    return error(MPI_ERR_NO_MEM, "no address space for images of %s: %s", p->module.path().c_str(),
                 strerror(errno));
  room.region =
      (reinterpret_cast<uintptr_t>(room.reserved) + alignment - 1) / alignment * alignment;
  room.shown = std::make_unique<sched::DebugImages>(sched::DebugImages{
      nullptr, p->module.path().c_str(), room.region, p->stride, room.first, room.count});
  std::lock_guard<PlainMutex> lock(state().table);
  sched::show_to_debugger(room.shown.get());
  p->rooms.push_back(std::move(room));
  if (p->live.size() < first + count) p->live.resize(first + count);
  return Status();
}

Status place_image(Plugin* p, uint32_t k) {
  if (p->is_placed(k)) return {};
  const size_t alignment = set_stride(p);
  void* const at = map_in_slot(k, p->stride, alignment);
  return at ? (show_in_slot(p, k, at), Status()) : reserve(p, k, 1);
}

void show_in_slot(Plugin* p, uint32_t k, void* at) {
  set_stride(p);
  const auto address = reinterpret_cast<uintptr_t>(at);
  SlotImage image{address, std::make_unique<sched::DebugImages>(sched::DebugImages{
                               nullptr, p->module.path().c_str(), address, p->stride, k, 1})};
  std::lock_guard<PlainMutex> lock(state().table);
  sched::show_to_debugger(image.shown.get());
  p->in_slots[k] = std::move(image);
}

Status plan(Plugin* p) {
  PluginState& s = state();
  p->ranges = g_images.ranges();
  for (ModuleRange& r : p->ranges) r.base_in_image_1 = r.base;
  p->owners.assign(p->ranges.size(), nullptr);
  size_t self = 0;
  for (auto& other : s.plugins) {
    if (other.get() == p) self = p->ranges.size();
    p->ranges.push_back({other->module.base(), other->module.span(), other->module.base()});
    p->owners.push_back(other.get());
  }
  FGMPI_TRY(p->plan.prepare(p->module, p->ranges, self, resolve_globally));
  auto add = [&](Plugin* other) {
    if (other && other != p && std::find(p->needs.begin(), p->needs.end(), other) == p->needs.end())
      p->needs.push_back(other);
  };
  for (const std::string& name : p->module.needed())
    for (auto& other : s.plugins)
      if (file_name(other->map->l_name) == name || DynamicSection(other->map).soname() == name)
        add(other.get());
  for (const RelocatedWord& w : p->plan.words().moving) add(p->owners[w.module]);
  p->stays = p->module.never_unloaded();
  // A program's own code finds its thread-local variables at fixed distances from the thread
  // pointer (guests.cc).
  if (p->module.tls() && !p->guest) {
    using Iterate = int(int (*)(dl_phdr_info*, size_t, void*), void*);
    static auto* iterate = reinterpret_cast<Iterate*>(real::function("dl_iterate_phdr"));
    iterate(find_tls_module, p);
  }
  return Status();
}

void release(const Room& room) {
  sched::hide_from_debugger(room.shown.get());
  munmap(room.reserved, room.bytes);
}

void release(Plugin* p) {
  for (const Room& room : p->rooms) release(room);
  p->rooms.clear();
}

Status make_image(Plugin* p, uint32_t k) {
  const uintptr_t at = p->image(k);
  FGMPI_TRY(p->plan.map(at));
  std::vector<uintptr_t> shifts;
  for (size_t i = 0; i < p->ranges.size(); ++i) {
    const uintptr_t base = p->ranges[i].base;
    const Plugin* owner = p->owners[i];
    if (owner && !owner->is_placed(k)) {  // another program or library, which no word points into
      shifts.push_back(0);
      continue;
    }
    // A guest has no image of the program that the process was started with: it uses the symbols
    // of what the dynamic linker loaded.
    if (!owner && !g_images.has(k))
      shifts.push_back(0);
    else
      shifts.push_back((owner ? owner->image(k) : g_images.base_of(i, k)) - base);
  }
  p->plan.fill(at, [&](const RelocatedWord& w) { return w.value + shifts[w.module]; });
  if (p->tls_module) p->blocks[k] = p->initial_block(k);
  return Status();
}

void unmap_image(Plugin* p, uint32_t k) {
  void* const at = reinterpret_cast<void*>(p->image(k));
  if (p->is_in_slot(k))
    unmap_in_slot(k, at, p->stride);
  else
    mmap(at, p->stride, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  forget_image(p, k);
}

void forget_image(Plugin* p, uint32_t k) {
  std::lock_guard<PlainMutex> lock(state().table);
  if (k < p->live.size()) p->live[k] = false;
  p->blocks.erase(k);
  if (p->in_place == k) p->in_place = Plugin::kNobody;
  const auto found = p->in_slots.find(k);
  if (found == p->in_slots.end()) return;
  sched::hide_from_debugger(found->second.shown.get());
  p->in_slots.erase(found);
}

void set_live(Plugin* p, uint32_t k, bool live) {
  std::lock_guard<PlainMutex> lock(state().table);
  if (p->live.size() <= k) p->live.resize(k + 1);
  p->live[k] = live;
}

uintptr_t find_image(const Plugin* p, uint32_t k) {
  std::lock_guard<PlainMutex> lock(state().table);
  return p->image(k);
}

}  // namespace fgmpi::privatize::plugins
