// Error classes, codes and strings that a program adds (MPI-4.0 section 9.5). Each rank numbers its
// own, as a process of its own would: ranks that add in the same order get the same numbers,
// whatever their neighbours in the process add.
//
//   class of the user   0x40000000 | class              class: 1 to 255
//   code in it          0x40000000 | number << 8 | class          number: 1 to 2^21 - 1
//   code in a class of MPI          0x60000000 | number << 8 | class
//
// Thread rule: any thread at any granted level; one mutex. Nothing here switches.
#pragma once

#include <cstdint>
#include <string>

namespace fgmpi::mpi {

inline bool is_of_user(int code) { return code > 0 && (code & 0x40000000); }

/// The class of a code that is_of_user(); MPI_ERR_UNKNOWN where this rank has not added it, or has
/// deleted it.
int class_of_user_code(int code);
/// What was given as its string, or nothing. *known: this rank has added it.
std::string text_of_user_code(int code, bool* known);
/// MPI_LASTUSEDCODE of this rank, which C programs get the address of: the largest that it has
/// added, or MPI_ERR_LASTCODE.
intptr_t& last_used_code();

}  // namespace fgmpi::mpi
