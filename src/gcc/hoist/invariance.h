// Which values stay unchanged while a loop runs, as far as the compiler can see.
//
// Stores and calls may change memory. A call may change it if the call receives its address, if the
// callee stores to it (callees.h), or if the callee is unknown and code other than this function
// and MPI may have its address. A wrong decision here costs time, never a correct result: the
// library compares the arguments of each movement with those of the group (mpi/coll/opened.h).
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
  /// The value of argument i in front of the loop. Statements that compute it are added to `code`.
  /// NULL_TREE where only the loop can compute it. REQUIRES: the argument is invariant.
  tree value_before(gimple* call, const MpiCall& mpi, unsigned i, loop_p loop, gimple_seq* code);

 private:
  struct AddressUse {
    bool passed = false;    ///< a function that may store the address receives it as an argument
    bool held = false;      ///< a name or variable of the function has the address as its value
    bool assigned = false;  ///< a statement other than an MPI call stores a value, not a constant
  };
  void record_uses(gimple* stmt);
  void record_address_use(tree operand, bool as_argument);
  const AddressUse& known(tree decl);

  bool invariant(tree value, loop_p loop, std::string* why, int depth = 0);
  bool invariant_result(gimple* call, loop_p loop, std::string* why, int depth);
  bool invariant_memory(tree ref, gimple* at, loop_p loop, std::string* why, int depth);
  /// The value that a store in front of `at`, in its block, has given `ref`; NULL_TREE where no
  /// such store is found. *clobbered: a statement there may have changed `ref`.
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
  hash_map<tree, AddressUse> decls_;
  bool of_communicator_ = false;  ///< the question is about a communicator
};

/// The deepest nesting of expressions that is examined.
constexpr int kDeep = 24;
bool is_constant(tree value);
/// A variable, parameter or result of the function that is compiled.
bool is_local(tree decl);
/// The constant that memory always holds, NULL_TREE if none.
tree constant_at(tree ref);
/// A source location as "file:line".
std::string place_of(location_t where);
/// The source location of a loop: that of the first of its statements that has one.
location_t place_of(loop_p loop);
/// The object to which an argument of Fortran, or any address, points.
tree pointed_to(tree address, tree type);

}  // namespace hoist
