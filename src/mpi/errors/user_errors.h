// Error classes, codes and strings that a program adds (MPI-4.0 section 9.5). Each rank has numbers
// of its own, as if it were a process: ranks that add in the same order get the same numbers,
// whatever other ranks of the process add.
//
//   class of the user               0x40000000 | class                  class: 1 to 255
//   code in a class of the user     0x40000000 | number << 8 | class    number: 1 to 2^21 - 1
//   code in a class of MPI          0x60000000 | number << 8 | class
//
// Thread rule: any thread at any granted level; one mutex. Nothing here switches.
#pragma once

#include <cstdint>
#include <string>

namespace fgmpi::mpi {

inline bool is_of_user(int code) { return code > 0 && (code & 0x40000000); }

/// The class of a code for which is_of_user() is true; MPI_ERR_UNKNOWN where this rank has not
/// added it, or has deleted it.
int class_of_user_code(int code);
/// The string that the rank has added for a code, or "". *known: this rank has added the code.
std::string text_of_user_code(int code, bool* known);
/// MPI_LASTUSEDCODE of this rank, whose address C programs receive: the largest code that the rank
/// has added, or MPI_ERR_LASTCODE.
intptr_t& last_used_code();

}  // namespace fgmpi::mpi
