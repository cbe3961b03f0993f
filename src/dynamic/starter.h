// What fgmpi-start says to the process that spawns (spawn.h): | bytes 4 | index of its command 4 |, and, where exec has
// failed, | bytes 4 | errno 4 |. Both are messages of a conversation.
#pragma once

namespace fgmpi::dynamic {

/// fgmpi-start PORT INDEX PATH PROGRAM ARGUMENTS...  PATH: folders to look in, empty: those of the variable PATH.
/// Returns only when the program cannot be executed: its exit status.
int start_program(int argc, char** argv);

}  // namespace fgmpi::dynamic
