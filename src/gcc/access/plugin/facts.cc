// What the compiler knows about the buffers that a call of MPI is given: their C or C++ type, the
// variable that they lie in, and that nothing has written that variable.
//
// A pass puts a call of fgmpi_access_call() (calls.cc of gcc/access) in front of each call of MPI
// with buffers. It runs early, at all levels of optimization, so that types are as the program has
// them and functions are not inlined yet: in a function that is given void*, nothing is known.
#include "facts.h"

#include <string>

namespace access_plugin {
namespace {

/// The most fields of a structure, and the most buffers of a call.
constexpr size_t kMostFields = 64;
constexpr unsigned kMostBuffers = 2;

/// The letter of a scalar type, for facts (calls.cc); 0: none.
char letter_of(tree type) {
  switch (TREE_CODE(type)) {
    case BOOLEAN_TYPE:
      return 'b';
    case ENUMERAL_TYPE:
      return 'e';
    case INTEGER_TYPE:
      return TYPE_UNSIGNED(type) ? 'u' : 's';
    case REAL_TYPE:
      return 'f';
    case COMPLEX_TYPE:
      return 'c';
    case POINTER_TYPE:
    case REFERENCE_TYPE:
      return 'p';
    default:
      return 0;
  }
}

/// Appends the scalars of the type: a letter, size and "@" offset each. Returns false where the
/// type has parts whose meaning depends on the program, such as a union, or too many.
bool append_scalars(tree type, unsigned HOST_WIDE_INT at, size_t* fields, std::string* text) {
  if (!TYPE_SIZE_UNIT(type) || !tree_fits_uhwi_p(TYPE_SIZE_UNIT(type))) return false;
  const unsigned HOST_WIDE_INT bytes = tree_to_uhwi(TYPE_SIZE_UNIT(type));
  if (const char letter = letter_of(type)) {
    if (++*fields > kMostFields) return false;
    *text += letter + std::to_string(bytes) + "@" + std::to_string(at);
    return true;
  }
  if (TREE_CODE(type) == ARRAY_TYPE) {
    tree of = TREE_TYPE(type);
    if (!TYPE_SIZE_UNIT(of) || !tree_fits_uhwi_p(TYPE_SIZE_UNIT(of))) return false;
    const unsigned HOST_WIDE_INT step = tree_to_uhwi(TYPE_SIZE_UNIT(of));
    for (unsigned HOST_WIDE_INT i = 0; step && i < bytes; i += step)
      if (!append_scalars(of, at + i, fields, text)) return false;
    return true;
  }
  if (TREE_CODE(type) != RECORD_TYPE) return false;
  for (tree field = TYPE_FIELDS(type); field; field = DECL_CHAIN(field)) {
    if (TREE_CODE(field) != FIELD_DECL) continue;
    if (DECL_BIT_FIELD(field) || !tree_fits_uhwi_p(DECL_FIELD_OFFSET(field))) return false;
    const unsigned HOST_WIDE_INT offset = tree_to_uhwi(byte_position(field));
    if (!append_scalars(TREE_TYPE(field), at + offset, fields, text)) return false;
  }
  return true;
}

/// What is known of an argument.
struct BufferFacts {
  tree type = NULL_TREE;    ///< of its elements; null: unknown
  tree object = NULL_TREE;  ///< the variable that it points into; null: unknown
  bool is_member = false;   ///< it points to a member of a structure
};

/// Is it a call of a member of std::array, which returns an address in the array?
bool is_in_array(gimple* statement) {
  tree callee = is_gimple_call(statement) ? gimple_call_fndecl(statement) : NULL_TREE;
  tree of = callee ? DECL_CONTEXT(callee) : NULL_TREE;
  tree name = of && TREE_CODE(of) == RECORD_TYPE ? TYPE_NAME(of) : NULL_TREE;
  if (!name || TREE_CODE(name) != TYPE_DECL || !DECL_NAME(name) || !DECL_CONTEXT(name) ||
      TREE_CODE(DECL_CONTEXT(name)) != NAMESPACE_DECL || !DECL_NAME(DECL_CONTEXT(name)))
    return false;
  return gimple_call_num_args(statement) > 0 && POINTER_TYPE_P(TREE_TYPE(TREE_TYPE(callee))) &&
         strcmp(IDENTIFIER_POINTER(DECL_NAME(name)), "array") == 0 &&
         strcmp(IDENTIFIER_POINTER(DECL_NAME(DECL_CONTEXT(name))), "std") == 0;
}

/// Follows the pointer to the variable that it points into.
tree variable_of(tree pointer) {
  for (int depth = 0; depth < 16; ++depth) {
    if (TREE_CODE(pointer) == ADDR_EXPR) {
      tree base = get_base_address(TREE_OPERAND(pointer, 0));
      if (!base) return NULL_TREE;
      if (VAR_P(base)) return base;
      if (TREE_CODE(base) != MEM_REF) return NULL_TREE;
      pointer = TREE_OPERAND(base, 0);
      continue;
    }
    if (TREE_CODE(pointer) != SSA_NAME) return NULL_TREE;
    gimple* from = SSA_NAME_DEF_STMT(pointer);
    if (is_in_array(from)) {
      pointer = gimple_call_arg(from, 0);
      continue;
    }
    if (!is_gimple_assign(from)) return NULL_TREE;
    const tree_code code = gimple_assign_rhs_code(from);
    if (code != POINTER_PLUS_EXPR && code != SSA_NAME && code != ADDR_EXPR &&
        !CONVERT_EXPR_CODE_P(code))
      return NULL_TREE;
    pointer = gimple_assign_rhs1(from);
  }
  return NULL_TREE;
}

BufferFacts facts_of(tree pointer) {
  BufferFacts facts;
  if (!POINTER_TYPE_P(TREE_TYPE(pointer))) return facts;
  facts.type = TREE_TYPE(TREE_TYPE(pointer));
  tree place = pointer;
  if (TREE_CODE(place) == SSA_NAME && is_gimple_assign(SSA_NAME_DEF_STMT(place)))
    place = gimple_assign_rhs1(SSA_NAME_DEF_STMT(place));
  if (TREE_CODE(place) == ADDR_EXPR) {
    tree to = TREE_OPERAND(place, 0);
    if (place == pointer) facts.type = TREE_TYPE(to);
    while (TREE_CODE(to) == ARRAY_REF) to = TREE_OPERAND(to, 0);
    facts.is_member = TREE_CODE(to) == COMPONENT_REF;
  }
  while (TREE_CODE(facts.type) == ARRAY_TYPE) facts.type = TREE_TYPE(facts.type);
  if (VOID_TYPE_P(facts.type)) facts.type = NULL_TREE;
  tree object = variable_of(pointer);
  if (object && DECL_SIZE_UNIT(object) && tree_fits_uhwi_p(DECL_SIZE_UNIT(object)) &&
      tree_to_uhwi(DECL_SIZE_UNIT(object)) > 0 && !DECL_THREAD_LOCAL_P(object) &&
      !(DECL_EXTERNAL(object) && TREE_CODE(TREE_TYPE(object)) == ARRAY_TYPE))
    facts.object = object;
  return facts;
}

/// True where the parameter is void* or const void*; `reads`: the latter.
bool is_buffer(tree parameter, bool* reads) {
  if (!POINTER_TYPE_P(parameter) || !VOID_TYPE_P(TREE_TYPE(parameter))) return false;
  *reads = TYPE_READONLY(TREE_TYPE(parameter));
  return true;
}

bool is_mpi_call(gimple* statement) {
  tree callee = is_gimple_call(statement) ? gimple_call_fndecl(statement) : NULL_TREE;
  if (!callee || !DECL_NAME(callee)) return false;
  const char* name = IDENTIFIER_POINTER(DECL_NAME(callee));
  return strncmp(name, "MPI_", 4) == 0 && TREE_PUBLIC(callee) && DECL_EXTERNAL(callee);
}

// ---- Variables that nothing has written ---------------------------------------------------------

/// Is it a call that this pass has put in?
bool is_facts_call(gimple* statement) {
  return is_gimple_call(statement) && gimple_call_fndecl(statement) == facts_function();
}

struct Mentions {
  tree variable;
  unsigned count = 0;
};

tree count_mention(tree* at, int*, void* data) {
  auto* mentions = static_cast<Mentions*>(data);
  if (*at == mentions->variable) ++mentions->count;
  return NULL_TREE;
}

unsigned mentions_in(tree operand, tree variable) {
  if (!operand) return 0;
  Mentions mentions{variable};
  walk_tree(&operand, count_mention, &mentions, NULL);
  return mentions.count;
}

/// A local variable of the function, which other functions can only know by its address.
bool is_local(function* f, tree variable) {
  return VAR_P(variable) && !TREE_STATIC(variable) && !DECL_EXTERNAL(variable) &&
         !TREE_THIS_VOLATILE(variable) && !DECL_HARD_REGISTER(variable) &&
         !DECL_INITIAL(variable) && !DECL_HAS_VALUE_EXPR_P(variable) &&
         decl_function_context(variable) == f->decl;
}

/// Does the statement read from the variable, and nothing else with it?
bool only_reads(gimple* statement, tree variable) {
  return gimple_assign_load_p(statement) &&
         get_base_address(gimple_assign_rhs1(statement)) == variable &&
         mentions_in(gimple_assign_lhs(statement), variable) == 0;
}

/// How often the statement names the variable, other than in arguments of MPI that
/// `allowed(callee's name, type of the parameter)` holds for.
template <class Allowed>
unsigned other_mentions(gimple* statement, tree variable, Allowed&& allowed) {
  unsigned all = 0, in_arguments = 0;
  for (unsigned i = 0; i < gimple_num_ops(statement); ++i)
    all += mentions_in(gimple_op(statement, i), variable);
  if (!all || !is_mpi_call(statement)) return all;
  const char* name = IDENTIFIER_POINTER(DECL_NAME(gimple_call_fndecl(statement)));
  tree parameters = TYPE_ARG_TYPES(gimple_call_fntype(statement));
  for (unsigned i = 0; i < gimple_call_num_args(statement) && parameters;
       ++i, parameters = TREE_CHAIN(parameters))
    if (allowed(name, TREE_VALUE(parameters)))
      in_arguments += mentions_in(gimple_call_arg(statement, i), variable);
  return all - in_arguments;
}

/// Is each mention of the local variable in the function such an argument? `or_read`: or a load.
template <class Allowed>
bool is_only(function* f, tree variable, bool or_read, Allowed&& allowed) {
  if (!is_local(f, variable)) return false;
  basic_block block;
  FOR_EACH_BB_FN(block, f) {
    for (gphi_iterator gsi = gsi_start_phis(block); !gsi_end_p(gsi); gsi_next(&gsi))
      for (unsigned i = 0; i < gimple_phi_num_args(gsi.phi()); ++i)
        if (mentions_in(gimple_phi_arg_def(gsi.phi(), i), variable)) return false;
    for (gimple_stmt_iterator gsi = gsi_start_bb(block); !gsi_end_p(gsi); gsi_next(&gsi)) {
      gimple* statement = gsi_stmt(gsi);
      if (is_gimple_debug(statement) || gimple_clobber_p(statement) || is_facts_call(statement))
        continue;
      if (or_read && only_reads(statement, variable)) continue;
      if (other_mentions(statement, variable, allowed)) return false;
    }
  }
  return true;
}

/// Does the function broadcast the buffer? The root, which only the run shows, reads it.
bool is_broadcast(const char* name) {
  return strcmp(name, "MPI_Bcast") == 0 || strcmp(name, "MPI_Ibcast") == 0;
}

/// Has nothing in the function written the variable, because only loads and MPI read it?
bool is_never_written(function* f, tree variable) {
  return is_only(f, variable, true, [](const char* name, tree parameter) {
    bool reads = false;
    return is_buffer(parameter, &reads) && (reads || is_broadcast(name));
  });
}

bool is_status(tree parameter) {
  if (!POINTER_TYPE_P(parameter) || TREE_CODE(TREE_TYPE(parameter)) != RECORD_TYPE) return false;
  tree name = TYPE_NAME(TYPE_MAIN_VARIANT(TREE_TYPE(parameter)));
  if (name && TREE_CODE(name) == TYPE_DECL) name = DECL_NAME(name);
  return name && strcmp(IDENTIFIER_POINTER(name), "MPI_Status") == 0;
}

/// Is it the array of requests or statuses of a call that completes several requests?
bool is_result_array(const char* name, unsigned argument, tree parameter) {
  static const char* const kSeveral[] = {"MPI_Waitall",  "MPI_Testall", "MPI_Waitsome",
                                         "MPI_Testsome", "MPI_Waitany", "MPI_Testany"};
  for (const char* one : kSeveral)
    if (strcmp(name, one) == 0) return argument == 1 || (argument > 1 && is_status(parameter));
  return false;
}

/// Is the status that the call fills in a local variable from which nothing reads the source? How
/// long a message was may be asked for.
bool is_status_unread(function* f, gimple* statement) {
  tree parameters = TYPE_ARG_TYPES(gimple_call_fntype(statement));
  for (unsigned i = 0; i < gimple_call_num_args(statement) && parameters;
       ++i, parameters = TREE_CHAIN(parameters)) {
    if (!is_status(TREE_VALUE(parameters)) || TYPE_READONLY(TREE_TYPE(TREE_VALUE(parameters))))
      continue;
    tree variable = variable_of(gimple_call_arg(statement, i));
    return variable && is_only(f, variable, false, [](const char* name, tree parameter) {
             return is_status(parameter) && strncmp(name, "MPI_Status_", 11) != 0;
           });
  }
  return false;
}

/// The name of the type in the program, for people.
std::string words_of(tree type) {
  if (!type) return "";
  tree name = TYPE_NAME(type) ? TYPE_NAME(type) : TYPE_NAME(TYPE_MAIN_VARIANT(type));
  if (name && TREE_CODE(name) == TYPE_DECL) name = DECL_NAME(name);
  std::string words = name && TREE_CODE(name) == IDENTIFIER_NODE ? IDENTIFIER_POINTER(name) : "";
  if (POINTER_TYPE_P(type)) words = "a pointer";
  if (words.empty()) words = TREE_CODE(type) == RECORD_TYPE ? "a structure" : "";
  return words.find_first_of(":;") == words.npos ? words : "";
}

// ---- The call -----------------------------------------------------------------------------------

tree null_pointer() { return build_int_cst(ptr_type_node, 0); }

/// Puts the call in front of the call of MPI, where anything is known of its buffers.
bool announce(function* f, gimple_stmt_iterator* gsi) {
  gimple* statement = gsi_stmt(*gsi);
  tree parameters = TYPE_ARG_TYPES(gimple_call_fntype(statement));
  std::string text;
  tree arguments[2 * kMostBuffers];
  for (unsigned i = 0; i < kMostBuffers; ++i) {
    arguments[2 * i] = null_pointer();
    arguments[2 * i + 1] = size_zero_node;
  }
  const char* name = IDENTIFIER_POINTER(DECL_NAME(gimple_call_fndecl(statement)));
  unsigned found = 0;
  for (unsigned i = 0; i < gimple_call_num_args(statement) && parameters && found < kMostBuffers;
       ++i, parameters = TREE_CHAIN(parameters)) {
    bool reads = false;
    const bool is_array = is_result_array(name, i, TREE_VALUE(parameters));
    if (!is_array && !is_buffer(TREE_VALUE(parameters), &reads)) continue;
    BufferFacts facts = facts_of(gimple_call_arg(statement, i));
    if (is_array) facts.type = NULL_TREE;
    if (!facts.type && !facts.object) continue;
    std::string scalars;
    size_t fields = 0;
    unsigned HOST_WIDE_INT bytes = 0;
    if (facts.type && append_scalars(facts.type, 0, &fields, &scalars))
      bytes = tree_to_uhwi(TYPE_SIZE_UNIT(facts.type));
    else
      scalars.clear();
    if (scalars.empty() && !facts.object) continue;
    const bool unwritten =
        (reads || is_broadcast(name)) && facts.object && is_never_written(f, facts.object);
    text += std::to_string(i) + (unwritten ? "!" : "") + (facts.is_member ? "." : "") + ":" +
            std::to_string(bytes) + ":" + scalars + ":" + words_of(facts.type) + ";";
    if (facts.object) {
      arguments[2 * found] = build_fold_addr_expr(facts.object);
      arguments[2 * found + 1] = DECL_SIZE_UNIT(facts.object);
    }
    ++found;
  }
  const bool unread = is_status_unread(f, statement);
  if (found == 0 && !unread) return false;
  text = std::string(name) + (unread ? "?|" : "|") + text;
  tree words = build_string_literal(text.size() + 1, text.c_str());
  gcall* call = gimple_build_call(facts_function(), 5, words, arguments[0],
                                  fold_convert(size_type_node, arguments[1]), arguments[2],
                                  fold_convert(size_type_node, arguments[3]));
  gimple_set_location(call, gimple_location(statement));
  gimple_set_block(call, gimple_block(statement));
  gimple_call_set_nothrow(call, true);
  gsi_insert_before(gsi, call, GSI_SAME_STMT);
  return true;
}

// ---- Loads by which the program waits -----------------------------------------------------------

/// Does the loop call anything, as one that waits for other ranks must?
bool has_calls(function* f, class loop* loop) {
  basic_block block;
  FOR_EACH_BB_FN(block, f) {
    if (!flow_bb_inside_loop_p(loop, block)) continue;
    for (gimple_stmt_iterator gsi = gsi_start_bb(block); !gsi_end_p(gsi); gsi_next(&gsi))
      if (is_gimple_call(gsi_stmt(gsi)) && !gimple_call_internal_p(gsi_stmt(gsi)) &&
          !gimple_call_builtin_p(gsi_stmt(gsi)) && !is_facts_call(gsi_stmt(gsi)))
        return true;
  }
  return false;
}

/// A load of memory that others may change.
bool is_shared_load(gimple* statement) {
  if (!gimple_assign_load_p(statement)) return false;
  tree from = gimple_assign_rhs1(statement), base = get_base_address(from);
  tree bytes = TYPE_SIZE_UNIT(TREE_TYPE(from));
  if (!base || !bytes || !tree_fits_uhwi_p(bytes) || TREE_CODE(from) == BIT_FIELD_REF ||
      (TREE_CODE(from) == COMPONENT_REF && DECL_BIT_FIELD(TREE_OPERAND(from, 1))))
    return false;
  return TREE_CODE(base) == MEM_REF || (VAR_P(base) && TREE_ADDRESSABLE(base));
}

void find_loads(class loop* loop, tree value, int depth, auto_vec<gimple*>* loads);

/// The load is of a variable: collects the loads from which the loop computes what it stores there.
void find_loads_of_stores(class loop* loop, gimple* load, int depth, auto_vec<gimple*>* loads) {
  tree variable = gimple_assign_rhs1(load);
  basic_block block;
  FOR_EACH_BB_FN(block, cfun) {
    if (!flow_bb_inside_loop_p(loop, block)) continue;
    for (gimple_stmt_iterator gsi = gsi_start_bb(block); !gsi_end_p(gsi); gsi_next(&gsi)) {
      gimple* store = gsi_stmt(gsi);
      if (gimple_assign_single_p(store) && gimple_store_p(store) &&
          operand_equal_p(gimple_assign_lhs(store), variable, 0))
        find_loads(loop, gimple_assign_rhs1(store), depth + 1, loads);
    }
  }
}

/// Collects the loads in the loop from which the value is computed.
void find_loads(class loop* loop, tree value, int depth, auto_vec<gimple*>* loads) {
  if (!value || TREE_CODE(value) != SSA_NAME || depth > 8) return;
  gimple* from = SSA_NAME_DEF_STMT(value);
  if (!gimple_bb(from) || !flow_bb_inside_loop_p(loop, gimple_bb(from))) return;
  if (gimple_assign_load_p(from)) {
    if (is_shared_load(from)) {
      if (loads->contains(from)) return;
      loads->safe_push(from);
    }
    return find_loads_of_stores(loop, from, depth, loads);
  }
  if (!is_gimple_assign(from)) return;
  for (unsigned i = 1; i < gimple_num_ops(from); ++i)
    find_loads(loop, gimple_op(from, i), depth + 1, loads);
}

/// Collects the loads that decide whether a loop with calls ends, and those of volatile memory.
void find_polls(function* f, auto_vec<gimple*>* loads) {
  basic_block block;
  FOR_EACH_BB_FN(block, f) {
    for (gimple_stmt_iterator gsi = gsi_start_bb(block); !gsi_end_p(gsi); gsi_next(&gsi))
      if (gimple_has_volatile_ops(gsi_stmt(gsi)) && is_shared_load(gsi_stmt(gsi)))
        loads->safe_push(gsi_stmt(gsi));
    class loop* loop = loops_for_fn(f) ? block->loop_father : nullptr;
    gimple_stmt_iterator end = gsi_last_nondebug_bb(block);
    gimple* last = gsi_end_p(end) ? NULL : gsi_stmt(end);
    if (!loop || !loop_outer(loop) || !last || gimple_code(last) != GIMPLE_COND) continue;
    bool leaves = false;
    edge e;
    edge_iterator at;
    FOR_EACH_EDGE(e, at, block->succs) leaves |= !flow_bb_inside_loop_p(loop, e->dest);
    if (!leaves || !has_calls(f, loop)) continue;
    find_loads(loop, gimple_cond_lhs(last), 0, loads);
    find_loads(loop, gimple_cond_rhs(last), 0, loads);
  }
}

/// Puts a call of fgmpi_access_polls() in front of each of these loads.
bool announce_polls(function* f) {
  auto_vec<gimple*> loads;
  find_polls(f, &loads);
  for (gimple* load : loads) {
    gimple_stmt_iterator gsi = gsi_for_stmt(load);
    tree from = gimple_assign_rhs1(load);
    tree address = build_fold_addr_expr(unshare_expr(from));
    address = force_gimple_operand_gsi(&gsi, address, true, NULL_TREE, true, GSI_SAME_STMT);
    gcall* call = gimple_build_call(polls_function(), 2, address,
                                    fold_convert(size_type_node, TYPE_SIZE_UNIT(TREE_TYPE(from))));
    gimple_set_location(call, gimple_location(load));
    gimple_set_block(call, gimple_block(load));
    gimple_call_set_nothrow(call, true);
    gsi_insert_before(&gsi, call, GSI_SAME_STMT);
  }
  return !loads.is_empty();
}

}  // namespace

unsigned announce_mpi_calls(function* f) {
  bool any = announce_polls(f);
  basic_block block;
  FOR_EACH_BB_FN(block, f)
  for (gimple_stmt_iterator gsi = gsi_start_bb(block); !gsi_end_p(gsi); gsi_next(&gsi))
    if (is_mpi_call(gsi_stmt(gsi))) any |= announce(f, &gsi);
  if (!any) return 0;
  mark_virtual_operands_for_renaming(f);
  return TODO_update_ssa;
}

}  // namespace access_plugin
