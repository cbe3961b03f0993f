// Which values and which memory stay the same while a loop runs.

#include "invariance.h"

namespace hoist {

bool is_constant(tree value) { return CONSTANT_CLASS_P(value); }

/// The constant that memory always holds: that of a CONST_DECL, which Fortran passes by address, or
/// of a constant variable.
tree constant_at(tree ref) {
  tree base = get_base_address(ref);
  if (base && TREE_CODE(base) == CONST_DECL) return DECL_INITIAL(base);
  if (base && VAR_P(base) && TREE_READONLY(base) && TREE_STATIC(base) && DECL_INITIAL(base) &&
      !DECL_EXTERNAL(base))
    return DECL_INITIAL(base);
  return NULL_TREE;
}

namespace {

std::string named(tree decl) {
  return DECL_NAME(decl) ? identifier_to_locale(lang_hooks.decl_printable_name(decl, 1)) : "it";
}

std::string line_of(gimple* stmt) {
  const int line = LOCATION_LINE(gimple_location(stmt));
  return line > 0 ? " (line " + std::to_string(line) + ")" : "";
}

/// The variable to which a reference leads, or the pointer variable by which it does.
tree variable_of(tree ref) {
  tree base = get_base_address(ref);
  if (base && TREE_CODE(base) == MEM_REF) {
    tree pointer = TREE_OPERAND(base, 0);
    return TREE_CODE(pointer) == SSA_NAME ? SSA_NAME_VAR(pointer) : NULL_TREE;
  }
  return base && DECL_P(base) ? base : NULL_TREE;
}

}  // namespace

std::string place_of(location_t where) {
  expanded_location at = expand_location(where);
  return std::string(at.file ? at.file : "<unknown>") + ":" + std::to_string(at.line);
}

location_t place_of(loop_p loop) {
  location_t first = UNKNOWN_LOCATION;
  // The condition of a loop that is tested first is in its header; else the loop begins with its
  // first statement.
  basic_block* body = get_loop_body_in_dom_order(loop);
  for (unsigned i = 0; i < loop->num_nodes && first == UNKNOWN_LOCATION; ++i)
    for (gimple_stmt_iterator gsi = gsi_start_bb(body[i]); !gsi_end_p(gsi); gsi_next(&gsi)) {
      gimple* stmt = gsi_stmt(gsi);
      if (is_gimple_debug(stmt) || gimple_location(stmt) == UNKNOWN_LOCATION) continue;
      first = gimple_location(stmt);
      break;
    }
  free(body);
  return first;
}

tree pointed_to(tree address, tree type) {
  if (TREE_CODE(address) == ADDR_EXPR) {
    tree object = TREE_OPERAND(address, 0);
    if (!AGGREGATE_TYPE_P(TREE_TYPE(object))) return object;
  }
  return build2(MEM_REF, type, address, build_int_cst(ptr_type_node, 0));
}

// ---- Invariance ---------------------------------------------------------------------------------

bool Function::invariant_memory(tree ref, gimple* at, loop_p loop, std::string* why, int depth) {
  if (TREE_THIS_VOLATILE(ref)) return *why = "is volatile", false;
  if (constant_at(ref)) return true;
  for (tree r = ref; handled_component_p(r); r = TREE_OPERAND(r, 0))
    if ((TREE_CODE(r) == ARRAY_REF || TREE_CODE(r) == ARRAY_RANGE_REF) &&
        !invariant(TREE_OPERAND(r, 1), loop, why, depth + 1))
      return false;
  tree base = get_base_address(ref);
  if (!base) return *why = "is not understood", false;
  if (TREE_CODE(base) == MEM_REF && !invariant(TREE_OPERAND(base, 0), loop, why, depth + 1))
    return false;
  bool clobbered;
  if (tree stored = stored_before(ref, at, &clobbered))
    return invariant(stored, loop, why, depth + 1);
  basic_block* body = get_loop_body(loop);
  gimple* modifier = nullptr;
  for (unsigned i = 0; i < loop->num_nodes && !modifier; ++i)
    for (gimple_stmt_iterator gsi = gsi_start_bb(body[i]); !gsi_end_p(gsi) && !modifier;
         gsi_next(&gsi))
      if (may_modify(gsi_stmt(gsi), ref)) modifier = gsi_stmt(gsi);
  free(body);
  if (!modifier) return true;
  tree variable = variable_of(ref);
  *why = is_gimple_call(modifier) ? "may be changed by a call" : "may be changed in the loop";
  if (variable && DECL_NAME(variable)) *why = "(" + named(variable) + ") " + *why;
  if (is_gimple_call(modifier) && gimple_call_fndecl(modifier))
    *why += " of " + named(gimple_call_fndecl(modifier));
  *why += line_of(modifier);
  return false;
}

/// A function that only reads, for instance std::vector's size(), returns the same value as long as
/// its arguments and the objects that they point to stay the same.
bool Function::invariant_result(gimple* call, loop_p loop, std::string* why, int depth) {
  tree callee = gimple_call_fndecl(call);
  if (!callee || !only_reads(callee))
    return *why = "is the result of a call in the loop" + line_of(call), false;
  for (unsigned i = 0; i < gimple_call_num_args(call); ++i) {
    tree arg = gimple_call_arg(call, i);
    if (!invariant(arg, loop, why, depth)) return false;
    if (!POINTER_TYPE_P(TREE_TYPE(arg))) continue;
    tree type = TREE_TYPE(TREE_TYPE(arg));
    tree object = TREE_CODE(arg) == ADDR_EXPR ? TREE_OPERAND(arg, 0) : NULL_TREE;
    if (!object && !COMPLETE_TYPE_P(type)) return *why = "is not understood", false;
    if (!object) object = build2(MEM_REF, type, arg, build_int_cst(ptr_type_node, 0));
    if (!invariant_memory(object, call, loop, why, depth)) return false;
  }
  return true;
}

bool Function::invariant(tree value, loop_p loop, std::string* why, int depth) {
  if (depth > kDeep) return *why = "is too complicated", false;
  if (is_constant(value)) return true;
  if (TREE_CODE(value) == ADDR_EXPR) {
    for (tree r = TREE_OPERAND(value, 0); handled_component_p(r); r = TREE_OPERAND(r, 0))
      if (TREE_CODE(r) == ARRAY_REF && !invariant(TREE_OPERAND(r, 1), loop, why, depth + 1))
        return false;
    tree base = get_base_address(TREE_OPERAND(value, 0));
    return !base || TREE_CODE(base) != MEM_REF ||
           invariant(TREE_OPERAND(base, 0), loop, why, depth + 1);
  }
  if (TREE_CODE(value) != SSA_NAME) return *why = "is not understood", false;
  gimple* def = SSA_NAME_DEF_STMT(value);
  if (SSA_NAME_IS_DEFAULT_DEF(value) || !gimple_bb(def) ||
      !flow_bb_inside_loop_p(loop, gimple_bb(def)))
    return true;
  if (is_gimple_assign(def)) {
    if (gimple_assign_load_p(def))
      return invariant_memory(gimple_assign_rhs1(def), def, loop, why, depth + 1);
    for (unsigned i = 1; i < gimple_num_ops(def); ++i)
      if (tree op = gimple_op(def, i)) {
        if (COMPARISON_CLASS_P(op)) return *why = "changes in the loop" + line_of(def), false;
        if (!invariant(op, loop, why, depth + 1)) return false;
      }
    return true;
  }
  if (is_gimple_call(def)) {
    if (gimple_call_flags(def) & ECF_CONST) {
      for (unsigned i = 0; i < gimple_call_num_args(def); ++i)
        if (!invariant(gimple_call_arg(def, i), loop, why, depth + 1)) return false;
      return true;
    }
    return invariant_result(def, loop, why, depth + 1);
  }
  tree variable = SSA_NAME_VAR(value);
  *why = "changes in the loop";
  if (variable && DECL_NAME(variable)) *why = "(" + named(variable) + ") " + *why;
  return false;
}

bool Function::is_invariant(gimple* call, const MpiCall& mpi, unsigned i, loop_p loop,
                            std::string* why) {
  const char role = mpi.roles[i];
  if (role == 'b') return true;
  of_communicator_ = role == 'm';
  tree value = gimple_call_arg(call, i);
  if (!invariant(value, loop, why)) return false;
  if (!mpi.fortran || role == 'C' || role == 'D' || role == 'T') return true;
  return invariant_memory(pointed_to(value, integer_type_node), call, loop, why, 0);
}

// ---- Communicators that are freed ---------------------------------------------------------------

/// True where only this function and MPI have the variable's value: MPI calls set it, and nothing
/// but MPI calls and comparisons uses it.
bool Function::is_private(tree decl) {
  if (!VAR_P(decl) || !is_local(decl)) return false;
  const AddressUse& k = known(decl);
  if (k.passed || k.held || k.assigned) return false;
  basic_block bb;
  FOR_EACH_BB_FN(bb, function_)
  for (gimple_stmt_iterator gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi)) {
    gimple* stmt = gsi_stmt(gsi);
    if (!gimple_assign_load_p(stmt) || get_base_address(gimple_assign_rhs1(stmt)) != decl) continue;
    tree lhs = gimple_assign_lhs(stmt);
    if (TREE_CODE(lhs) != SSA_NAME) return false;
    use_operand_p use_p;
    imm_use_iterator it;
    gimple* use;
    FOR_EACH_IMM_USE_FAST(use_p, it, lhs) {
      use = USE_STMT(use_p);
      MpiCall mpi;
      if (is_gimple_debug(use) || gimple_code(use) == GIMPLE_COND || find_mpi_call(use, &mpi))
        continue;
      if (is_gimple_assign(use) && TREE_CODE_CLASS(gimple_assign_rhs_code(use)) == tcc_comparison)
        continue;
      return false;
    }
  }
  return true;
}

