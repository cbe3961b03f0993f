// split_loops() makes two loops of one under two conditions. First, nothing in the loop can change
// which memory operations own, since the loop calls nothing. Second, for at least one of its
// accesses code in front of the loop can compute a range of addresses. Either the addresses go up
// or down by constant steps, for a number of rounds that can be computed; or the access is to an
// element of a variable, and the range is the whole variable.
//
// A range may be larger than the memory that the loop accesses. If an operation owns only other
// memory in the range, the loop with the calls runs, and its calls check each access exactly.
// Accesses of unknown range keep their calls in both loops.
//
//   test:  may memory in a range be owned, by the bounds of the view? -- no -------------+
//   ask:   is it owned? the checker answers exactly (fgmpi_access_touches)               |
//   join:  yes: the loop with the calls; no: the copy without  <-------------------------+
#include "loops.h"

#include <vector>

#include "calls.h"

namespace access_plugin {
namespace {

/// Limits of a loop that is made two. Larger loops keep all calls: their copies and tests would
/// cost more than they save.
constexpr unsigned kMostStatements = 800, kMostRanges = 32, kMostLevels = 3;

/// Bytes that an access may touch while a loop runs, as words computed in front of it.
struct LoopRange {
  gcall* call;
  bool writes;
  tree base = NULL_TREE;  ///< address at which the access of the first round begins
  unsigned HOST_WIDE_INT bytes = 0;
  struct LoopLevel {
    tree step, rounds;  ///< after the first, `rounds` further accesses, each `step` bytes on
  };
  auto_vec<LoopLevel, kMostLevels> levels;
};

/// True where the expression can be computed in front of the loop without a trap, even if the loop
/// would never compute it.
bool is_harmless(tree expression) {
  return expression && !chrec_contains_undetermined(expression) &&
         tree_does_not_contain_chrecs(expression) && !generic_expr_could_trap_p(expression);
}

/// The most rounds of the loop after its first, as an expression in front of `outermost`; NULL_TREE
/// where they cannot be computed.
tree rounds_of(loop_p loop, loop_p outermost) {
  tree least = NULL_TREE;
  for (edge exit : get_loop_exit_edges(loop)) {
    tree_niter_desc found;
    if (!number_of_iterations_exit(loop, exit, &found, false)) continue;
    tree rounds = found.niter;
    if (!integer_zerop(found.may_be_zero))
      rounds = fold_build3(COND_EXPR, TREE_TYPE(rounds), found.may_be_zero,
                           build_zero_cst(TREE_TYPE(rounds)), rounds);
    if (loop != outermost)
      rounds = instantiate_scev(loop_preheader_edge(outermost), loop_outer(loop), rounds);
    if (!is_harmless(rounds) || TYPE_PRECISION(TREE_TYPE(rounds)) > 64) continue;
    if (!least || TREE_CODE(rounds) == INTEGER_CST) least = rounds;
  }
  return least;
}

/// Sets the range to all bytes of the variable that contains the access. Returns false where there
/// is no such variable, or its size is no constant.
bool find_variable(LoopRange* range, tree address) {
  if (TREE_CODE(address) == SSA_NAME) {
    gimple* made = SSA_NAME_DEF_STMT(address);
    if (!is_gimple_assign(made) || gimple_assign_rhs_code(made) != ADDR_EXPR) return false;
    address = gimple_assign_rhs1(made);
  }
  if (TREE_CODE(address) != ADDR_EXPR) return false;
  tree base = get_base_address(TREE_OPERAND(address, 0));
  if (!base || !VAR_P(base) || DECL_THREAD_LOCAL_P(base) || !DECL_SIZE_UNIT(base)) return false;
  if (!tree_fits_uhwi_p(DECL_SIZE_UNIT(base))) return false;
  range->base = build_fold_addr_expr(base);
  range->bytes = tree_to_uhwi(DECL_SIZE_UNIT(base));
  return range->bytes > 0;
}

/// Finds the range of an access in `loop` or in a loop within it.
bool find_range(const AccessCall& access, loop_p loop, LoopRange* range) {
  range->call = access.call;
  range->writes = access.writes;
  loop_p inner = gimple_bb(access.call)->loop_father;
  tree address = access.address();
  range->bytes = access.bytes;
  tree evolution =
      TREE_CODE(address) == SSA_NAME ? analyze_scalar_evolution(inner, address) : address;
  evolution = instantiate_scev(loop_preheader_edge(loop), inner, evolution);
  STRIP_NOPS(evolution);
  bool known = !chrec_contains_undetermined(evolution);
  while (known && TREE_CODE(evolution) == POLYNOMIAL_CHREC) {
    tree step = CHREC_RIGHT(evolution), rounds = NULL_TREE;
    known = range->levels.length() < kMostLevels && is_harmless(step) &&
            TYPE_PRECISION(TREE_TYPE(step)) == 64 &&
            (rounds = rounds_of(get_chrec_loop(evolution), loop));
    if (known && TREE_CODE(step) == INTEGER_CST)
      known = wi::fits_shwi_p(wi::abs(wi::to_wide(step))) &&
              wi::ltu_p(wi::abs(wi::to_wide(step)), 1u << 31);
    if (known) range->levels.safe_push({step, rounds});
    evolution = CHREC_LEFT(evolution);
    STRIP_NOPS(evolution);
  }
  if (known && is_harmless(evolution)) {
    range->base = evolution;
    return true;
  }
  range->levels.truncate(0);
  return find_variable(range, address);
}

/// True where nothing in the loop can change which memory is owned, and GCC can copy the loop.
/// Appends the loop's accesses to *accesses.
bool can_split(loop_p loop, auto_vec<AccessCall>* accesses) {
  if (loop->header->flags & BB_IRREDUCIBLE_LOOP || !can_duplicate_loop_p(loop)) return false;
  basic_block* blocks = get_loop_body(loop);
  unsigned statements = 0;
  bool can = true;
  for (unsigned i = 0; i < loop->num_nodes && can; ++i)
    for (gimple_stmt_iterator gsi = gsi_start_bb(blocks[i]); !gsi_end_p(gsi) && can;
         gsi_next(&gsi)) {
      gimple* statement = gsi_stmt(gsi);
      if (is_gimple_debug(statement)) continue;
      gimple_set_uid(statement, 0);
      AccessCall access;
      if (find_access(statement, &access))
        accesses->safe_push(access);
      else if (++statements > kMostStatements)
        can = false;
      else if (is_gimple_call(statement))
        can = is_instrument(statement) || !gimple_vdef(statement);
      else if (gasm* code = dyn_cast<gasm*>(statement))
        can = !gimple_asm_volatile_p(code) && !gimple_vdef(code);
    }
  free(blocks);
  return can && !accesses->is_empty();
}

// ---- Code in front of the loop ------------------------------------------------------------------

/// Computes `expression` as a word.
tree word_of(tree expression, gimple_seq* code) {
  gimple_seq before = NULL;
  tree value = force_gimple_operand(unshare_expr(expression), &before, true, NULL_TREE);
  gimple_seq_add_seq(code, before);
  return as_word(value, code);
}

struct RangeWords {
  tree low, bytes;
  bool writes;
};

/// Computes the bounds of a range. A value that is not 0 where 64 bits do not suffice for them is
/// ored into *large.
RangeWords bounds_of(const LoopRange& range, gimple_seq* code, tree* large) {
  tree type = word_type(), low = word_of(range.base, code),
       bytes = build_int_cst(type, range.bytes);
  // Steps and rounds must be below 2^31, so that products and sums stay below 2^64.
  auto limit = [&](tree word) {
    if (TREE_CODE(word) == INTEGER_CST && wi::ltu_p(wi::to_wide(word), 1u << 31)) return;
    tree high = combine(RSHIFT_EXPR, word, build_int_cst(integer_type_node, 31), code);
    *large = combine(BIT_IOR_EXPR, *large, high, code);
  };
  for (const LoopRange::LoopLevel& level : range.levels) {
    tree rounds = word_of(level.rounds, code), step = word_of(level.step, code);
    limit(rounds);
    tree way = combine(MULT_EXPR, rounds, step, code), back = NULL_TREE, length = way;
    if (TREE_CODE(level.step) == INTEGER_CST) {
      if (wi::neg_p(wi::to_wide(level.step), SIGNED)) back = way;
    } else {
      tree sign = gimple_convert(code, long_integer_type_node, step);
      sign = combine(RSHIFT_EXPR, sign, build_int_cst(integer_type_node, 63), code,
                     long_integer_type_node);
      sign = as_word(sign, code);  // all ones where the step goes down
      limit(combine(MINUS_EXPR, combine(BIT_XOR_EXPR, step, sign, code), sign, code));
      back = combine(BIT_AND_EXPR, way, sign, code);
      length = combine(MINUS_EXPR, combine(BIT_XOR_EXPR, way, sign, code), sign, code);
    }
    if (back) low = combine(PLUS_EXPR, low, back, code);
    if (back == way) length = gimple_build(code, NEGATE_EXPR, type, way);
    bytes = combine(PLUS_EXPR, bytes, length, code);
  }
  return {low, bytes, range.writes};
}

/// Computes a truth value: by the view's bounds, memory in the range may be owned.
tree may_touch(const RangeWords& range, gimple_seq* code) {
  tree low = load_low(range.writes, code), length = load_length(range.writes, code);
  auto within = [&](tree from, tree to, tree bytes) {
    return combine(LT_EXPR, combine(MINUS_EXPR, from, to, code), bytes, code, boolean_type_node);
  };
  tree begins = within(range.low, low, length), reaches = within(low, range.low, range.bytes);
  // A view in which nothing is owned has the bounds 0 and 0, which no range reaches.
  return combine(BIT_IOR_EXPR, begins, reaches, code, boolean_type_node);
}

/// True where the test of `a` makes that of `b` needless.
bool covers(const RangeWords& a, const RangeWords& b) {
  return operand_equal_p(a.low, b.low) && operand_equal_p(a.bytes, b.bytes) &&
         (a.writes || !b.writes);
}

void insert(basic_block block, gimple_seq code) {
  gimple_stmt_iterator gsi = gsi_last_bb(block);
  gsi_insert_seq_after(&gsi, code, GSI_CONTINUE_LINKING);
}

/// Inserts the tests in front of the loop. Returns an integer that is not 0 when memory in the
/// ranges may be owned.
tree emit_check_before(loop_p loop, const std::vector<LoopRange*>& ranges) {
  gimple_seq code = NULL, asking = NULL;
  tree large = build_zero_cst(word_type()), any = NULL_TREE, found = NULL_TREE;
  std::vector<RangeWords> words;
  for (const LoopRange* range : ranges) words.push_back(bounds_of(*range, &code, &large));
  std::vector<RangeWords> needed;
  for (size_t i = 0; i < words.size(); ++i) {
    bool needless = false;
    for (size_t j = 0; j < words.size() && !needless; ++j)
      needless = i != j && covers(words[j], words[i]) && !(covers(words[i], words[j]) && i < j);
    if (!needless) needed.push_back(words[i]);
  }
  for (const RangeWords& range : needed) {
    tree may = may_touch(range, &code);
    any = any ? combine(BIT_IOR_EXPR, any, may, &code, boolean_type_node) : may;
    gcall* call = gimple_build_call(touches_function(), 3, range.low, range.bytes,
                                    build_int_cst(integer_type_node, range.writes));
    tree answer = make_ssa_name(integer_type_node);
    gimple_call_set_lhs(call, answer);
    gimple_call_set_nothrow(call, true);
    gimple_seq_add_stmt(&asking, call);
    found = found ? combine(BIT_IOR_EXPR, found, answer, &asking, integer_type_node) : answer;
  }
  if (TREE_CODE(large) != INTEGER_CST) {
    tree is_large = combine(NE_EXPR, large, build_zero_cst(word_type()), &code, boolean_type_node);
    any = combine(BIT_IOR_EXPR, any, is_large, &code, boolean_type_node);
    tree too = gimple_convert(&asking, integer_type_node, is_large);
    found = combine(BIT_IOR_EXPR, found, too, &asking, integer_type_node);
  }
  basic_block test = split_edge(loop_preheader_edge(loop));
  basic_block join = split_edge(single_succ_edge(test));
  basic_block ask = create_empty_bb(test);
  add_bb_to_loop(ask, test->loop_father);
  gcond* cond = gimple_build_cond(NE_EXPR, any, boolean_false_node, NULL_TREE, NULL_TREE);
  gimple_seq_add_stmt(&code, cond);
  insert(test, code);
  edge skip = single_succ_edge(test);
  skip->flags = (skip->flags & ~EDGE_FALLTHRU) | EDGE_FALSE_VALUE;
  skip->probability = profile_probability::very_likely();
  edge take = make_edge(test, ask, EDGE_TRUE_VALUE);
  take->probability = profile_probability::very_unlikely();
  ask->count = take->count();
  edge back = make_single_succ_edge(ask, join, EDGE_FALLTHRU);
  insert(ask, asking);
  set_immediate_dominator(CDI_DOMINATORS, ask, test);
  set_immediate_dominator(CDI_DOMINATORS, join, test);
  tree answer = make_ssa_name(integer_type_node);
  gphi* phi = create_phi_node(answer, join);
  add_phi_arg(phi, build_zero_cst(integer_type_node), skip, UNKNOWN_LOCATION);
  add_phi_arg(phi, found, back, UNKNOWN_LOCATION);
  return answer;
}

/// Removes from the loop the calls whose uid is 1.
void remove_calls(loop_p loop) {
  basic_block* blocks = get_loop_body(loop);
  for (unsigned i = 0; i < loop->num_nodes; ++i)
    for (gimple_stmt_iterator gsi = gsi_start_bb(blocks[i]); !gsi_end_p(gsi);) {
      gimple* statement = gsi_stmt(gsi);
      if (is_gimple_debug(statement) || !is_instrument(statement) || gimple_uid(statement) != 1) {
        gsi_next(&gsi);
        continue;
      }
      unlink_stmt_vdef(statement);
      gsi_remove(&gsi, true);
      release_defs(statement);
    }
  free(blocks);
}

void split(loop_p loop, const std::vector<LoopRange*>& ranges) {
  for (const LoopRange* range : ranges) gimple_set_uid(range->call, 1);
  tree answer = emit_check_before(loop, ranges);
  mark_virtual_operands_for_renaming(cfun);
  update_ssa(TODO_update_ssa);
  tree owned = build2(NE_EXPR, boolean_type_node, answer, build_zero_cst(integer_type_node));
  const profile_probability likely = profile_probability::very_likely(), unlikely = likely.invert();
  initialize_original_copy_tables();
  basic_block cond = nullptr;
  loop_p copy = loop_version(loop, owned, &cond, unlikely, likely, unlikely, likely, true);
  free_original_copy_tables();
  update_ssa(TODO_update_ssa);
  if (copy) remove_calls(copy);
  scev_reset();
}

/// Makes two loops of one if the ranges of some accesses can be computed (with `all`: of all, so
/// that the copy has no call). Returns true where it did.
bool split_if_known(loop_p loop, bool all) {
  auto_vec<AccessCall> accesses;
  if (!can_split(loop, &accesses)) return false;
  std::vector<LoopRange*> ranges;
  bool complete = true;
  for (const AccessCall& access : accesses) {
    auto* range = new LoopRange;
    if (!access.is_volatile && find_range(access, loop, range)) {
      ranges.push_back(range);
      continue;
    }
    delete range;
    complete = false;
  }
  const bool does = !ranges.empty() && ranges.size() <= kMostRanges && (complete || !all);
  if (does) split(loop, ranges);
  for (LoopRange* range : ranges) delete range;
  return does;
}

/// Makes two loops of the whole nest, or else of the loops within it. Where the whole nest is made
/// two, the innermost loops of the one that keeps its calls are made two as well: some of them may
/// touch no owned memory.
bool split_nest(loop_p loop) {
  auto_vec<loop_p> within;
  for (loop_p child = loop->inner; child; child = child->next) within.safe_push(child);
  if (within.is_empty()) return split_if_known(loop, false);
  bool any = false;
  if (split_if_known(loop, true)) {
    any = true;
    for (loop_p child : within) {
      if (child->inner) continue;
      split_if_known(child, false);
    }
    return any;
  }
  for (loop_p child : within) any |= split_nest(child);
  return any;
}

}  // namespace

bool split_loops() {
  loop_optimizer_init(LOOPS_NORMAL | LOOPS_HAVE_RECORDED_EXITS);
  bool any = false;
  if (number_of_loops(cfun) > 1) {
    calculate_dominance_info(CDI_DOMINATORS);
    rewrite_into_loop_closed_ssa(NULL, TODO_update_ssa);
    scev_initialize();
    auto_vec<loop_p> outer;
    for (loop_p loop = current_loops->tree_root->inner; loop; loop = loop->next)
      outer.safe_push(loop);
    for (loop_p loop : outer) any |= split_nest(loop);
    scev_finalize();
  }
  loop_optimizer_finalize();
  return any;
}

}  // namespace access_plugin
