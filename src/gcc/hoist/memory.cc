// Which statements may change memory, and what the function does with addresses.
#include "invariance.h"

namespace hoist {

bool is_local(tree decl) {
  return VAR_OR_FUNCTION_DECL_P(decl) || TREE_CODE(decl) == PARM_DECL ||
                 TREE_CODE(decl) == RESULT_DECL
             ? auto_var_in_fn_p(decl, current_function_decl)
             : false;
}

namespace {

/// The member of a record that a reference ends in.
tree member_of(tree ref) {
  while (handled_component_p(ref) && TREE_CODE(ref) != COMPONENT_REF) ref = TREE_OPERAND(ref, 0);
  return TREE_CODE(ref) == COMPONENT_REF ? TREE_OPERAND(ref, 1) : NULL_TREE;
}

bool same_type(tree a, tree b) {
  a = TYPE_MAIN_VARIANT(a), b = TYPE_MAIN_VARIANT(b);
  if (a == b || AGGREGATE_TYPE_P(a) || AGGREGATE_TYPE_P(b)) return true;
  if (POINTER_TYPE_P(a) && POINTER_TYPE_P(b)) return true;
  return INTEGRAL_TYPE_P(a) && INTEGRAL_TYPE_P(b) && TYPE_PRECISION(a) == TYPE_PRECISION(b);
}

bool overlap(tree a, tree b) {
  poly_int64 at_a, size_a, max_a, at_b, size_b, max_b;
  bool reverse;
  get_ref_base_and_extent(a, &at_a, &size_a, &max_a, &reverse);
  get_ref_base_and_extent(b, &at_b, &size_b, &max_b, &reverse);
  return ranges_maybe_overlap_p(at_a, max_a, at_b, max_b);
}

/// True for memory that only this function changes, and functions to which it passes the pointer:
/// an argument of Fortran.
bool is_restricted(tree base) {
  if (TREE_CODE(base) != MEM_REF || TREE_CODE(TREE_OPERAND(base, 0)) != SSA_NAME) return false;
  tree pointer = TREE_OPERAND(base, 0);
  tree parameter = SSA_NAME_IS_DEFAULT_DEF(pointer) ? SSA_NAME_VAR(pointer) : NULL_TREE;
  return parameter && TREE_CODE(parameter) == PARM_DECL && TYPE_RESTRICT(TREE_TYPE(parameter));
}

/// True where a pointer may point to this variable, which is not local: a statement of this
/// translation unit uses its address, other than as an argument of an MPI call, which stores none.
bool others_point_to(tree variable) {
  symtab_node* node = symtab_node::get(variable);
  if (!node || !TREE_ADDRESSABLE(variable)) return false;
  ipa_ref* ref = nullptr;
  for (unsigned i = 0; node->iterate_referring(i, ref); ++i) {
    MpiCall mpi;
    if (ref->use != IPA_REF_ADDR) continue;
    if (!ref->stmt || !find_mpi_call(ref->stmt, &mpi)) return true;
  }
  return false;
}

}  // namespace

// ---- What the function does with addresses ------------------------------------------------------

Function::Function(function* f) : function_(f) {
  basic_block bb;
  FOR_EACH_BB_FN(bb, f) {
    for (gphi_iterator gsi = gsi_start_phis(bb); !gsi_end_p(gsi); gsi_next(&gsi))
      for (unsigned i = 0; i < gimple_phi_num_args(gsi.phi()); ++i)
        record_address_use(gimple_phi_arg_def(gsi.phi(), i), false);
    for (gimple_stmt_iterator gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi))
      record_uses(gsi_stmt(gsi));
  }
}

void Function::record_address_use(tree operand, bool as_argument) {
  if (!operand || TREE_CODE(operand) != ADDR_EXPR) return;
  tree base = get_base_address(TREE_OPERAND(operand, 0));
  if (!base || !DECL_P(base)) return;
  AddressUse& k = decls_.get_or_insert(base);
  (as_argument ? k.passed : k.held) = true;
}

void Function::record_uses(gimple* stmt) {
  if (is_gimple_debug(stmt) || gimple_clobber_p(stmt)) return;
  if (is_gimple_call(stmt)) {
    MpiCall mpi;
    // MPI calls, and functions without effects, store no address.
    if (!find_mpi_call(stmt, &mpi) && effects_of_call(stmt))
      for (unsigned i = 0; i < gimple_call_num_args(stmt); ++i)
        record_address_use(gimple_call_arg(stmt, i), true);
  } else {
    for (unsigned i = 0; i < gimple_num_ops(stmt); ++i)
      if (!is_gimple_assign(stmt) || i > 0) record_address_use(gimple_op(stmt, i), false);
  }
  tree lhs = gimple_get_lhs(stmt);
  if (!lhs || TREE_CODE(lhs) == SSA_NAME) return;
  tree base = get_base_address(lhs);
  if (base && DECL_P(base) &&
      !(gimple_assign_single_p(stmt) && is_constant(gimple_assign_rhs1(stmt))))
    decls_.get_or_insert(base).assigned = true;
}