/// True where the communicator is MPI_COMM_WORLD or MPI_COMM_SELF. Else *decl is the variable that
/// holds it, or null.
bool Function::is_predefined(gimple* call, const MpiCall& mpi, tree* decl) {
  unsigned i = static_cast<unsigned>(std::string(mpi.roles).find('m'));
  tree value = gimple_call_arg(call, i), ref = NULL_TREE;
  gimple* at = call;
  *decl = NULL_TREE;
  for (int depth = 0; depth < kDeep && value; ++depth) {
    if (is_constant(value) && !mpi.fortran) return true;
    if (mpi.fortran && depth == 0) {
      ref = pointed_to(value, integer_type_node);
    } else if (is_constant(value)) {
      return true;
    } else if (TREE_CODE(value) == SSA_NAME && gimple_assign_load_p(SSA_NAME_DEF_STMT(value))) {
      at = SSA_NAME_DEF_STMT(value);
      ref = gimple_assign_rhs1(at);
    } else if (TREE_CODE(value) == SSA_NAME && gimple_assign_single_p(SSA_NAME_DEF_STMT(value))) {
      value = gimple_assign_rhs1(SSA_NAME_DEF_STMT(value));
      continue;
    } else {
      return false;
    }
    if (constant_at(ref)) return true;
    bool clobbered;
    value = stored_before(ref, at, &clobbered);
  }
  tree base = ref ? get_base_address(ref) : NULL_TREE;
  if (base && DECL_P(base)) *decl = base;
  return false;
}

