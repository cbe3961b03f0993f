// What is swapped at a switch, because the runtimes have it once per thread (or per process) and a
// rank may rely on it across an MPI call:
//
//   of an image    thread_local variables of the program and of private libraries; the C library's
//                  getopt variables; format, state and buffer of the standard C++ streams; the
//                  Fortran binding's pointers to MPI_BOTTOM and the like
//                  ("swapped areas": copied out of and into their addresses when another image
//                  runs); handlers that the image gave the C++ runtime (set_terminate and the like)
//   of a proclet   errno, the C++ runtime's caught exceptions, the locale set by uselocale
//
// An image's areas stay in place while no other image runs: two switches between a rank and its
// helper or the host stack copy nothing. Hence the rule: while a rank is switched out, its
// thread_local variables are not at their address, so they must not be buffers of pending
// communication (docs/hazards.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "proclet-sched/sched.h"

namespace fgmpi::privatize {

/// The state of a rank that has private globals; Proclet::image points to it.
struct Image {
  uint32_t index = 0;
  char* areas = nullptr;      ///< its swapped areas while it is not loaded
  void** handlers = nullptr;  ///< its handlers of the C++ runtime while it is not loaded
  char** argv = nullptr;
  struct SlotRecord* record = nullptr;            ///< has what follows, where ranks have slots
  struct LibcState* libc = nullptr;               ///< libc_state.cc
  class ThreadValues* values = nullptr;           ///< thread_keys.cc
  class RankHandlers* signal_handlers = nullptr;  ///< handlers.cc
  /// The guest that this rank runs; null where it runs the program that the process was started
  /// with.
  const class Guest* guest = nullptr;
};

/// Adds an area to be swapped. Called before ranks run; every image starts with its present bytes.
void add_swapped_area(void* live, size_t size);
/// Adds a pointer that points into a private module: in each image it points to that image's copy
/// of the same object.
void add_swapped_pointer(void* live);
/// Adds the thread-local blocks of the private modules and those variables of the runtimes that are
/// known to need swapping.
void add_areas_of_program();
size_t swapped_bytes();
size_t swapped_handlers();
/// Calls see(live, size) for each area.
void visit_swapped_areas(const std::function<void(const char* live, size_t size)>& see);
/// Gives the standard C++ streams, at the end of the process, the state that they had before ranks
/// ran: the last rank's may point to objects of its image.
void restore_streams();

// fortran.cc: the addresses of MPI_BOTTOM, MPI_IN_PLACE and the like of Fortran programs.
void add_fortran_constants();

// libc_state.cc: the variables of getopt; those that getopt hides are reset when a rank starts.
void add_option_cells();
void reset_getopt(bool always = false);
void forget_libc_state(Image* image);

// thread_keys.cc: calls see() with the place of each thread-specific value of the rank's main
// thread.
void visit_thread_values(const Image& image, const std::function<void(void* const* value)>& see);
// thread_keys.cc: drops the thread-specific values that an ended rank has left.
void forget_thread_values(Image* image);

/// The calling thread's variables of the module, or nullptr.
void* thread_local_block(const class ElfModule& module);

/// Fills the areas of a new image with their initial values, in memory that the image has for them
/// or gets now. REQUIRES: image->index is set and that
/// image is made (its TLS template is read).
void init_areas(Image* image);
/// Copies the image's areas to the addresses where its code expects them.
void load_image(Image* image);
/// Copies the areas of the image that is loaded to where they are kept while it is not; it stays
/// loaded.
void store_loaded_areas();
/// Makes every switch swap from now on. Called once, before ranks run, or before the first guest
/// runs. The areas of `first` are loaded.
void install_switch_hook(Image* first);
/// Makes ranks without an image use this image's areas: in a process that had no guests at first.
void use_for_ranks_without_image(Image* image);
/// Frees the areas of an image that is not loaded.
void free_areas(Image* image);
/// Called when the rank of this image has ended: its areas are written no more.
void forget_loaded_areas(const Image* image);

}  // namespace fgmpi::privatize
