// What is swapped at a switch, because the runtimes keep it once per thread (or per process) and a
// rank may rely on it across an MPI call:
//
//   of an image    thread_local variables of the program and of private libraries; the C library's
//                  getopt variables; format, state and buffer of the standard C++ streams; the
//                  Fortran binding's pointers to MPI_BOTTOM and the like
//                  ("swapped areas": copied out of and into place when another image runs);
//                  handlers that it gave the C++ runtime (set_terminate and the like)
//   of a proclet   errno, the C++ runtime's caught exceptions, the locale set by uselocale
//
// An image's areas stay in place while no other image runs: two switches between a rank and its
// helper or the host stack copy nothing. Hence the rule: while a rank is switched out, its
// thread_local variables are not at their address, so they must not be buffers of pending
// communication (docs/hazards.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "proclet-sched/sched.h"

namespace fgmpi::privatize {

/// What a rank with private globals has; Proclet::image points to it.
struct Image {
  uint32_t index = 0;
  char* areas = nullptr;      ///< its swapped areas while it is not loaded
  void** handlers = nullptr;  ///< its handlers of the C++ runtime while it is not loaded
  char** argv = nullptr;
  struct LibcState* libc = nullptr;               ///< libc_state.cc
  class ThreadValues* values = nullptr;           ///< thread_keys.cc
  class RankHandlers* signal_handlers = nullptr;  ///< handlers.cc
  /// The program, if it is another one than the process was started with.
  const class Guest* guest = nullptr;
};

/// Adds an area to be swapped. Called before ranks run; every image starts with what is there now.
void add_swapped_area(void* live, size_t size);
/// Adds a pointer that points into a private module: in each image it points to that image's copy
/// of the same object.
void add_swapped_pointer(void* live);
/// Thread-local blocks of the private modules and the runtimes' known cells.
void add_areas_of_program();
size_t swapped_bytes();
/// At the end of the process: gives the standard C++ streams the state that they had before ranks
/// ran, since the last rank's may point to objects of its image.
void restore_streams();

// fortran.cc: where MPI_BOTTOM, MPI_IN_PLACE and the like of Fortran programs are.
void add_fortran_constants();

// libc_state.cc: the variables of getopt; its hidden ones are reset when a rank starts.
void add_option_cells();
void reset_getopt(bool always = false);
void forget_libc_state(Image* image);

// thread_keys.cc: what a rank that has ended has left of thread-specific values.
void forget_thread_values(Image* image);

/// The calling thread's variables of the module, or nullptr.
void* thread_local_block(const class ElfModule& module);

/// Fills the areas of a new image with their initial values. REQUIRES: image->index is set and that
/// image is made (its TLS template is read).
void init_areas(Image* image);
/// Brings the image's areas into place.
void load_image(Image* image);
/// From now on every switch swaps. Called once, before ranks run, or before the first guest does:
/// `first` is in place.
void install_switch_hook(Image* first);
/// Ranks without an image, of a process that had no guests at first, have this one's areas.
void use_for_ranks_without_image(Image* image);
/// An image that is not in place gives back what it has allocated.
void free_areas(Image* image);

}  // namespace fgmpi::privatize
