// Plugins: libraries that ranks load while they run (dlopen). Each rank that has one open has its
// own image of it.
//
//   the dynamic linker's copy | image of rank 0 | of rank 1 | ...   a region of its own a plugin
//
// Where ranks have slots (FGMPI_HEAP=rank), each image lies in its rank's, among the mappings.
// The dynamic linker loads, relocates and counts a plugin as in any process, but runs none of its
// constructors and destructors: its copy only serves to make images. A rank's handle is the dynamic
// linker's handle; addresses found through it are moved to the calling rank's image. A rank has
// images of the plugins that it has opened and of the libraries that these need, made when it opens
// the first one that needs them; its last dlclose() runs the destructors and unmaps them.
// Thread-local variables are swapped with the others (swap.h). Shared by all ranks are the
// libraries of which a process has one (libraries.h), and all libraries that these, the hosted
// MPICH or code on the host stack load.
//
// A guest is a program that joins (guests.h): it is loaded in the same way, and each rank that runs
// it has an image of it and of the libraries that came with it.
//
// Cost: that of an image at the start (images.h). Thread rule: any thread; a lock inside.
// Constructors and destructors run on the caller's stack and may switch; no other function here
// does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "privatize/image/elf_module.h"

namespace fgmpi::privatize::plugins {

/// True once a rank has loaded a plugin. Costs one load.
bool any();
/// Why the rank cannot go on in another process; nullptr: plugins do not keep it.
const char* why_rank_stays(uint32_t image);

/// An address in an image of a plugin.
struct PluginLocation {
  const ElfModule* module;
  uint32_t image;
  uintptr_t offset;  ///< from the base of the module
};
bool locate(uintptr_t address, PluginLocation* out);

/// Moves an address of the dynamic linker's copy of a plugin to the rank's image; 0 where the rank
/// has no image of that plugin. Any other address is returned as it is.
uintptr_t of_rank(uintptr_t address, uint32_t image);
/// Called when a rank has found this address of the dynamic linker's copy among all global symbols.
/// The address's plugin then stays loaded as long as the caller's plugin, or, where the caller is
/// in none, to the end of the rank.
void hold_plugin_for_caller(uintptr_t address, uint32_t image, uintptr_t caller);

/// Loads a rank's thread-local variables of plugins into their addresses, and saves those that were
/// there. Thread rule: the scheduler's thread.
void load_thread_locals(uint32_t image);
/// Gives the calling thread, which a rank has started, the initial values of the rank's images.
void init_thread_locals(uint32_t image);

/// dlopen (also with RTLD_NOLOAD) and dlclose for a rank. `caller`: the address that the call came
/// from.
void* open(uint32_t image, const char* file, int mode, const void* caller);
int close(uint32_t image, void* handle);

/// The dynamic linker's handle of what the rank knows by this one.
void* real_handle(uint32_t image, void* handle);

/// Calls see(module, base) for each image that the rank has.
void visit_images(uint32_t image,
                  const std::function<void(const ElfModule& module, uintptr_t base)>& see);

/// Runs the destructors of the rank's images, newest first, when the rank ends.
void run_destructors(uint32_t image);

/// Forgets the images of a rank that lie in its slot, whose memory goes back to the system.
void forget_rank(uint32_t image);

/// A program that was loaded to be run by guests. A plugin of this kind stays to the end of the
/// process.
struct Plugin;
/// Loads a guest from `copy`, which the dynamic linker accepts as a library; images are mapped from
/// `path`. `check` may refuse the program before any image of it can be made. REQUIRES: called on
/// the host stack. Errors: MPI_ERR_SPAWN, MPI_ERR_NO_MEM.
Status load_guest(const std::string& copy, const std::string& path,
                  const std::function<Status(const ElfModule&)>& check, Plugin** out);
/// Reserves room for images of the ranks first .. first + count - 1. REQUIRES: called on the host
/// stack. Errors: MPI_ERR_NO_MEM.
Status make_room(Plugin* guest, uint32_t first, uint32_t count);
/// Makes the images that the rank needs. REQUIRES: called on the host stack. Errors: MPI_ERR_OTHER.
Status enter_guest(Plugin* guest, uint32_t image);
/// Runs the constructors of the images that enter_guest() has made. May switch.
void construct_guest(uint32_t image, int argc, char** argv, char** envp, bool with_program);
const ElfModule& module_of(const Plugin* guest);
uintptr_t base_of(const Plugin* guest, uint32_t image);
/// Releases the images of ranks that have ended, and the room for them. REQUIRES: called on the
/// host stack, not on a stack of one of these ranks.
void forget_ranks(uint32_t first, uint32_t count);
/// True where the library was loaded as a plugin.
bool is_plugin(const link_map* map);

}  // namespace fgmpi::privatize::plugins
