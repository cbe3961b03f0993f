#include "invariance.h"

namespace hoist {
namespace {

/// Expressions are followed at most so far.
constexpr int kDeep = 24;

bool is_constant(tree value) { return CONSTANT_CLASS_P(value); }

/// The constant that memory always holds: parameters that Fortran passes by address.
tree constant_at(tree ref) {
  tree base = get_base_address(ref);
  if (base && TREE_CODE(base) == CONST_DECL) return DECL_INITIAL(base);
  if (base && VAR_P(base) && TREE_READONLY(base) && TREE_STATIC(base) && DECL_INITIAL(base) &&
      !DECL_EXTERNAL(base))
    return DECL_INITIAL(base);
  return NULL_TREE;
}

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

std::string named(tree decl) {
  return DECL_NAME(decl) ? identifier_to_locale(lang_hooks.decl_printable_name(decl, 1)) : "it";
}

std::string line_of(gimple* stmt) {
  const int line = LOCATION_LINE(gimple_location(stmt));
  return line > 0 ? " (line " + std::to_string(line) + ")" : "";
}

/// The variable that a reference is a part of, or whose value its address is made of.
tree variable_of(tree ref) {
  tree base = get_base_address(ref);
  if (base && TREE_CODE(base) == MEM_REF) {
    tree pointer = TREE_OPERAND(base, 0);
    return TREE_CODE(pointer) == SSA_NAME ? SSA_NAME_VAR(pointer) : NULL_TREE;
  }
  return base && DECL_P(base) ? base : NULL_TREE;
}

bool is_local(tree decl) {
  return VAR_OR_FUNCTION_DECL_P(decl) || TREE_CODE(decl) == PARM_DECL ||
                 TREE_CODE(decl) == RESULT_DECL
             ? auto_var_in_fn_p(decl, current_function_decl)
             : false;
}

/// Memory that only this function changes, and those that it gives the pointer: an argument of Fortran.
bool is_restricted(tree base) {
  if (TREE_CODE(base) != MEM_REF || TREE_CODE(TREE_OPERAND(base, 0)) != SSA_NAME) return false;
  tree pointer = TREE_OPERAND(base, 0);
  tree parameter = SSA_NAME_IS_DEFAULT_DEF(pointer) ? SSA_NAME_VAR(pointer) : NULL_TREE;
  return parameter && TREE_CODE(parameter) == PARM_DECL && TYPE_RESTRICT(TREE_TYPE(parameter));
}

/// May a pointer point to a variable that is not local? All that this translation unit does with its address is looked at;
/// what MPI calls are given is not kept.
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

std::string place_of(location_t where) {
  expanded_location at = expand_location(where);
  return std::string(at.file ? at.file : "<unknown>") + ":" + std::to_string(at.line);
}

location_t place_of(loop_p loop) {
  location_t first = UNKNOWN_LOCATION;
  // The condition of a loop that is tested first is in its header; else the loop begins with its first statement.
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

// ---- What the function does with addresses ---------------------------------------------------------------------------

Function::Function(function* f) : function_(f) {
  basic_block bb;
  FOR_EACH_BB_FN(bb, f) {
    for (gphi_iterator gsi = gsi_start_phis(bb); !gsi_end_p(gsi); gsi_next(&gsi))
      for (unsigned i = 0; i < gimple_phi_num_args(gsi.phi()); ++i)
        note_address(gimple_phi_arg_def(gsi.phi(), i), false);
    for (gimple_stmt_iterator gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi))
      look_at(gsi_stmt(gsi));
  }
}

void Function::note_address(tree operand, bool as_argument) {
  if (!operand || TREE_CODE(operand) != ADDR_EXPR) return;
  tree base = get_base_address(TREE_OPERAND(operand, 0));
  if (!base || !DECL_P(base)) return;
  Known& k = decls_.get_or_insert(base);
  (as_argument ? k.passed : k.held) = true;
}

void Function::look_at(gimple* stmt) {
  if (is_gimple_debug(stmt) || gimple_clobber_p(stmt)) return;
  if (is_gimple_call(stmt)) {
    MpiCall mpi;
    // A function that is known keeps no address, as MPI does not.
    if (!find_mpi_call(stmt, &mpi) && effects_of_call(stmt))
      for (unsigned i = 0; i < gimple_call_num_args(stmt); ++i)
        note_address(gimple_call_arg(stmt, i), true);
  } else {
    for (unsigned i = 0; i < gimple_num_ops(stmt); ++i)
      if (!is_gimple_assign(stmt) || i > 0) note_address(gimple_op(stmt, i), false);
  }
  tree lhs = gimple_get_lhs(stmt);
  if (!lhs || TREE_CODE(lhs) == SSA_NAME) return;
  tree base = get_base_address(lhs);
  if (base && DECL_P(base) &&
      !(gimple_assign_single_p(stmt) && is_constant(gimple_assign_rhs1(stmt))))
    decls_.get_or_insert(base).assigned = true;
}

const Function::Known& Function::known(tree decl) { return decls_.get_or_insert(decl); }

// ---- What changes memory ---------------------------------------------------------------------------------------------

/// May a store of this type, through a pointer to anything, change the memory? Communicators are ints, but no program changes
/// one through a pointer to plain ints.
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
    // The whole of it, though it may be named by its only member.
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

// ---- Invariance --------------------------------------------------------------------------------------------------------

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

/// A function that only reads, std::vector's size() for one, gives the same as long as what it is given stays the same.
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

// ---- Communicators that are freed --------------------------------------------------------------------------------------

/// Only this function and MPI know its value: it comes from MPI calls, and is given to nothing else.
bool Function::is_private(tree decl) {
  if (!VAR_P(decl) || !is_local(decl)) return false;
  const Known& k = known(decl);
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

/// Is the communicator MPI_COMM_WORLD or MPI_COMM_SELF? Else *decl is the variable that it is in, if any.
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
        // Another variable that only MPI calls have set names another communicator.
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

// ---- Values in front of the loop ---------------------------------------------------------------------------------------

/// Reading it early must not fail where the loop would not have read it at all.
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
  // It has been read before on every way to the loop.
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
