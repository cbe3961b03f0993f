// The place in the program that has led to an allocation, where the call itself is in a library's
// code: `std::vector` allocates in a header of C++'s library, getline() in the C library.
//
// Wins for users who look for a leak, or for what takes the memory of a rank: the line is theirs.
// Costs a walk up the stack for each allocation in such code; nothing of it runs where places are
// not recorded. Thread rule: any thread.
#pragma once

namespace fgmpi::heap {

/// The innermost call on the stack, from `place` outwards, that is no library's
/// (is_library_code()); `place` itself where there is none. REQUIRES: called below `place`.
const void* place_of_program(const void* place);

}  // namespace fgmpi::heap
