// Libraries that saved ranks have loaded: their description, and how they are loaded again.
#include "privatize/load/saved_plugins.h"

#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "base/build_id.h"
#include "base/environment.h"
#include "base/fields.h"
#include "base/file_text.h"
#include "base/hash.h"
#include "base/modules.h"
#include "privatize/internal.h"
#include "privatize/load/libraries.h"
#include "privatize/load/plugin_table.h"
#include "privatize/load/rank_heaps.h"

namespace fgmpi::privatize::plugins {
namespace {

using Operation = std::lock_guard<PlainMutex>;

const char* slot_of(uint32_t k) {
  const heap::SlotPlaces& places = slot_places();
  return places.slots + size_t{k} * places.stride;
}

bool is_late(const link_map* map) {
  const auto& of_start = state().of_start;
  return std::find(of_start.begin(), of_start.end(), map) == of_start.end() && !find(map);
}

/// A library that the plugin needs and of which the process has one, loaded while ranks ran; or
/// nullptr.
const link_map* late_need_of(const Plugin& plugin) {
  for (const std::string& name : plugin.module.needed())
    for (const link_map* map : loaded_modules())
      if (is_needed_as(map, name) && is_late(map)) return map;
  return nullptr;
}

constexpr const char* kLate =
    ", of which a process has one, and which was not there before ranks ran; allowed are libraries "
    "that the program is linked with, or that are preloaded (LD_PRELOAD)";

/// "", or why the rank cannot be saved.
std::string reason_against(uint32_t k, const RankPlugins& rank) {
  const auto loaded = [](const std::string& file) { return "it has loaded " + file + " (dlopen)"; };
  for (const Opened& o : rank.opened)
    if (is_late(o.root)) return loaded(o.file) + kLate;
  for (const Plugin* p : rank.order) {
    if (!p->is_in_slot(k)) return loaded(p->file) + ", for which its memory has no room";
    if (p->module.tls()) return loaded(p->file) + ", which has thread-local variables";
    if (const link_map* late = late_need_of(*p))
      return loaded(p->file) + ", which needs " + file_of(late) + kLate;
  }
  return "";
}

/// What is written of each: its file, and what tells that it is the same one.
void append_library(std::vector<uint8_t>* out, const std::string& file,
                    const std::string& identity) {
  append_text(out, file);
  append_text(out, identity);
}

std::vector<uint8_t> describe(uint32_t k, const RankPlugins& rank) {
  std::vector<uint8_t> out;
  append(&out, static_cast<uint32_t>(rank.opened.size()));
  for (const Opened& o : rank.opened) {
    append_library(&out, o.file, identity_of(o.root));
    append(&out, o.count);
    append(&out, o.mode);
    append(&out, reinterpret_cast<uint64_t>(o.handle));
  }
  append(&out, static_cast<uint32_t>(rank.order.size()));
  for (const Plugin* p : rank.order) {
    append_library(&out, p->file, p->identity);
    append(&out, uint64_t{p->image(k)});
    append(&out, uint64_t{p->stride});
  }
  return out;
}

// ---- Loading again ------------------------------------------------------------------------------

Status load_again(uint32_t k, const std::string& file, const std::string& identity, int mode,
                  const link_map** map) {
  const char* name = file.empty() ? nullptr : file.c_str();
  const auto* program = reinterpret_cast<const void*>(g_main);
  void* handle = load(name, (mode & ~(RTLD_LAZY | RTLD_NOLOAD)) | RTLD_NOW, program);
  if (!handle && (mode & RTLD_LAZY)) handle = load(name, mode & ~RTLD_NOLOAD, program);
  const auto rank = static_cast<unsigned long long>(first_world_rank()) + k;
  if (!handle)
    return error(MPI_ERR_OTHER, "rank %llu has loaded a library that cannot be loaded here: %s",
                 rank, dlerror());
  FGMPI_TRY(adopt_found());
  *map = map_of(handle);
  if (Plugin* p = find(*map); p && (mode & RTLD_NODELETE)) p->stays = true;
  if (identity_of(*map) == identity) return {};
  return error(MPI_ERR_OTHER, "rank %llu has loaded %s, which is another build here: %s, not %s",
               rank, file.c_str(), identity_of(*map).c_str(), identity.c_str());
}

struct SavedImage {
  Plugin* plugin;
  uint64_t at;
};

Status read_images(uint32_t k, FieldReader* in, std::vector<SavedImage>* images) {
  for (auto left = in->get<uint32_t>(); left > 0 && !in->failed(); --left) {
    const std::string file(in->get_text()), identity(in->get_text());
    const auto at = in->get<uint64_t>(), stride = in->get<uint64_t>();
    Plugin* plugin = nullptr;
    for (const auto& p : state().plugins)
      if (p->file == file && p->identity == identity) plugin = p.get();
    if (!plugin) {  // a library that stays, though the rank has closed it
      const link_map* map = nullptr;
      FGMPI_TRY(load_again(k, file, identity, RTLD_NOW, &map));
      plugin = find(map);
      if (plugin) pin(plugin);
    }
    const bool in_slot = rank_of_slot(reinterpret_cast<const void*>(at)) == k &&
                         rank_of_slot(reinterpret_cast<const void*>(at + stride - 1)) == k;
    if (!plugin || !in_slot)
      return error(MPI_ERR_OTHER, "the ranks of a process share %s here, or it has another size",
                   file.c_str());
    show_in_slot(plugin, k, reinterpret_cast<void*>(at));
    if (plugin->stride != stride)
      return error(MPI_ERR_OTHER, "%s has %zu bytes here, not %llu", file.c_str(), plugin->stride,
                   static_cast<unsigned long long>(stride));
    images->push_back({plugin, at});
  }
  return {};
}

}  // namespace

bool ranks_may_be_saved() {
  static const bool may = environment::text(environment::kCheckpointFolder) != nullptr;
  return may && ranks_have_heaps();
}

std::string file_of(const link_map* map) {
  if (map == program_module() || map->l_name[0] == '/') return map->l_name;
  char folder[4096];
  return getcwd(folder, sizeof folder) ? std::string(folder) + '/' + map->l_name : map->l_name;
}

std::string identity_of(const link_map* map) {
  std::string id;
  find_loaded_module([&](const dl_phdr_info& module) {
    if (module.dlpi_addr != map->l_addr) return false;
    id = build_id_of(segments_of(module), module.dlpi_addr);
    return true;
  });
  if (!id.empty() || map == program_module()) return id;
  const std::string bytes = text_of_file(map->l_name);
  return "contents " + std::to_string(hash_bytes(bytes.data(), bytes.size()));
}

void* make_handle(uint32_t k, const link_map* map, void* real) {
  if (!ranks_may_be_saved()) return real;
  const std::string file = file_of(map);
  auto* made =
      static_cast<link_map*>(allocate_in_slot_of(slot_of(k), sizeof(link_map) + file.size() + 1));
  if (!made) return real;
  // Programs may look at the members that <link.h> has.
  *made = {};
  const Plugin* p = find(map);
  made->l_addr = p && p->is_placed(k) ? p->image(k) : map->l_addr;
  made->l_name = reinterpret_cast<char*>(made + 1);
  memcpy(made->l_name, file.c_str(), file.size() + 1);
  return made;
}

void record_modules_of_start() { state().of_start = loaded_modules(); }

const char* describe_libraries(uint32_t k, void** list, uint64_t* list_bytes) {
  static std::string reason;  // must outlive the call
  free(*list);
  *list = nullptr;
  *list_bytes = 0;
  const Operation operation(state().operation);
  if (state().hook_failed)
    return "a rank of its process has loaded a library (dlopen), and the system does not allow to "
           "change the dynamic linker's code";
  const auto found = state().ranks.find(k);
  if (found == state().ranks.end()) return nullptr;
  reason = reason_against(k, found->second);
  if (!reason.empty()) return reason.c_str();
  const std::vector<uint8_t> bytes = describe(k, found->second);
  *list = allocate_in_slot_of(slot_of(k), bytes.size());
  if (!*list) return "it has no memory left for the list of its libraries";
  memcpy(*list, bytes.data(), bytes.size());
  *list_bytes = bytes.size();
  return nullptr;
}

Status load_libraries(uint32_t k, const void* list, size_t bytes) {
  const Operation operation(state().operation);
  if (!prepare_hook())
    return error(MPI_ERR_OTHER, "the system does not allow to change the dynamic linker's code");
  RankPlugins& rank = state().ranks[k];
  FieldReader in(list, bytes);
  for (auto left = in.get<uint32_t>(); left > 0 && !in.failed(); --left) {
    const std::string file(in.get_text()), identity(in.get_text());
    Opened o{nullptr, in.get<int>(), in.get<int>(), reinterpret_cast<void*>(in.get<uint64_t>()),
             file};
    for (int i = 0; i < o.count; ++i) FGMPI_TRY(load_again(k, file, identity, o.mode, &o.root));
    if (o.root) rank.opened.push_back(std::move(o));
  }
  std::vector<SavedImage> images;
  FGMPI_TRY(read_images(k, &in, &images));
  if (in.failed() || in.left())
    return error(MPI_ERR_OTHER, "the list of a rank's libraries is damaged");
  for (const SavedImage& image : images) {
    FGMPI_TRY(make_image(image.plugin, k));
    set_live(image.plugin, k, true);
    rank.order.push_back(image.plugin);
  }
  const std::vector<Plugin*> needed = needed_by_rank(rank);
  for (Plugin* p : rank.order) {
    if (std::find(needed.begin(), needed.end(), p) != needed.end()) continue;
    rank.held_plugins.push_back(p);
    pin(p);
  }
  return {};
}

}  // namespace fgmpi::privatize::plugins
