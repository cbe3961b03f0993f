// Plugins: libraries that ranks load while they run (dlopen), of which each rank that has one open
// has its own image.
//
//   the dynamic linker's copy | image of rank 0 | of rank 1 | ...        a region of its own for each plugin
//
// The dynamic linker loads, relocates and counts as for any process, but runs no constructor and no
// destructor of a plugin: its copy is only what images are made from. The handle is its handle;
// addresses that it gives out are moved to the calling rank's image. A rank has images of what it
// has opened and of what that needs, made when it opens the first that needs them; its last
// dlclose() runs the destructors and unmaps them. Thread-local variables are swapped with the
// others (swap.h). Shared stay the libraries of which a process has one (libraries.h), and all that
// is loaded by them, by the hosted MPI or on the host stack.
//
// A guest is a program that joins (guests.h): it is loaded in the same way, and each rank that runs
// it has an image of it and of the libraries that came with it.
//
// Costs: as an image at the start (images.h). Thread rule: any thread; a lock inside. Constructors
// and destructors run on the caller's stack and may switch; no other function here does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "privatize/elf_module.h"

namespace fgmpi::privatize::plugins {

/// Is there any? One load.
bool any();

/// An address in an image of a plugin.
struct Location {
  const ElfModule* module;
  uint32_t image;
  uintptr_t offset;  ///< from the base of the module
};
bool locate(uintptr_t address, Location* out);

/// An address of the dynamic linker's copy of a plugin as the rank has it; 0 where the rank has no
/// image of that plugin. Any other address stays.
uintptr_t of_rank(uintptr_t address, uint32_t image);
/// A rank has found this address of the dynamic linker's copy among all global symbols. Its plugin
/// stays as long as the caller, which is in another plugin, or to the end of the rank.
void keep_for(uintptr_t address, uint32_t image, uintptr_t caller);

/// Brings a rank's thread-local variables of plugins into place, and keeps those that were there.
/// Scheduler's thread.
void load_thread_locals(uint32_t image);
/// Gives the calling thread, which a rank has started, the initial values of the rank's images.
void init_thread_locals(uint32_t image);

/// dlopen, dlclose and the answer of RTLD_NOLOAD for a rank. `caller`: the address that the call
/// came from.
void* open(uint32_t image, const char* file, int mode, const void* caller);
int close(uint32_t image, void* handle);

/// Runs the destructors of the rank's images, newest first: it ends.
void run_destructors(uint32_t image);

/// A program that was loaded to be run by guests; stays to the end of the process.
struct Plugin;
/// Loads it from `copy`, which the dynamic linker takes for a library; images are of `path`.
/// `check` may refuse it before any image of it can be made. Host stack. Errors: MPI_ERR_SPAWN,
/// MPI_ERR_NO_MEM.
Status load_guest(const std::string& copy, const std::string& path,
                  const std::function<Status(const ElfModule&)>& check, Plugin** out);
/// Room for images of the ranks first .. first + count - 1. Errors: MPI_ERR_NO_MEM. Host stack.
Status make_room(Plugin* guest, uint32_t first, uint32_t count);
/// Makes the images that the rank needs. Host stack. Errors: MPI_ERR_OTHER.
Status enter_guest(Plugin* guest, uint32_t image);
/// Runs the constructors of what enter_guest() has made. May switch.
void construct_guest(uint32_t image, int argc, char** argv, char** envp, bool with_program);
const ElfModule& module_of(const Plugin* guest);
uintptr_t base_of(const Plugin* guest, uint32_t image);
/// These ranks have ended: their images and the room for them are given back. Host stack, not on
/// one of their stacks.
void forget_ranks(uint32_t first, uint32_t count);
/// Was the library loaded as a plugin?
bool is_plugin(const link_map* map);

}  // namespace fgmpi::privatize::plugins
