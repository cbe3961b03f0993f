// The change of the code: a call that opens the group in front of the loop, and one that closes it
// on each way out.

#include "rewrite.h"

namespace hoist {
namespace {

/// The type of the C functions that open and close the group. For a call of Fortran, whose wrapper
/// has another type, it is built from the arguments.
tree type_of_calls(const HoistedCall& site) {
  if (!site.mpi.fortran) return TREE_TYPE(gimple_call_fndecl(site.call));
  auto_vec<tree, 10> types;
  for (tree argument : site.arguments) types.safe_push(TREE_TYPE(argument));
  return build_function_type_array(integer_type_node, types.length(), types.address());
}

/// Declares a function of the library as a weak symbol: another MPI library may lack it.
tree weak_function(const char* symbol, tree type) {
  tree name = get_identifier(symbol);
  if (symtab_node* known = symtab_node::get_for_asmname(name))
    if (TREE_CODE(known->decl) == FUNCTION_DECL) return known->decl;
  tree decl = build_decl(UNKNOWN_LOCATION, FUNCTION_DECL, name, type);
  SET_DECL_ASSEMBLER_NAME(decl, name);
  DECL_EXTERNAL(decl) = 1;
  TREE_PUBLIC(decl) = 1;
  DECL_ARTIFICIAL(decl) = 1;
  TREE_USED(decl) = 1;
  declare_weak(decl);
  return decl;
}

/// The variable that holds the address of a function of the library.
tree pointer_variable(const std::string& symbol, tree function) {
  tree type = TREE_TYPE(function);
  tree identifier = get_identifier(("fgmpi_hoist." + symbol).c_str());
  if (symtab_node* known = symtab_node::get_for_asmname(identifier)) return known->decl;
  tree variable = build_decl(UNKNOWN_LOCATION, VAR_DECL, identifier, build_pointer_type(type));
  SET_DECL_ASSEMBLER_NAME(variable, identifier);
  TREE_STATIC(variable) = 1;
  TREE_USED(variable) = 1;
  DECL_ARTIFICIAL(variable) = 1;
  DECL_IGNORED_P(variable) = 1;
  TREE_THIS_VOLATILE(variable) = 1;
  TREE_ADDRESSABLE(variable) = 1;
  DECL_INITIAL(variable) = build_fold_addr_expr(function);
  varpool_node::finalize_decl(variable);
  return variable;
}

/// The variable that holds the address of a function that the library may lack.
tree weak_pointer(const std::string& symbol, tree type) {
  return pointer_variable(symbol, weak_function(symbol.c_str(), type));
}

tree load_pointer(tree variable, gimple_seq* code) {
  tree pointer = make_ssa_name(TREE_TYPE(variable));
  gimple_seq_add_stmt(code, gimple_build_assign(pointer, variable));
  return pointer;
}

gcall* build_call(const HoistedCall& site, tree pointer, tree type) {
  vec<tree> arguments = vNULL;
  for (tree argument : site.arguments) arguments.safe_push(argument);
  gcall* call = gimple_build_call_vec(pointer, arguments);
  gimple_call_set_fntype(call, type);
  gimple_call_set_nothrow(call, true);
  gimple_set_location(call, gimple_location(site.call));
  arguments.release();
  return call;
}

/// Inserts on this edge `code`, and a call of the function whose address the variable holds, if
/// that is not null. Returns the block of `code`.
basic_block call_on_edge(edge e, const HoistedCall& site, tree variable, gimple_seq code) {
  basic_block test = split_edge(e);
  basic_block join = split_edge(single_succ_edge(test));
  basic_block then = create_empty_bb(test);
  add_bb_to_loop(then, test->loop_father);
  then->count = test->count;
  tree pointer = load_pointer(variable, &code);
  gcond* cond =
      gimple_build_cond(NE_EXPR, pointer, build_zero_cst(TREE_TYPE(pointer)), NULL_TREE, NULL_TREE);
  gimple_set_location(cond, gimple_location(site.call));
  gimple_seq_add_stmt(&code, cond);
  gimple_stmt_iterator gsi = gsi_last_bb(test);
  gsi_insert_seq_after(&gsi, code, GSI_CONTINUE_LINKING);

  edge skip = single_succ_edge(test);
  skip->flags = (skip->flags & ~EDGE_FALLTHRU) | EDGE_FALSE_VALUE;
  skip->probability = profile_probability::very_unlikely();
  edge take = make_edge(test, then, EDGE_TRUE_VALUE);
  take->probability = profile_probability::very_likely();
  make_single_succ_edge(then, join, EDGE_FALLTHRU);

  gcall* call = build_call(site, pointer, TREE_TYPE(TREE_TYPE(variable)));
  gsi = gsi_last_bb(then);
  gsi_insert_after(&gsi, call, GSI_NEW_STMT);
  set_immediate_dominator(CDI_DOMINATORS, then, test);
  set_immediate_dominator(CDI_DOMINATORS, join, test);
  return test;
}

/// The only edge into the loop from outside; a preheader is made where there are several.
edge entry_of(loop_p loop) {
  edge e, only = nullptr;
  edge_iterator ei;
  FOR_EACH_EDGE(e, ei, loop->header->preds)
  if (!flow_bb_inside_loop_p(loop, e->src)) {
    if (only) return single_succ_edge(create_preheader(loop, 0));
    only = e;
  }
  return only;
}

/// Returns a new name for: `first` compared with `second` ? yes : no
tree choose(tree_code comparison, tree first, tree second, tree yes, tree no, gimple_seq* code) {
  tree chosen = make_ssa_name(TREE_TYPE(yes)), test = make_ssa_name(boolean_type_node);
  // The comparison is a statement of its own, since GCC 16 accepts none as an operand.
  gimple_seq_add_stmt(code, gimple_build_assign(test, comparison, first, second));
  gimple_seq_add_stmt(code, gimple_build_assign(chosen, COND_EXPR, test, yes, no));
  return chosen;
}

/// Replaces the call by the movement: by a call through a pointer that code in front of the loop
/// sets.
void replace_call(const HoistedCall& site, basic_block front, tree type) {
  tree function = gimple_call_fndecl(site.call);
  tree plain = build_fold_addr_expr(function);
  const std::string &name = site.mpi.name, movement_name = "MPIX_" + name + "_data_movement";
  gimple_seq code = NULL;
  tree movement = load_pointer(weak_pointer(movement_name, type), &code);
  tree called = load_pointer(pointer_variable("MPI_" + name, function), &code);
  tree own = load_pointer(weak_pointer("PMPI_" + name, type), &code);
  tree null = build_zero_cst(TREE_TYPE(movement));
  tree there = choose(NE_EXPR, movement, null, movement, plain, &code);
  tree chosen = choose(EQ_EXPR, called, own, there, plain, &code);
  gimple_stmt_iterator gsi = gsi_last_bb(front);
  gsi_insert_seq_before(&gsi, code, GSI_SAME_STMT);
  gimple_call_set_fn(site.call, chosen);
  update_stmt(site.call);
}

}  // namespace

bool can_enclose(loop_p loop, std::string* why) {
  edge e;
  edge_iterator ei;
  bool can = true;
  basic_block* body = get_loop_body(loop);
  for (unsigned i = 0; i < loop->num_nodes; ++i) {
    FOR_EACH_EDGE(e, ei, body[i]->succs)
    if (e->flags & EDGE_ABNORMAL) can = false;
    FOR_EACH_EDGE(e, ei, body[i]->preds)
    if (e->flags & EDGE_ABNORMAL) can = false;
  }
  free(body);
  FOR_EACH_EDGE(e, ei, loop->header->preds)
  if (!flow_bb_inside_loop_p(loop, e->src) && (e->flags & EDGE_EH)) can = false;
  if (!can) *why = "the loop is entered or left by computed or nonlocal jumps";
  return can;
}

void rewrite(HoistedCall* site) {
  tree type = type_of_calls(*site);
  auto_vec<edge> exits = get_loop_exit_edges(site->loop);
  basic_block front =
      call_on_edge(entry_of(site->loop), *site,
                   weak_pointer("MPIX_" + site->mpi.name + "_open_group", type), site->code);
  for (edge e : exits)
    call_on_edge(e, *site, weak_pointer("MPIX_" + site->mpi.name + "_close_group", type), NULL);
  if (!site->mpi.fortran) replace_call(*site, front, type);
}

// ---- Exceptions that leave the function ---------------------------------------------------------

namespace {

/// A landing pad that closes the groups of these sites and passes the exception on.
struct Pad {
  std::vector<const HoistedCall*> sites;
  eh_landing_pad landing;
};

basic_block new_block(basic_block behind) {
  basic_block bb = create_empty_bb(behind);
  add_bb_to_loop(bb, current_loops->tree_root);
  bb->count = profile_count::zero();
  return bb;
}

eh_landing_pad make_pad(const std::vector<const HoistedCall*>& sites) {
  eh_region region = gen_eh_region_cleanup(nullptr);
  eh_landing_pad landing = gen_eh_landing_pad(region);
  tree label = create_artificial_label(UNKNOWN_LOCATION);
  landing->post_landing_pad = label;
  EH_LANDING_PAD_NR(label) = landing->index;
  basic_block bb = new_block(EXIT_BLOCK_PTR_FOR_FN(cfun)->prev_bb);
  gimple_stmt_iterator gsi = gsi_last_bb(bb);
  gsi_insert_after(&gsi, gimple_build_label(label), GSI_NEW_STMT);
  for (const HoistedCall* site : sites) {
    tree variable = weak_pointer("MPIX_" + site->mpi.name + "_close_group", type_of_calls(*site));
    gimple_seq code = NULL;
    tree pointer = load_pointer(variable, &code);
    gimple_seq_add_stmt(
        &code, gimple_build_cond(NE_EXPR, pointer, build_zero_cst(TREE_TYPE(pointer)), NULL_TREE,
                                 NULL_TREE));
    gsi = gsi_last_bb(bb);
    gsi_insert_seq_after(&gsi, code, GSI_CONTINUE_LINKING);
    basic_block then = new_block(bb), next = new_block(then);
    gsi = gsi_last_bb(then);
    gsi_insert_after(&gsi, build_call(*site, pointer, TREE_TYPE(TREE_TYPE(variable))),
                     GSI_NEW_STMT);
    make_edge(bb, then, EDGE_TRUE_VALUE)->probability = profile_probability::very_likely();
    make_edge(bb, next, EDGE_FALSE_VALUE)->probability = profile_probability::very_unlikely();
    make_single_succ_edge(then, next, EDGE_FALLTHRU);
    bb = next;
  }
  gsi = gsi_last_bb(bb);
  gsi_insert_after(&gsi, gimple_build_resx(region->index), GSI_NEW_STMT);
  return landing;
}

/// True where an exception of this statement may leave the function at once. MPI calls are
/// functions of C, and throw none.
bool throws_out(gimple* stmt, const std::vector<std::unique_ptr<HoistedCall>>& sites) {
  MpiCall mpi;
  if (!stmt_can_throw_external(cfun, stmt) || lookup_stmt_eh_lp(stmt) != 0) return false;
  if (!is_gimple_call(stmt) || find_mpi_call(stmt, &mpi)) return false;
  for (const auto& site : sites)
    if (site->call == stmt) return false;
  return true;
}

}  // namespace

void close_on_exceptions(const std::vector<std::unique_ptr<HoistedCall>>& sites) {
  // Where loads may throw too (-fnon-call-exceptions), the blocks of inserted code would have to be
  // split: groups then stay open when an exception leaves the function.
  if (!flag_exceptions || flag_non_call_exceptions) return;
  std::vector<gimple*> throwing;
  basic_block bb;
  FOR_EACH_BB_FN(bb, cfun)
  for (gimple_stmt_iterator gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi))
    if (bb->loop_father && loop_outer(bb->loop_father) && throws_out(gsi_stmt(gsi), sites))
      throwing.push_back(gsi_stmt(gsi));
  std::vector<Pad> pads;
  for (gimple* stmt : throwing) {
    std::vector<const HoistedCall*> open;
    for (const auto& site : sites)
      if (flow_bb_inside_loop_p(site->loop, gimple_bb(stmt))) open.push_back(site.get());
    if (open.empty()) continue;
    const Pad* pad = nullptr;
    for (const Pad& p : pads)
      if (p.sites == open) pad = &p;
    if (!pad) {
      pads.push_back({open, make_pad(open)});
      pad = &pads.back();
    }
    if (!stmt_ends_bb_p(stmt) && gsi_stmt(gsi_last_bb(gimple_bb(stmt))) != stmt)
      split_block(gimple_bb(stmt), stmt);
    add_stmt_to_eh_lp(stmt, pad->landing->index);
#if BUILDING_GCC_MAJOR >= 14
    make_eh_edge(stmt);
#else
    make_eh_edges(stmt);
#endif
  }
  if (!pads.empty() && !DECL_FUNCTION_PERSONALITY(current_function_decl))
    DECL_FUNCTION_PERSONALITY(current_function_decl) = lang_hooks.eh_personality();
}

}  // namespace hoist
