// Handles of ranks that may be saved, and what tells libraries and their builds apart.
#include <link.h>
#include <string.h>
#include <unistd.h>

#include <string>

#include "base/build_id.h"
#include "base/environment.h"
#include "base/file_text.h"
#include "base/hash.h"
#include "base/modules.h"
#include "privatize/load/plugin_table.h"
#include "privatize/load/rank_heaps.h"

namespace fgmpi::privatize::plugins {
namespace {

const char* slot_of(uint32_t k) {
  const heap::SlotPlaces& places = slot_places();
  return places.slots + size_t{k} * places.stride;
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

}  // namespace fgmpi::privatize::plugins