bool Function::may_be_freed(gimple* call, const MpiCall& mpi, loop_p loop, std::string* why) {
  tree decl;
  if (is_predefined(call, mpi, &decl)) return false;
  const bool is_own = decl && is_private(decl);
  basic_block* body = get_loop_body(loop);
  bool may = false;
  for (unsigned i = 0; i < loop->num_nodes && !may; ++i)
    for (gimple_stmt_iterator gsi = gsi_start_bb(body[i]); !gsi_end_p(gsi) && !may;
         gsi_next(&gsi)) {
      gimple* stmt = gsi_stmt(gsi);
      if (!is_gimple_call(stmt)) continue;
      MpiCall other;
      if (find_mpi_call(stmt, &other)) {
        if (!frees_communicators(other)) continue;
        // The call frees another variable, which only MPI calls set: so another communicator.
        tree arg = gimple_call_num_args(stmt) ? gimple_call_arg(stmt, 0) : NULL_TREE;
        tree freed = arg && TREE_CODE(arg) == ADDR_EXPR ? TREE_OPERAND(arg, 0) : NULL_TREE;
        may = !(freed && freed != decl && is_private(freed));
      } else if (const Effects* e = effects_of_call(stmt)) {
        may = e->frees || (e->unknown_call && !is_own);
      }
      if (!may) continue;
      tree callee = gimple_call_fndecl(stmt);
      *why = "its communicator may be freed by ";
      *why += callee ? named(callee) : "a call through a pointer";
      *why += line_of(stmt);
    }
  free(body);
  return may;
}

}  // namespace hoist
