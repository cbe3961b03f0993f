// The pass of the plugin. It runs behind GCC's pass "tsan", which puts calls in front of loads and
// stores, and before the compiler optimizes loops. Loops that touch no memory of a pending
// operation lose their calls (loops.h). Each other call moves to a block that the compiler treats
// as cold; a compare with the view in front of it skips the block for most accesses.
//
// Without optimization the calls stay, and as.sh puts the compare in front of them.
#include "calls.h"
#include "facts.h"
#include "loops.h"

#include "plugin-version.h"

int plugin_is_GPL_compatible;

namespace access_plugin {
namespace {

/// Replaces the call by: if (address - view.low < view.length) closer(address, bytes);
void guard(const AccessCall& access) {
  gimple_stmt_iterator gsi = gsi_for_stmt(access.call);
  basic_block test = gimple_bb(access.call);
  gimple_seq code = NULL;
  tree distance =
      combine(MINUS_EXPR, as_word(access.address(), &code), load_low(access.writes, &code), &code);
  gcond* cond =
      gimple_build_cond(LT_EXPR, distance, load_length(access.writes, &code), NULL_TREE, NULL_TREE);
  gimple_seq_add_stmt(&code, cond);
  gimple_seq_set_location(code, gimple_location(access.call));
  gcall* closer = gimple_build_call(closer_function(access.writes), 2, access.address(),
                                    build_int_cst(size_type_node, access.bytes));
  gimple_set_location(closer, gimple_location(access.call));
  gimple_set_block(closer, gimple_block(access.call));
  gimple_call_set_nothrow(closer, true);

  unlink_stmt_vdef(access.call);
  tree gone = gimple_vdef(access.call);
  // The code replaces the call; the statements behind the call move to a block of their own.
  edge rest = split_block(test, access.call);
  gsi = gsi_for_stmt(access.call);
  gsi_remove(&gsi, true);
  if (gone) release_ssa_name(gone);
  gsi = gsi_last_bb(test);
  gsi_insert_seq_after(&gsi, code, GSI_CONTINUE_LINKING);
  basic_block join = rest->dest, call = create_empty_bb(test);
  add_bb_to_loop(call, test->loop_father);
  rest->flags = (rest->flags & ~EDGE_FALLTHRU) | EDGE_FALSE_VALUE;
  edge take = make_edge(test, call, EDGE_TRUE_VALUE);
  take->probability = profile_probability::very_unlikely();
  rest->probability = take->probability.invert();
  call->count = take->count();
  make_single_succ_edge(call, join, EDGE_FALLTHRU);
  gsi = gsi_last_bb(call);
  gsi_insert_after(&gsi, closer, GSI_NEW_STMT);
  if (dom_info_available_p(CDI_DOMINATORS)) {
    set_immediate_dominator(CDI_DOMINATORS, call, test);
    set_immediate_dominator(CDI_DOMINATORS, join, test);
  }
}

void find_accesses(function* f, auto_vec<AccessCall>* accesses) {
  basic_block block;
  FOR_EACH_BB_FN(block, f)
  for (gimple_stmt_iterator gsi = gsi_start_bb(block); !gsi_end_p(gsi); gsi_next(&gsi)) {
    AccessCall access;
    if (find_access(gsi_stmt(gsi), &access)) accesses->safe_push(access);
  }
}

unsigned execute(function* f) {
  if (!optimize) return 0;
  auto_vec<AccessCall> accesses;
  find_accesses(f, &accesses);
  if (accesses.is_empty()) return 0;
  if (!f->calls_setjmp && !f->has_nonlocal_label) split_loops();
  accesses.truncate(0);
  find_accesses(f, &accesses);
  for (const AccessCall& access : accesses)
    // Entry points of volatile accesses do more than check them; as.sh puts the compare in front.
    if (access.bytes <= kMostBytes && !access.is_volatile) guard(access);
  free_dominance_info(CDI_POST_DOMINATORS);
  mark_virtual_operands_for_renaming(f);
  return TODO_update_ssa | TODO_cleanup_cfg;
}

const pass_data kPass = {
    GIMPLE_PASS, "fgmpi_check", OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, 0};

struct CheckPass : gimple_opt_pass {
  CheckPass() : gimple_opt_pass(kPass, g) {}
  opt_pass* clone() final override { return new CheckPass; }
  unsigned execute(function* f) final override { return access_plugin::execute(f); }
};

const pass_data kFactsPass = {
    GIMPLE_PASS, "fgmpi_facts", OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, 0};

struct FactsPass : gimple_opt_pass {
  FactsPass() : gimple_opt_pass(kFactsPass, g) {}
  opt_pass* clone() final override { return new FactsPass; }
  unsigned execute(function* f) final override { return announce_mpi_calls(f); }
};

}  // namespace
}  // namespace access_plugin

int plugin_init(plugin_name_args* info, plugin_gcc_version* version) {
  if (!plugin_default_version_check(version, &gcc_version)) {
    error("the plugin of %<mpicc -check%> was built for GCC %s, this is %s", gcc_version.basever,
          version->basever);
    return 1;
  }
  access_plugin::register_roots(info->base_name);
  static register_pass_info pass{new access_plugin::CheckPass, "tsan", 0, PASS_POS_INSERT_AFTER};
  register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, nullptr, &pass);
  static register_pass_info facts{new access_plugin::FactsPass, "ssa", 1, PASS_POS_INSERT_AFTER};
  register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, nullptr, &facts);
  return 0;
}
