// Libraries that ranks load while they run: how they are found, their images made, and
// both dropped.

#include "privatize/load/plugins.h"

#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/modules.h"
#include "privatize/image/images.h"
#include "privatize/image/swap.h"
#include "privatize/internal.h"
#include "privatize/load/libraries.h"
#include "privatize/load/plugin_table.h"
#include "privatize/load/rank_heaps.h"
#include "privatize/load/real_loader.h"
#include "privatize/load/standard_abi.h"
#include "proclet-sched/immortal.h"

namespace fgmpi::privatize::plugins {
namespace {
constinit Immortal<std::atomic<PluginState*>> g_state;
std::atomic<size_t> g_count{0}, g_with_thread_locals{0};
[[gnu::tls_model("initial-exec")]] thread_local bool t_loading = false;
}  // namespace

PluginState& state() {
  PluginState* s = g_state.value.load();
  if (s) return *s;
  auto* made = new PluginState;
  if (g_state.value.compare_exchange_strong(s, made)) return *made;
  delete made;
  return *s;
}

Plugin* find(const link_map* map) {
  for (auto& p : state().plugins)
    if (p->map == map) return p.get();
  return nullptr;
}

namespace {

/// The dynamic linker calls this with its lock held, for the first time before it runs code of what
/// it has just loaded; before glibc 2.41 also before it relocates that.
void on_list_changed() {
  if (!t_loading || _r_debug.r_state != r_debug::RT_CONSISTENT) return;
  PluginState& s = state();
  for (const link_map* map : loaded_modules()) {
    if (std::find(s.known.begin(), s.known.end(), map) != s.known.end()) continue;
    s.known.push_back(map);
    if (is_one_per_process(file_name(map->l_name)) || !strchr(map->l_name, '/')) continue;
    auto plugin = std::make_unique<Plugin>();
    plugin->map = map;
    plugin->guest = s.guest_copy && *s.guest_copy == map->l_name;
    const std::string path = plugin->guest ? *s.guest_path : map->l_name;
    if (!plugin->module.read(map, path, false).ok() || plugin->module.text_relocations() ||
        !plugin->module.defer_constructors())
      continue;
    s.found.push_back(std::move(plugin));
  }
}

}  // namespace

void* load(const char* file, int mode, const void* caller) {
  static void* const real_dlopen = real::function("dlopen");
  PluginState& s = state();
  s.found.clear();
  s.known = loaded_modules();
  t_loading = true;
  void* handle = real::call_from(real_dlopen, caller, const_cast<char*>(file),
                                 reinterpret_cast<void*>(static_cast<intptr_t>(mode)), nullptr);
  t_loading = false;
  if (!handle) s.found.clear();
  bind_standard_abi();  // before images are made of what the dynamic linker has bound
  return handle;
}

namespace {

void count_plugins() {
  const auto& plugins = state().plugins;
  g_count = plugins.size();
  g_with_thread_locals = static_cast<size_t>(std::count_if(
      plugins.begin(), plugins.end(), [](const auto& p) { return p->tls_module != 0; }));
}

}  // namespace

Status adopt_found() {
  PluginState& s = state();
  if (s.found.empty()) return Status();
  const size_t before = s.plugins.size();
  Status status;
  for (auto& p : s.found) {
    p->file = file_of(p->map);
    if (ranks_may_be_saved()) p->identity = identity_of(p->map);
    if (status.ok() && g_images.count() > 0 && !ranks_have_heaps())
      status = reserve(p.get(), 0, g_images.count());
  }
  {
    std::lock_guard<PlainMutex> lock(s.table);
    for (auto& p : s.found) s.plugins.push_back(std::move(p));
  }
  s.found.clear();
  for (size_t i = before; i < s.plugins.size() && status.ok(); ++i)
    status = plan(s.plugins[i].get());
  count_plugins();
  return status;
}

namespace {

/// Removes the plugins that the dynamic linker has unloaded.
void drop_unloaded() {
  PluginState& s = state();
  const std::vector<const link_map*> loaded = loaded_modules();
  std::lock_guard<PlainMutex> lock(s.table);
  std::erase_if(s.plugins, [&](const std::unique_ptr<Plugin>& p) {
    if (std::find(loaded.begin(), loaded.end(), p->map) != loaded.end()) return false;
    release(p.get());
    return true;
  });
  count_plugins();
}

/// Adds to `order` the plugins that `p` needs, then `p`.
void add_with_needs(Plugin* p, std::vector<Plugin*>* seen, std::vector<Plugin*>* order) {
  if (std::find(seen->begin(), seen->end(), p) != seen->end()) return;
  seen->push_back(p);
  for (Plugin* other : p->needs) add_with_needs(other, seen, order);
  order->push_back(p);
}

}  // namespace

std::vector<Plugin*> needed_by_rank(const RankPlugins& rank) {
  std::vector<Plugin*> seen, order;
  for (const Opened& o : rank.opened)
    if (Plugin* p = find(o.root)) add_with_needs(p, &seen, &order);
  for (Plugin* p : rank.held_plugins) add_with_needs(p, &seen, &order);
  for (Plugin* p : rank.order)
    if (p->stays) add_with_needs(p, &seen, &order);
  return order;
}

namespace {

bool is_held_by_rank(const RankPlugins& rank, const Plugin* p) {
  return std::find(rank.held_plugins.begin(), rank.held_plugins.end(), p) !=
         rank.held_plugins.end();
}

class PluginOperation {
 public:
  PluginOperation() : lock_(state().operation) {}

