// The table of plugins: what this process knows of libraries that ranks have loaded while they run
// (plugins.h), and what each rank has open of them.
//
// Thread rule: any thread, with the locks of PluginState.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/assert.h"
#include "base/plain_mutex.h"
#include "base/status.h"
#include "privatize/image/elf_module.h"
#include "privatize/image/module_plan.h"
#include "proclet-sched/coroutine/debug_table.h"

namespace fgmpi::privatize::plugins {

/// Address space for the images of the ranks first, first + 1, ..., at a fixed stride.
struct Room {
  uint32_t first = 0, count = 0;
  void* reserved = nullptr;
  size_t bytes = 0;
  uintptr_t region = 0;
  std::unique_ptr<sched::DebugImages> shown;
  bool holds(uint32_t k) const { return k - first < count; }
};

/// An image that lies in the slot of its rank.
struct SlotImage {
  uintptr_t at = 0;
  std::unique_ptr<sched::DebugImages> shown;
};

struct Plugin {
  const link_map* map = nullptr;
  ElfModule module;
  bool stays = false;   ///< not unloaded before the end of the process
  bool pinned = false;  ///< this library holds a handle of the dynamic linker's copy
  bool guest = false;   ///< a program, not a library
  std::string file;     ///< its path from the root on
  /// What tells this build of it from others; "" where ranks are not saved.
  std::string identity;
  std::vector<Room> rooms;
  std::unordered_map<uint32_t, SlotImage> in_slots;  ///< by rank
  size_t stride = 0;
  ModulePlan plan;
  std::vector<ModuleRange> ranges;  ///< what words of the plan point into
  std::vector<Plugin*> owners;  ///< by range: its plugin; nullptr: a module private from the start
  std::vector<Plugin*> needs;   ///< plugins needed by name, or because words point into them
  std::vector<bool> live;       ///< by rank: it has an image
  size_t tls_module = 0;
  uint32_t in_place = kNobody;  ///< the rank whose thread-local variables are at their address
  std::unordered_map<uint32_t, std::string> blocks;  ///< the other ranks' variables

  static constexpr uint32_t kNobody = ~0u;
  const Room* room_of(uint32_t k) const {
    for (const Room& room : rooms)
      if (room.holds(k)) return &room;
    return nullptr;
  }
  bool is_in_slot(uint32_t k) const { return in_slots.contains(k); }
  /// True where there is a place for the rank's image.
  bool is_placed(uint32_t k) const { return is_in_slot(k) || room_of(k); }
  /// The address of the rank's image. REQUIRES: is_placed(k); one of the locks is held.
  uintptr_t image(uint32_t k) const {
    if (const auto found = in_slots.find(k); found != in_slots.end()) return found->second.at;
    const Room* room = room_of(k);
    FGMPI_ASSERT(room);
    return room->region + (k - room->first) * stride;
  }
  bool has(uint32_t k) const { return k < live.size() && live[k]; }
  uintptr_t moved(uintptr_t address, uint32_t k) const {
    return address - module.base() + image(k);
  }
  /// Where the calling thread's variables of the dynamic linker's copy are.
  void* thread_local_block() const;
  /// The values with which a rank's thread-local variables begin.
  std::string initial_block(uint32_t k) const;
};

/// A library that a rank has open.
struct Opened {
  const link_map* root;
  int count;
  int mode;      ///< as dlopen() takes it
  void* handle;  ///< the rank's
  std::string file;
};

struct RankPlugins {
  std::vector<Opened> opened;
  std::vector<Plugin*> order;         ///< plugins with an image, in the order of their construction
  std::vector<Plugin*> held_plugins;  ///< plugins whose images stay until the rank ends
};

struct PluginState {
  /// Held during open() and close(), except while constructors and destructors run. A std::mutex
  /// would park a rank, which could then own it without running, while another rank waits for it on
  /// the host stack.
  PlainMutex operation;
  PlainMutex table;  ///< held for look-ups and changes of the table; no other lock is taken inside
  std::vector<std::unique_ptr<Plugin>> plugins;
  std::unordered_map<uint32_t, RankPlugins> ranks;
  std::vector<std::unique_ptr<Plugin>> found;  ///< what the hook has found during the present load
  std::vector<const link_map*> known;          ///< modules that the hook has seen already
  std::vector<const link_map*> of_start;       ///< where ranks may be saved: loaded before they ran
  const std::string* guest_copy = nullptr;     ///< the guest that is being loaded, else nullptr
  const std::string* guest_path = nullptr;
  bool hooked = false, hook_failed = false;
};
/// The process's table. Made when it is first used; never destroyed.
PluginState& state();
/// The plugin that the dynamic linker describes so, or nullptr.
Plugin* find(const link_map* map);

// ---- plugins.cc. REQUIRES: the caller holds PluginState::operation. -----------------------------
/// Makes the dynamic linker say what it loads. False: the system does not allow that.
bool prepare_hook();
/// Calls dlopen so that new libraries are found before any of their code runs. Runs on the host
/// stack, or on a thread of a rank.
void* load(const char* file, int mode, const void* caller);
/// Adds the modules that the hook has found to the table, and plans their images.
Status adopt_found();
/// Holds the dynamic linker's copy of a plugin for good: a rank's image outlives the rank's
/// dlclose(), and the image is described by that copy.
void pin(Plugin* p);
std::vector<Plugin*> needed_by_rank(const RankPlugins& rank);
const link_map* map_of(void* handle);

// ---- saved_plugins.cc ---------------------------------------------------------------------------
/// True where ranks may be saved: their handles then are addresses in their slots.
bool ranks_may_be_saved();
/// The path from the root on; "" of the program.
std::string file_of(const link_map* map);
/// What tells builds of a library apart.
std::string identity_of(const link_map* map);
/// A handle for a rank that has opened the library: `real`, or a copy of it in the rank's slot.
void* make_handle(uint32_t k, const link_map* map, void* real);

// ---- plugin_images.cc ---------------------------------------------------------------------------
/// Reserves room outside of slots for images of `count` ranks from `first` on. REQUIRES: the caller
/// does not hold the table's lock.
Status reserve(Plugin* p, uint32_t first, uint32_t count);
/// Finds a place for the rank's image: in its slot, if it has one with room for it. REQUIRES: the
/// caller does not hold the table's lock.
Status place_image(Plugin* p, uint32_t k);
/// The rank's image lies there, in its slot.
void show_in_slot(Plugin* p, uint32_t k, void* at);
/// Plans the images, and finds which plugins this one needs. REQUIRES: it is in the table.
Status plan(Plugin* p);
/// Releases the room.
void release(const Room& room);
void release(Plugin* p);
/// Makes the rank's image, which set_live() shows to others. REQUIRES: it is placed, and so are
/// those of what it needs.
Status make_image(Plugin* p, uint32_t k);
void unmap_image(Plugin* p, uint32_t k);
void set_live(Plugin* p, uint32_t k, bool live);
/// Forgets the image of a rank whose memory goes back to the system.
void forget_image(Plugin* p, uint32_t k);
/// The address of the rank's image. REQUIRES: as image(), but no lock is held.
uintptr_t find_image(const Plugin* p, uint32_t k);

}  // namespace fgmpi::privatize::plugins
