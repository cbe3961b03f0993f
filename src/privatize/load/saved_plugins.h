// Libraries that ranks have loaded (plugins.h), when ranks are saved and go on in another process:
// the dynamic linker loads them again there, and the rank's images lie where they were, so that
// addresses of functions and variables stay what they are.
//
// A handle of dlopen() is the address of the dynamic linker's description in the process. Where
// ranks may be saved, they get the address of a block in their slot in its place.
//
// Not carried: libraries with thread-local variables, whose place the dynamic linker chooses, and
// libraries of which a process has one, unless they were there before ranks ran.
//
// Thread rule: the scheduler's thread. Nothing switches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace fgmpi::privatize::plugins {

/// Called before ranks run, where they may be saved.
void record_modules_of_start();
/// Writes what the rank has open to a block in its slot, in place of the one at *list. Returns
/// nullptr, or why it cannot be carried, in words that follow "it"; the text is valid up to the
/// next call.
const char* describe_libraries(uint32_t image, void** list, uint64_t* bytes);
/// Loads what such a block tells, and makes the rank's images. REQUIRES: called on the host stack
/// before ranks run; the rest of the rank's memory is not yet filled in. Errors name the library.
Status load_libraries(uint32_t image, const void* list, size_t bytes);

}  // namespace fgmpi::privatize::plugins