const Function::AddressUse& Function::known(tree decl) { return decls_.get_or_insert(decl); }

// ---- What changes memory ------------------------------------------------------------------------

/// True where a store of this type, through any pointer, may change `ref`. Communicators are ints,
/// but the analysis assumes that no program changes one through a pointer to plain ints.
bool Function::may_be(tree stored, tree ref) const {
  return same_type(stored, TREE_TYPE(ref)) && !(of_communicator_ && INTEGRAL_TYPE_P(stored));
}

bool Function::store_may_modify(tree lhs, tree ref) {
  tree to = get_base_address(lhs), base = get_base_address(ref);
  if (!to || !base) return true;
  if (DECL_P(to) && DECL_P(base)) return to == base && overlap(lhs, ref);
  if (DECL_P(base)) {  // through a pointer
    if (is_local(base) ? !known(base).held : !others_point_to(base)) return false;
    return is_local(base) ? same_type(TREE_TYPE(lhs), TREE_TYPE(ref)) : may_be(TREE_TYPE(lhs), ref);
  }
  if (DECL_P(to) && (is_local(to) ? !known(to).held : !others_point_to(to))) return false;
  if (TREE_CODE(to) == MEM_REF && TREE_CODE(base) == MEM_REF &&
      TREE_OPERAND(to, 0) == TREE_OPERAND(base, 0))
    return overlap(lhs, ref);
  if (is_restricted(base)) return false;
  tree member = member_of(lhs), own = member_of(ref);
  if (member && own) return member == own;
  return may_be(TREE_TYPE(lhs), ref);
}

bool Function::call_may_modify(gimple* stmt, tree ref) {
  if (gimple_call_internal_p(stmt)) return false;
  tree base = get_base_address(ref);
  if (!base) return true;
  MpiCall mpi;
  const bool is_mpi = find_mpi_call(stmt, &mpi);
  const Effects* effects = is_mpi ? nullptr : effects_of_call(stmt);
  for (unsigned i = 0; i < gimple_call_num_args(stmt); ++i) {
    tree arg = gimple_call_arg(stmt, i);
    bool this_one = false;
    if (TREE_CODE(arg) == ADDR_EXPR)
      this_one =
          get_base_address(TREE_OPERAND(arg, 0)) == base && overlap(TREE_OPERAND(arg, 0), ref);
    else if (TREE_CODE(base) == MEM_REF)
      this_one = arg == TREE_OPERAND(base, 0);
    if (!this_one) continue;
    if (is_mpi ? writes_argument(mpi, stmt, i) : may_write_argument(stmt, i)) return true;
  }
  if (!effects) return false;
  const bool only_here = DECL_P(base) && is_local(base) && !known(base).passed && !known(base).held;
  if (only_here || is_restricted(base)) return false;
  if (effects->unknown_call) return true;
  auto* e = const_cast<Effects*>(effects);
  tree member = member_of(ref);
  if (DECL_P(base) ? e->stored.contains(base) : member && e->stored.contains(member)) return true;
  if (DECL_P(base) && !others_point_to(base)) return false;
  for (auto type : e->types)
    if (may_be(type, ref)) return true;
  return false;
}

bool Function::may_modify(gimple* stmt, tree ref) {
  if (is_gimple_debug(stmt) || gimple_clobber_p(stmt)) return false;
  if (gimple_code(stmt) == GIMPLE_ASM) return true;
  tree lhs = gimple_get_lhs(stmt);
  if (lhs && TREE_CODE(lhs) != SSA_NAME && store_may_modify(lhs, ref)) return true;
  return is_gimple_call(stmt) && call_may_modify(stmt, ref);
}

tree Function::stored_before(tree ref, gimple* at, bool* clobbered) {
  *clobbered = false;
  gimple_stmt_iterator gsi = gsi_for_stmt(at);
  for (gsi_prev(&gsi); !gsi_end_p(gsi); gsi_prev(&gsi)) {
    gimple* stmt = gsi_stmt(gsi);
    if (!may_modify(stmt, ref)) continue;
    *clobbered = true;
    if (!gimple_assign_single_p(stmt)) return NULL_TREE;
    tree lhs = gimple_assign_lhs(stmt);
    tree base = get_base_address(lhs);
    // The store must set all of `ref`; it may name the record or its only member.
    if (base != get_base_address(ref) || !base || !DECL_P(base) ||
        !operand_equal_p(TYPE_SIZE(TREE_TYPE(lhs)), TYPE_SIZE(TREE_TYPE(ref)), 0))
      return NULL_TREE;
    tree rhs = gimple_assign_rhs1(stmt);
    if (TREE_CODE(rhs) == SSA_NAME || is_gimple_min_invariant(rhs)) return rhs;
    bool earlier_clobbered;
    tree earlier =
        TREE_CODE(rhs) == CONSTRUCTOR ? NULL_TREE : stored_before(rhs, stmt, &earlier_clobbered);
    return earlier;
  }
  return NULL_TREE;
}

}  // namespace hoist
