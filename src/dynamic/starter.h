// The messages of fgmpi-start to the process that spawns (spawn.h): | bytes 4 | index of
// its command 4 |, and, where exec has failed, | bytes 4 | errno 4 |. Both are messages of
// a conversation.
#pragma once

#include <cstdint>
#include <string>

namespace fgmpi::dynamic {

/// The program fgmpi-start: PORT INDEX PATH PROGRAM ARGUMENTS... PATH: folders to search; empty:
/// those of the variable PATH. Returns only when the program cannot be executed: its exit status.
int start_program(int argc, char** argv);

/// Reports to the port of the parents that this rank of the spawned job has ended before it called
/// MPI_Init (connect.h); ~0: its number is not known. Blocks until the message is read; does
/// nothing where nobody listens any more.
void send_end_to_starter(const std::string& port, uint32_t rank);

}  // namespace fgmpi::dynamic
