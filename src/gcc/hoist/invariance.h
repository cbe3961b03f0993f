// Which values stay unchanged while a loop runs, as far as the compiler can see.
//
// Memory may change by stores and by calls. These calls count: those that receive its address,
// those that store to it (callees.h) and, where code other than this function and MPI may have its
// address, calls of unknown functions. The decisions here are about what pays, not about what is
// right: the library compares the arguments of each movement with those of the group
// (mpi/opened.h).
#pragma once

#include "callees.h"

namespace hoist {

class Function {
 public:
  /// Examines the whole function that is compiled, once.
  explicit Function(function* f);

  /// True where argument i of a call is equal in each iteration of the loop. *why: the reason where
  /// it is not.
  bool is_invariant(gimple* call, const MpiCall& mpi, unsigned i, loop_p loop, std::string* why);
  /// True where a call in the loop may free the communicator that this call uses.
  bool may_be_freed(gimple* call, const MpiCall& mpi, loop_p loop, std::string* why);
  /// The value of argument i in front of the loop, computed by statements that are added to `code`;
  /// NULL_TREE where it can only be computed within the loop. REQUIRES: the argument is invariant.
  tree value_before(gimple* call, const MpiCall& mpi, unsigned i, loop_p loop, gimple_seq* code);

 private:
  struct Known {
    bool passed = false;    ///< its address is an argument of a function that may store it
    bool held = false;      ///< its address is a value
    bool assigned = false;  ///< a value that is no constant is stored, other than by an MPI call
  };
  void look_at(gimple* stmt);
  void note_address(tree operand, bool as_argument);
  const Known& known(tree decl);

  bool invariant(tree value, loop_p loop, std::string* why, int depth = 0);
  bool invariant_result(gimple* call, loop_p loop, std::string* why, int depth);
  bool invariant_memory(tree ref, gimple* at, loop_p loop, std::string* why, int depth);
  /// The value that a store in front of `at`, in its block, has given `ref`; NULL_TREE where it
  /// is not known. *clobbered: a statement there may have changed `ref`.
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
  bool of_communicator_ = false;  ///< the question is about a communicator
};

/// The depth to which expressions are followed.
constexpr int kDeep = 24;
bool is_constant(tree value);
/// A variable, parameter or result of the function that is compiled.
bool is_local(tree decl);
/// The constant that memory always holds, NULL_TREE if none.
tree constant_at(tree ref);
/// The place as "file:line".
std::string place_of(location_t where);
/// The place where a loop begins: that of the first of its statements that has one.
location_t place_of(loop_p loop);
/// The object to which an argument of Fortran, or any address, points.
tree pointed_to(tree address, tree type);

}  // namespace hoist
