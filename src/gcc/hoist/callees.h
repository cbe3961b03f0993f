// What the functions do that a loop calls: whether they may free a communicator, and which memory
// they may change.
//
// A function whose body this translation unit has is examined, with all that it calls. Three kinds
// of other functions are harmless: those that GCC knows (printf, memcpy, sin), those that return
// before any function of this unit runs (attribute leaf, which the headers of the C library set),
// and a few names. Every other function may do anything.
#pragma once

#include "mpi_calls.h"

namespace hoist {

/// What may happen until a call returns, beyond what the function does with its arguments.
struct Effects {
  tree unknown = NULL_TREE;   ///< the first function found that may do anything, or null
  bool unknown_call = false;  ///< the call may reach such a function, maybe through a pointer
  bool frees = false;         ///< MPI_Comm_free or another function may free a communicator
  hash_set<tree> stored;      ///< variables, and members of records, that stores may change
  hash_set<tree> types;       ///< types of objects that stores through other pointers may change
};

/// The effects of a statement that is a call; nullptr when the call is harmless. The result is
/// valid until forget_effects(), which is called for each function that is compiled, since the
/// compiler may free the trees that the result refers to.
const Effects* effects_of_call(gimple* stmt);
void forget_effects();

/// True for a function whose body this translation unit has, and that changes nothing.
bool only_reads(tree callee);

/// True where the call of another function may write what argument i points to.
bool may_write_argument(gimple* stmt, unsigned i);

/// Adds what a store changes: the variable, the member, or the type of the object behind the
/// pointer.
void add_store(tree lhs, Effects* out);

}  // namespace hoist
