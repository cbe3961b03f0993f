// The calls of the pass "tsan" that the plugin recognises, and the code that replaces them.

#include "calls.h"

namespace access_plugin {
namespace {

/// Types and declarations that the plugin makes once for each file that is compiled.
enum Made { kWord, kView, kRead, kWrite, kTouches, kFacts, kPolls, kMadeCount };
tree g_made[kMadeCount];

const ggc_root_tab kRoots[] = {
    {g_made, kMadeCount, sizeof g_made[0], &gt_ggc_mx_tree_node, &gt_pch_nx_tree_node},
    LAST_GGC_ROOT_TAB};

/// Declares a variable or function of libfgmpi-access.a, which is linked into the same module.
tree declare(tree_code code, const char* symbol, tree type) {
  tree decl = build_decl(UNKNOWN_LOCATION, code, get_identifier(symbol), type);
  SET_DECL_ASSEMBLER_NAME(decl, get_identifier(symbol));
  DECL_EXTERNAL(decl) = 1;
  TREE_PUBLIC(decl) = 1;
  DECL_ARTIFICIAL(decl) = 1;
  DECL_IGNORED_P(decl) = 1;
  TREE_USED(decl) = 1;
  DECL_VISIBILITY(decl) = VISIBILITY_HIDDEN;
  DECL_VISIBILITY_SPECIFIED(decl) = 1;
  return decl;
}

/// Declares a function that never throws and calls nothing of this module. `spec`: an attribute "fn
/// spec" of GCC (attr-fnspec.h).
tree declare_function(const char* symbol, tree type, const char* spec) {
  const size_t length = strlen(spec);
  tree attribute = tree_cons(get_identifier("fn spec"),
                             build_tree_list(NULL_TREE, build_string(length, spec)), NULL_TREE);
  tree decl = declare(FUNCTION_DECL, symbol, build_type_attribute_variant(type, attribute));
  TREE_NOTHROW(decl) = 1;
  DECL_ATTRIBUTES(decl) = tree_cons(get_identifier("leaf"), NULL_TREE, DECL_ATTRIBUTES(decl));
  return decl;
}

/// Loads word `at` of the AccessView, whose layout view.h asserts: low[2], length[2].
tree load_view(unsigned at, gimple_seq* code) {
  if (!g_made[kView]) {
    tree type = build_array_type_nelts(word_type(), 4);
    g_made[kView] = declare(VAR_DECL, "fgmpi_access_view", type);
    TREE_ADDRESSABLE(g_made[kView]) = 1;
  }
  tree element = build4(ARRAY_REF, word_type(), g_made[kView], size_int(at), NULL_TREE, NULL_TREE);
  tree name = make_ssa_name(word_type());
  gimple_seq_add_stmt(code, gimple_build_assign(name, element));
  return name;
}

}  // namespace

bool find_access(gimple* statement, AccessCall* access) {
  if (!gimple_call_builtin_p(statement, BUILT_IN_NORMAL)) return false;
  *access = {};
  access->call = as_a<gcall*>(statement);
  switch (DECL_FUNCTION_CODE(gimple_call_fndecl(statement))) {
#define ACCESS_PLUGIN_CASES(n)                   \
  case BUILT_IN_TSAN_READ##n:                    \
    access->bytes = n;                           \
    return true;                                 \
  case BUILT_IN_TSAN_WRITE##n:                   \
    access->bytes = n;                           \
    access->writes = true;                       \
    return true;                                 \
  case BUILT_IN_TSAN_VOLATILE_READ##n:           \
    access->bytes = n;                           \
    access->is_volatile = true;                  \
    return true;                                 \
  case BUILT_IN_TSAN_VOLATILE_WRITE##n:          \
    access->bytes = n;                           \
    access->writes = access->is_volatile = true; \
    return true;
    ACCESS_PLUGIN_CASES(1)
    ACCESS_PLUGIN_CASES(2)
    ACCESS_PLUGIN_CASES(4)
    ACCESS_PLUGIN_CASES(8)
    ACCESS_PLUGIN_CASES(16)
    case BUILT_IN_TSAN_READ_RANGE:
    case BUILT_IN_TSAN_WRITE_RANGE: {
      tree bytes = gimple_call_arg(statement, 1);
      if (!tree_fits_uhwi_p(bytes) || tree_to_uhwi(bytes) >> 30) return false;
      access->bytes = tree_to_uhwi(bytes);
      access->writes =
          DECL_FUNCTION_CODE(gimple_call_fndecl(statement)) == BUILT_IN_TSAN_WRITE_RANGE;
      return access->bytes > 0;
    }
    default:
      return false;
  }
}

bool is_instrument(gimple* statement) {
  AccessCall access;
  if (find_access(statement, &access)) return true;
  if (!gimple_call_builtin_p(statement, BUILT_IN_NORMAL)) return false;
  switch (DECL_FUNCTION_CODE(gimple_call_fndecl(statement))) {
    case BUILT_IN_TSAN_VPTR_UPDATE:
    case BUILT_IN_TSAN_READ_RANGE:
    case BUILT_IN_TSAN_WRITE_RANGE:
      return true;
    default:
      return false;
  }
}

tree word_type() {
  if (!g_made[kWord]) {
    g_made[kWord] = make_unsigned_type(64);
    TYPE_ALIAS_SET(g_made[kWord]) = new_alias_set();
  }
  return g_made[kWord];
}

tree load_low(bool writes, gimple_seq* code) { return load_view(writes, code); }
tree load_length(bool writes, gimple_seq* code) { return load_view(2 + writes, code); }

tree closer_function(bool writes) {
  tree& decl = g_made[writes ? kWrite : kRead];
  // The spec tells the compiler that the function reads and writes no memory of the program, but
  // has an effect: the compiler does not remove calls of it.
  if (!decl)
    decl = declare_function(
        writes ? "fgmpi_access_write" : "fgmpi_access_read",
        build_function_type_list(void_type_node, ptr_type_node, size_type_node, NULL_TREE),
        ".cX X ");
  return decl;
}

tree touches_function() {
  tree& decl = g_made[kTouches];
  if (!decl)
    decl = declare_function("fgmpi_access_touches",
                            build_function_type_list(integer_type_node, word_type(), word_type(),
                                                     integer_type_node, NULL_TREE),
                            ".cX X X ");
  return decl;
}

tree facts_function() {
  tree& decl = g_made[kFacts];
  if (!decl)
    decl = declare_function(
        "fgmpi_access_call",
        build_function_type_list(void_type_node, const_ptr_type_node, const_ptr_type_node,
                                 size_type_node, const_ptr_type_node, size_type_node, NULL_TREE),
        ".cX X X X X ");
  return decl;
}

tree polls_function() {
  tree& decl = g_made[kPolls];
  if (!decl)
    decl = declare_function(
        "fgmpi_access_polls",
        build_function_type_list(void_type_node, const_ptr_type_node, size_type_node, NULL_TREE),
        ".cX X ");
  return decl;
}

tree as_word(tree value, gimple_seq* code) { return gimple_convert(code, word_type(), value); }

tree combine(tree_code how, tree first, tree second, gimple_seq* code, tree type) {
  return gimple_build(code, how, type ? type : word_type(), first, second);
}

void register_roots(const char* plugin) {
  register_callback(plugin, PLUGIN_REGISTER_GGC_ROOTS, nullptr, const_cast<ggc_root_tab*>(kRoots));
}

}  // namespace access_plugin