 private:
  std::lock_guard<PlainMutex> lock_;
};

template <class F>
void on_large_stack(F&& f) {
  if (on_proclet())
    sched::call_on_host(f);
  else
    f();
}

void report(const Status& status) { fprintf(stderr, "fgmpi: dlopen: %s\n", status.what().c_str()); }

}  // namespace

void pin(Plugin* p) {
  static void* const real_dlopen = real::function("dlopen");
  if (std::exchange(p->pinned, true)) return;
  real::call_from(real_dlopen, nullptr, p->map->l_name,
                  reinterpret_cast<void*>(static_cast<intptr_t>(RTLD_NOLOAD | RTLD_LAZY)), nullptr);
}

namespace {

/// Makes the rank's missing images of the plugins that it needs.
Status make_images(uint32_t k, std::vector<Plugin*>* made) {
  PluginState& s = state();
  RankPlugins& rank = s.ranks[k];
  const std::vector<Plugin*> needed = needed_by_rank(rank);
  for (Plugin* p : needed)  // words of one may point into any other
    if (!p->has(k)) FGMPI_TRY(place_image(p, k));
  for (Plugin* p : needed) {
    if (p->has(k)) continue;
    if (p->stays) pin(p);
    FGMPI_TRY(make_image(p, k));
    set_live(p, k, true);
    rank.order.push_back(p);
    made->push_back(p);
  }
  return Status();
}

Opened& count_opening(uint32_t k, const link_map* root, int mode) {
  auto& opened = state().ranks[k].opened;
  for (Opened& o : opened) {
    if (o.root != root) continue;
    ++o.count;
    o.mode |= mode;
    return o;
  }
  return opened.emplace_back(root, 1, mode, nullptr, file_of(root));
}

}  // namespace

bool prepare_hook() {
  PluginState& s = state();
  if (!s.hooked && !s.hook_failed) {
    s.hooked = real::watch_loading(on_list_changed);
    s.hook_failed = !s.hooked;
    if (s.hook_failed)
      fprintf(stderr,
              "fgmpi: warning: the system does not allow to change the dynamic linker's code: "
              "libraries loaded by dlopen are shared by the ranks of a process\n");
  }
  return s.hooked;
}

const link_map* map_of(void* handle) {
  const link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map : nullptr;
}

namespace {

bool rank_has(uint32_t k, const link_map* map) {
  const Plugin* p = find(map);
  return !p || p->has(k);
}

void* open_locked(uint32_t k, const char* file, int mode, const void* caller,
                  std::vector<Plugin*>* made) {
  static auto* const real_dlclose = reinterpret_cast<int (*)(void*)>(real::function("dlclose"));
  if (!prepare_hook()) return load(file, mode, caller);
  const bool lazy = !(mode & RTLD_NOW);
  // RTLD_NOW binds functions once for all images. A library that refers to a function that does not
  // exist cannot be loaded so: it is loaded as the caller wanted, and bound lazily.
  void* handle = load(file, (mode & ~RTLD_LAZY) | RTLD_NOW, caller);
  if (!handle && lazy && !(mode & RTLD_NOLOAD)) handle = load(file, mode, caller);
  if (!handle) return nullptr;
  const link_map* map = map_of(handle);
  if ((mode & RTLD_NOLOAD) && !rank_has(k, map)) {
    real_dlclose(handle);
    return nullptr;
  }
  Status status = adopt_found();
  if (Plugin* p = find(map); p && (mode & RTLD_NODELETE)) p->stays = true;
  Opened& opened = count_opening(k, map, mode);
  if (status.ok()) status = make_images(k, made);
  if (!status.ok()) report(status);
  if (!opened.handle) opened.handle = make_handle(k, map, handle);
  return opened.handle;
}

void construct(const std::vector<Plugin*>& made, uint32_t k) {
  sched::Proclet* p = sched::rank_proclet(k);
  char** argv = p && p->image ? static_cast<const Image*>(p->image)->argv : g_program.argv;
  for (Plugin* plugin : made)
    plugin->module.run_constructors(find_image(plugin, k), g_program.argc, argv, g_program.envp);
}

}  // namespace

bool any() { return g_count.load(std::memory_order_relaxed) != 0; }

const char* why_rank_stays(uint32_t k) {
  PluginOperation operation;
  const auto& ranks = state().ranks;
  if (const auto rank = ranks.find(k); rank != ranks.end() && !rank->second.opened.empty())
    return "it has loaded a library (dlopen)";
  if (g_with_thread_locals != 0)
    return "a rank of its process has loaded a library with thread-local variables (dlopen)";
  return nullptr;
}

bool locate(uintptr_t address, PluginLocation* out) {
  if (!any()) return false;
  PluginState& s = state();
  const int64_t slot = rank_of_slot(reinterpret_cast<const void*>(address));
  const auto owner = static_cast<uint32_t>(slot);
  std::lock_guard<PlainMutex> lock(s.table);
  for (const auto& p : s.plugins) {
    if (slot >= 0 && p->has(owner) && address - p->image(owner) < p->stride) {
      *out = {&p->module, owner, address - p->image(owner)};
      return true;
    }
    for (const Room& room : p->rooms) {
      const uintptr_t in_region = address - room.region;
      if (in_region >= p->stride * room.count) continue;
      const auto k = room.first + static_cast<uint32_t>(in_region / p->stride);
      if (!p->has(k)) return false;
      *out = {&p->module, k, in_region % p->stride};
      return true;
    }
  }
  return false;
}

uintptr_t of_rank(uintptr_t address, uint32_t k) {
  if (!any()) return address;
  PluginState& s = state();
  std::lock_guard<PlainMutex> lock(s.table);
  for (const auto& p : s.plugins)
    if (p->module.contains(address)) return p->has(k) ? p->moved(address, k) : 0;
  return address;
}

void hold_plugin_for_caller(uintptr_t address, uint32_t k, uintptr_t caller) {
  if (!any()) return;
  PluginState& s = state();
  std::lock_guard<PlainMutex> operation(s.operation);
  Plugin *held_plugins = nullptr, *user = nullptr;
  for (const auto& p : s.plugins) {
    if (p->module.contains(address)) held_plugins = p.get();
    if (p->module.contains(caller)) user = p.get();
  }
  if (!held_plugins || held_plugins == user) return;
  auto& list = user ? user->needs : s.ranks[k].held_plugins;
  if (std::find(list.begin(), list.end(), held_plugins) == list.end()) list.push_back(held_plugins);
  if (!user) pin(held_plugins);
}

void load_thread_locals(uint32_t k) {
  if (!g_with_thread_locals) return;
  PluginState& s = state();
  std::lock_guard<PlainMutex> lock(s.table);
  for (const auto& p : s.plugins) {
    if (!p->tls_module || p->in_place == k || !p->has(k)) continue;
    auto* live = static_cast<char*>(p->thread_local_block());
    if (p->in_place != Plugin::kNobody)
      p->blocks[p->in_place].assign(live, p->module.tls()->p_memsz);
    memcpy(live, p->blocks[k].data(), p->module.tls()->p_memsz);
    p->in_place = k;
  }
}

void init_thread_locals(uint32_t k) {
  if (!any()) return;
  std::vector<Plugin*> with_block;
  {
    PluginState& s = state();
    std::lock_guard<PlainMutex> lock(s.table);
    for (const auto& p : s.plugins)
      if (p->tls_module && p->has(k)) with_block.push_back(p.get());
  }
  for (Plugin* p : with_block) {
    const std::string initial = p->initial_block(k);
    memcpy(p->thread_local_block(), initial.data(), initial.size());
  }
}

void* open(uint32_t k, const char* file, int mode, const void* caller) {
  void* handle = nullptr;
  std::vector<Plugin*> made;
  on_large_stack([&] {
    PluginOperation operation;
    handle = open_locked(k, file, mode, caller, &made);
    if (on_scheduler_thread() && !made.empty()) load_thread_locals(k);
  });
  for (const Plugin* p : made)
    if (p->tls_module) sched::call_hook_at_each_switch();
  construct(made, k);
  return handle;
}

int close(uint32_t k, void* handle) {
  static auto* const real_dlclose = reinterpret_cast<int (*)(void*)>(real::function("dlclose"));
  PluginState& s = state();
  std::vector<Plugin*> dropped;
  void* root = nullptr;  // the dynamic linker's handle
  {
    PluginOperation operation;
    auto& rank = s.ranks[k];
    auto o = std::find_if(rank.opened.begin(), rank.opened.end(),
                          [&](const Opened& x) { return x.handle == handle; });
    if (o == rank.opened.end()) {
      // The handle's library was loaded from the start, or not by this rank. A plugin is then
      // refused; the dynamic linker answers for other libraries.
      const bool is_of_rank = rank_of_slot(handle) >= 0;  // and closed already
      return is_of_rank || find(map_of(handle)) ? -1 : real_dlclose(handle);
    }
    root = const_cast<link_map*>(o->root);
    if (--o->count == 0) {
      if (o->handle != root) free(o->handle);
      rank.opened.erase(o);
    }
    const sched::Proclet* proclet = sched::rank_proclet(k);
    for (Plugin* p : rank.order)
      if (!is_held_by_rank(rank, p) && proclet &&
          has_thread_destructors_of(proclet, p->image(k), p->stride))
        rank.held_plugins.push_back(p), pin(p);
    const std::vector<Plugin*> held_plugins = needed_by_rank(rank);
    for (size_t i = rank.order.size(); i-- > 0;) {
      Plugin* p = rank.order[i];
      if (std::find(held_plugins.begin(), held_plugins.end(), p) != held_plugins.end()) continue;
      dropped.push_back(p);
      rank.order.erase(rank.order.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  for (Plugin* p : dropped) p->module.run_destructors(find_image(p, k));
  int result = 0;
  on_large_stack([&] {
    PluginOperation operation;
    for (Plugin* p : dropped) {
      set_live(p, k, false);  // before others may have these addresses
      unmap_image(p, k);
    }
    result = real_dlclose(root);
    drop_unloaded();
  });
  return result;
}

void* real_handle(uint32_t k, void* handle) {
  if (rank_of_slot(handle) < 0) return handle;
  PluginOperation operation;
  for (const Opened& o : state().ranks[k].opened)
    if (o.handle == handle) return const_cast<link_map*>(o.root);
  return handle;
}

void visit_images(uint32_t image,
                  const std::function<void(const ElfModule& module, uintptr_t base)>& see) {
  if (!any()) return;
  std::lock_guard<PlainMutex> lock(state().table);
  for (const auto& p : state().plugins)
    if (p->has(image)) see(p->module, p->image(image));
}

void run_destructors(uint32_t k) {
  if (!any()) return;
  std::vector<Plugin*> order;
  {
    PluginOperation operation;
    order = std::exchange(state().ranks[k].order, {});
  }
  for (size_t i = order.size(); i-- > 0;) order[i]->module.run_destructors(find_image(order[i], k));
}

void forget_rank(uint32_t k) {
  if (!any()) return;
  PluginOperation operation;
  state().ranks.erase(k);
  for (const auto& p : state().plugins)
    if (p->is_in_slot(k)) forget_image(p.get(), k);
}

// ---- Guests -------------------------------------------------------------------------------------

namespace {

/// Undoes load(): closes the dynamic linker's copies and removes their plugins.
Status refuse_guest(void* handle, Status why) {
  static auto* const real_dlclose = reinterpret_cast<int (*)(void*)>(real::function("dlclose"));
  if (handle) real_dlclose(handle);
  drop_unloaded();
  return why;
}

/// Checks that the guest refers to no library that is private to the ranks already: spawned ranks
/// could not have images of it.
Status check_private_modules(const Plugin& guest) {
  for (const RelocatedWord& w : guest.plan.words().moving)
    if (!guest.owners[w.module] && w.module > 0)
      return error(MPI_ERR_SPAWN,
                   "library %s keeps variables for each rank of this process already, so spawned "
                   "ranks cannot have their own; spawn processes instead",
                   g_images.modules()[w.module].name().c_str());
  return {};
}

}  // namespace

Status load_guest(const std::string& copy, const std::string& path,
                  const std::function<Status(const ElfModule&)>& check, Plugin** out) {
  PluginOperation operation;
  PluginState& s = state();
  if (!prepare_hook())
    return error(MPI_ERR_SPAWN,
                 "the system does not allow to change the dynamic linker's code, which running "
                 "programs in running processes needs; spawn processes instead");
  s.guest_copy = &copy;
  s.guest_path = &path;
  void* handle = load(copy.c_str(), RTLD_NOW | RTLD_LOCAL, nullptr);
  const std::string why = handle ? "" : dlerror();
  s.guest_copy = s.guest_path = nullptr;
  if (!handle)
    return error(MPI_ERR_SPAWN, "%s cannot be loaded into a running process: %s", path.c_str(),
                 why.c_str());
  Status status = adopt_found();
  Plugin* guest = find(map_of(handle));
  if (status.ok() && (!guest || !guest->guest))
    status = error(MPI_ERR_SPAWN,
                   "%s cannot be loaded into a running process: its ranks cannot have globals of "
                   "their own; spawn processes instead",
                   path.c_str());
  if (status.ok()) status = check(guest->module);
  if (status.ok()) status = check_private_modules(*guest);
  if (!status.ok()) return refuse_guest(handle, std::move(status));
  guest->stays = guest->pinned = true;  // this handle is never closed
  *out = guest;
  return {};
}

bool is_plugin(const link_map* map) { return find(map) != nullptr; }
const ElfModule& module_of(const Plugin* guest) { return guest->module; }
uintptr_t base_of(const Plugin* guest, uint32_t k) { return find_image(guest, k); }

Status make_room(Plugin* guest, uint32_t first, uint32_t count) {
  PluginOperation operation;
  std::vector<Plugin*> seen, order;
  add_with_needs(guest, &seen, &order);
  for (Plugin* p : order)
    if (!ranks_have_heaps()) FGMPI_TRY(reserve(p, first, count));
  return {};
}

Status enter_guest(Plugin* guest, uint32_t k) {
  PluginOperation operation;
  count_opening(k, guest->map, 0);
  std::vector<Plugin*> made;
  FGMPI_TRY(make_images(k, &made));
  for (const Plugin* p : made)
    if (p->tls_module) sched::call_hook_at_each_switch();
  load_thread_locals(k);
  return {};
}

void construct_guest(uint32_t k, int argc, char** argv, char** envp, bool with_program) {
  std::vector<Plugin*> order;
  {
    PluginOperation operation;
    order = state().ranks[k].order;
  }
  for (const Plugin* p : order)
    if (!p->guest || with_program) p->module.run_constructors(find_image(p, k), argc, argv, envp);
}

void forget_ranks(uint32_t first, uint32_t count) {
  PluginOperation operation;
  PluginState& s = state();
  for (uint32_t k = first; k < first + count; ++k) {
    s.ranks.erase(k);
    for (const auto& p : s.plugins)
      if (p->is_in_slot(k)) unmap_image(p.get(), k);
  }
  std::lock_guard<PlainMutex> lock(s.table);
  for (const auto& p : s.plugins) {
    std::erase_if(p->rooms, [&](const Room& room) {
      if (room.first < first || room.first >= first + count) return false;
      release(room);
      return true;
    });
    for (uint32_t k = first; k < first + count && k < p->live.size(); ++k) {
      p->live[k] = false;
      p->blocks.erase(k);
      if (p->in_place == k) p->in_place = Plugin::kNobody;
    }
  }
}

}  // namespace fgmpi::privatize::plugins
