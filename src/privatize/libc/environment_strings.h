// Strings of the environment that ranks hold, where ranks may be saved: they lie in the slots of
// their ranks. What the kernel gives a process lies elsewhere in each.
//
//   getenv() of a rank's code   a string in the rank's slot, the same again while the value is
//   environ, as a rank sees it  in another process, the one that is there
//
// Thread rule: the scheduler's thread; other threads get the process's own strings.
#pragma once

#include <cstdint>

namespace fgmpi::privatize {

/// From now on, ranks get strings in their slots. Called once, before ranks run.
void keep_environment_strings();
/// Gives the rank's `environ` this process's value, unless the rank has one in its slot. Called
/// when the slot has been filled with what another process has saved.
void restore_environ(uint32_t index);

}  // namespace fgmpi::privatize
