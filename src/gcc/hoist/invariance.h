// Which values stay the same while a loop runs, as far as can be seen.
//
// Memory may change by stores, and by calls: those that are given its address, those that store to
// it (callees.h) and, where others than this function and MPI know its address, calls of unknown
// functions. What is decided here decides what pays, not what is right: the library compares the
// arguments of each movement with those of the group (mpi/opened.h).
#pragma once

#include "callees.h"

namespace hoist {

class Function {
 public:
  /// Looks at the whole of the function that is compiled, once.
  explicit Function(function* f);

  /// Is argument i of a call the same in each iteration of the loop? *why: what speaks against it.
  bool is_invariant(gimple* call, const MpiCall& mpi, unsigned i, loop_p loop, std::string* why);
  /// May a call in the loop free the communicator that this call uses?
  bool may_be_freed(gimple* call, const MpiCall& mpi, loop_p loop, std::string* why);
  /// The value of argument i in front of the loop, computed by statements that are added to `code`;
  /// NULL_TREE where it can only be computed within. REQUIRES: it is invariant.
  tree value_before(gimple* call, const MpiCall& mpi, unsigned i, loop_p loop, gimple_seq* code);

 private:
  struct Known {
    bool passed = false;    ///< its address is an argument of a function that may keep it
    bool held = false;      ///< its address is a value
    bool assigned = false;  ///< a value that is no constant is stored, other than by an MPI call
  };
  void look_at(gimple* stmt);
  void note_address(tree operand, bool as_argument);
  const Known& known(tree decl);

  bool invariant(tree value, loop_p loop, std::string* why, int depth = 0);
  bool invariant_result(gimple* call, loop_p loop, std::string* why, int depth);
  bool invariant_memory(tree ref, gimple* at, loop_p loop, std::string* why, int depth);
  /// The value that a store in front of `at`, in its block, has given `ref`; *clobbered: or may
  /// have.
  tree stored_before(tree ref, gimple* at, bool* clobbered);
  bool may_modify(gimple* stmt, tree ref);
  bool call_may_modify(gimple* stmt, tree ref);
  bool may_be(tree stored, tree ref) const;
  bool store_may_modify(tree lhs, tree ref);
  bool is_private(tree decl);
  bool is_predefined(gimple* call, const MpiCall& mpi, tree* decl);
  bool may_be_read_early(tree ref, loop_p loop);
  tree before(tree value, loop_p loop, gimple_seq* code, int depth);
  tree load_before(tree ref, gimple* at, loop_p loop, gimple_seq* code, int depth);

  function* function_;
  hash_map<tree, Known> decls_;
  bool of_communicator_ = false;  ///< what is asked about now
};

/// Expressions are followed at most so far.
constexpr int kDeep = 24;
bool is_constant(tree value);
/// A variable, parameter or result of the function that is compiled.
bool is_local(tree decl);
/// The constant that memory always holds, NULL_TREE if none.
tree constant_at(tree ref);
/// "file:line"
std::string place_of(location_t where);
/// The first of the statements of a loop that has a place: where it begins.
location_t place_of(loop_p loop);
/// What an argument of Fortran, or the address of anything, points to.
tree pointed_to(tree address, tree type);

}  // namespace hoist
