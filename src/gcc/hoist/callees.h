// What functions do that are called in a loop: whether a communicator may be freed, and which
// memory may change.
//
// A function whose body this translation unit has is looked at, with all that it calls. Of the
// others, those are harmless that GCC knows (printf, memcpy, sin), that return before anything of
// this unit runs (attribute leaf, which the headers of the C library give), and a few names.
// Everything else may do anything.
#pragma once

#include "mpi_calls.h"

namespace hoist {

/// What may happen until a call returns, beyond what it does with its arguments.
struct Effects {
  tree unknown = NULL_TREE;   ///< a function that may do anything
  bool unknown_call = false;  ///< a call of one, also through a pointer
  bool frees = false;         ///< MPI_Comm_free and what else frees communicators
  hash_set<tree> stored;      ///< variables, and members of records
  hash_set<tree> types;       ///< types of what is stored through pointers otherwise
};

/// Of a statement that is a call: nullptr when it is harmless. The result stays until
/// forget_effects(), which is called for each function that is compiled, since the compiler may
/// free what it refers to.
const Effects* effects_of_call(gimple* stmt);
void forget_effects();

/// A function whose body is known, and that changes nothing.
bool only_reads(tree callee);

/// May the call of another function write what argument i points to?
bool may_write_argument(gimple* stmt, unsigned i);

/// Adds what a store changes: the variable, the member, or the type behind the pointer.
void add_store(tree lhs, Effects* out);

}  // namespace hoist
