// How the values of arguments are computed in front of the loop.
#include "invariance.h"

namespace hoist {

/// True where the memory `ref` can be read in front of the loop without a fault, even if the loop
/// would never read it.
bool Function::may_be_read_early(tree ref, loop_p loop) {
  for (tree r = ref; handled_component_p(r); r = TREE_OPERAND(r, 0))
    if (TREE_CODE(r) == ARRAY_REF && !is_constant(TREE_OPERAND(r, 1))) return false;
  tree base = get_base_address(ref);
  if (DECL_P(base)) return true;
  tree pointer = TREE_CODE(base) == MEM_REF ? TREE_OPERAND(base, 0) : NULL_TREE;
  if (!pointer || TREE_CODE(pointer) != SSA_NAME) return false;
  tree parameter = SSA_NAME_IS_DEFAULT_DEF(pointer) ? SSA_NAME_VAR(pointer) : NULL_TREE;
  if (parameter && TREE_CODE(parameter) == PARM_DECL &&
      (TREE_CODE(TREE_TYPE(parameter)) == REFERENCE_TYPE || DECL_ARTIFICIAL(parameter)))
    return true;  // Fortran's arguments that are not optional, references and `this` of C++
  // A statement on every way to the loop has already followed the pointer.
  basic_block front = get_immediate_dominator(CDI_DOMINATORS, loop->header);
  for (basic_block bb = front; bb; bb = get_immediate_dominator(CDI_DOMINATORS, bb))
    for (gimple_stmt_iterator gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi)) {
      gimple* stmt = gsi_stmt(gsi);
      if (!gimple_assign_single_p(stmt)) continue;
      for (tree side : {gimple_assign_lhs(stmt), gimple_assign_rhs1(stmt)}) {
        tree b = TREE_CODE(side) == SSA_NAME ? NULL_TREE : get_base_address(side);
        if (b && TREE_CODE(b) == MEM_REF && TREE_OPERAND(b, 0) == pointer &&
            TREE_CODE(side) != ADDR_EXPR)
          return true;
      }
    }
  return false;
}

tree Function::load_before(tree ref, gimple* at, loop_p loop, gimple_seq* code, int depth) {
  if (tree constant = constant_at(ref)) {
    if (!AGGREGATE_TYPE_P(TREE_TYPE(constant))) return constant;
  }
  bool clobbered;
  if (tree stored = stored_before(ref, at, &clobbered))
    return before(stored, loop, code, depth + 1);
  tree base = get_base_address(ref);
  if (TREE_CODE(base) == MEM_REF && TREE_CODE(TREE_OPERAND(base, 0)) == SSA_NAME) {
    gimple* def = SSA_NAME_DEF_STMT(TREE_OPERAND(base, 0));
    if (gimple_bb(def) && flow_bb_inside_loop_p(loop, gimple_bb(def))) return NULL_TREE;
  }
  if (!may_be_read_early(ref, loop)) return NULL_TREE;
  tree copy = make_ssa_name(TYPE_MAIN_VARIANT(TREE_TYPE(ref)));
  gassign* load = gimple_build_assign(copy, unshare_expr(ref));
  suppress_warning(load);
  gimple_seq_add_stmt_without_update(code, load);
  return copy;
}

tree Function::before(tree value, loop_p loop, gimple_seq* code, int depth) {
  if (depth > kDeep) return NULL_TREE;
  if (is_gimple_min_invariant(value)) return value;
  if (TREE_CODE(value) != SSA_NAME) return NULL_TREE;
  gimple* def = SSA_NAME_DEF_STMT(value);
  if (SSA_NAME_IS_DEFAULT_DEF(value) || !gimple_bb(def) ||
      !flow_bb_inside_loop_p(loop, gimple_bb(def)))
    return value;
  if (gimple_assign_load_p(def))
    return load_before(gimple_assign_rhs1(def), def, loop, code, depth + 1);
  if (gimple_assign_ssa_name_copy_p(def))
    return before(gimple_assign_rhs1(def), loop, code, depth + 1);
  if (gimple_assign_cast_p(def)) {
    tree from = before(gimple_assign_rhs1(def), loop, code, depth + 1);
    if (!from) return NULL_TREE;
    tree copy = make_ssa_name(TYPE_MAIN_VARIANT(TREE_TYPE(value)));
    gimple_seq_add_stmt_without_update(
        code, gimple_build_assign(copy, gimple_assign_rhs_code(def), from));
    return copy;
  }
  return NULL_TREE;
}

tree Function::value_before(gimple* call, const MpiCall& mpi, unsigned i, loop_p loop,
                            gimple_seq* code) {
  tree value = gimple_call_arg(call, i);
  const char role = mpi.roles[i];
  if (!mpi.fortran || role == 'b' || role == 'C' || role == 'D' || role == 'T')
    return before(value, loop, code, 0);
  if (TREE_CODE(value) == SSA_NAME) {
    value = before(value, loop, code, 0);
    if (!value) return NULL_TREE;
  }
  return load_before(pointed_to(value, integer_type_node), call, loop, code, 0);
}

}  // namespace hoist
