// The effects of functions that a loop calls, found by walking their bodies.

#include "callees.h"

namespace hoist {
namespace {

/// Functions that change no variable of the program, although they lack the attribute leaf: they
/// may wait, or be cancelled.
const char* const kHarmless[] = {
    "usleep", "nanosleep",   "sleep",           "fopen", "fclose", "fread",  "fwrite", "fflush",
    "fseek",  "getline",     "fgets",           "read",  "write",  "open",   "close",  "poll",
    "system", "sched_yield", "clock_nanosleep", "msync", "perror", "fscanf", "scanf",  "sscanf",
    "fgetc",  "getc",
};
const char* const kHarmlessBeginnings[] = {"_gfortran_", "__cxa_",     "GOMP_",  "omp_",
                                           "_Unwind_",   "__builtin_", "__gxx_", "_Znw",
                                           "_Zna",       "_Zdl",       "_Zda"};

bool is_in_std(tree function) {
  tree outermost = NULL_TREE;
  for (tree c = DECL_CONTEXT(function); c && TREE_CODE(c) != TRANSLATION_UNIT_DECL;
       c = TYPE_P(c) ? TYPE_CONTEXT(c) : DECL_CONTEXT(c))
    if (TREE_CODE(c) == NAMESPACE_DECL && DECL_NAME(c)) outermost = c;
  return outermost && std::strcmp(IDENTIFIER_POINTER(DECL_NAME(outermost)), "std") == 0;
}

bool is_harmless(tree function) {
  if (fndecl_built_in_p(function)) return true;
  if (flags_from_decl_or_type(function) & (ECF_CONST | ECF_PURE | ECF_LEAF)) return true;
  const char* name = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(function));
  if (*name == '*') ++name;
  for (const char* known : kHarmless)
    if (std::strcmp(name, known) == 0) return true;
  for (const char* beginning : kHarmlessBeginnings)
    if (std::strncmp(name, beginning, std::strlen(beginning)) == 0) return true;
  return is_in_std(function);
}

function* body_of(tree decl) {
  cgraph_node* node = cgraph_node::get(decl);
  if (node) node = node->ultimate_alias_target();
  if (!node || (DECL_WEAK(node->decl) && !DECL_COMDAT(node->decl))) return nullptr;
  function* body = DECL_STRUCT_FUNCTION(node->decl);
  return body && body->cfg && node->has_gimple_body_p() ? body : nullptr;
}

/// The walk over a function and all that it calls.
class CalleeWalk {
 public:
  explicit CalleeWalk(Effects* out) : out_(out) {}

  void call(gimple* stmt) {
    if (gimple_call_internal_p(stmt)) return;
    tree callee = gimple_call_fndecl(stmt);
    MpiCall mpi;
    if (callee && find_mpi_call(callee, &mpi)) return mpi_call(mpi, stmt);
    // The callee may call the functions among its arguments (OpenMP's regions).
    for (unsigned i = 0; i < gimple_call_num_args(stmt); ++i) {
      tree arg = gimple_call_arg(stmt, i);
      if (TREE_CODE(arg) == ADDR_EXPR && TREE_CODE(TREE_OPERAND(arg, 0)) == FUNCTION_DECL)
        function_called(TREE_OPERAND(arg, 0));
    }
    if (callee)
      function_called(callee);
    else
      out_->unknown_call = true;
  }

  void function_called(tree callee) {
    if (seen_.add(callee)) return;
    if (function* body = body_of(callee)) {
      basic_block bb;
      FOR_EACH_BB_FN(bb, body)
      for (gimple_stmt_iterator gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi))
        statement(gsi_stmt(gsi));
      return;
    }
    if (is_harmless(callee)) return;
    out_->unknown_call = true;
    if (!out_->unknown) out_->unknown = callee;
  }

 private:
  void statement(gimple* stmt) {
    if (is_gimple_call(stmt)) call(stmt);
    tree lhs = gimple_get_lhs(stmt);
    if (lhs && TREE_CODE(lhs) != SSA_NAME && !gimple_clobber_p(stmt)) add_store(lhs, out_);
    if (gimple_code(stmt) == GIMPLE_ASM) out_->unknown_call = true;
  }

  void mpi_call(const MpiCall& mpi, gimple* stmt) {
    if (frees_communicators(mpi)) out_->frees = true;
    for (unsigned i = 0; i < gimple_call_num_args(stmt); ++i) {
      tree arg = gimple_call_arg(stmt, i);
      if (TREE_CODE(arg) == ADDR_EXPR && writes_argument(mpi, stmt, i))
        add_store(TREE_OPERAND(arg, 0), out_);
    }
  }

  Effects* out_;
  hash_set<tree> seen_;
};

bool is_nothing(Effects* e) {
  return !e->unknown_call && !e->frees && e->stored.is_empty() && e->types.is_empty();
}

}  // namespace

void add_store(tree lhs, Effects* out) {
  tree base = get_base_address(lhs);
  if (base && DECL_P(base)) {
    if (is_global_var(base)) out->stored.add(base);
    return;
  }
  tree at = lhs;
  while (TREE_CODE(at) == ARRAY_REF || TREE_CODE(at) == REALPART_EXPR ||
         TREE_CODE(at) == IMAGPART_EXPR || TREE_CODE(at) == VIEW_CONVERT_EXPR)
    at = TREE_OPERAND(at, 0);
  if (TREE_CODE(at) == COMPONENT_REF)
    out->stored.add(TREE_OPERAND(at, 1));
  else
    out->types.add(TYPE_MAIN_VARIANT(TREE_TYPE(lhs)));
}

namespace {
/// The effects that the walk has found for one call, or for all calls of a function.
struct CalleeEffects {
  tree callee;
  gimple* call;  ///< the call, if its arguments or a pointer decide which functions run; else null
  std::unique_ptr<Effects> effects;
};
std::vector<CalleeEffects>& known() {
  static auto& all = *new std::vector<CalleeEffects>;
  return all;
}

bool is_given_functions(gimple* stmt) {
  for (unsigned i = 0; i < gimple_call_num_args(stmt); ++i) {
    tree arg = gimple_call_arg(stmt, i);
    if (TREE_CODE(arg) == ADDR_EXPR && TREE_CODE(TREE_OPERAND(arg, 0)) == FUNCTION_DECL)
      return true;
  }
  return false;
}
}  // namespace

const Effects* effects_of_call(gimple* stmt) {
  tree callee = gimple_call_fndecl(stmt);
  gimple* call = !callee || is_given_functions(stmt) ? stmt : nullptr;
  for (const CalleeEffects& k : known())
    if (k.callee == callee && k.call == call) return k.effects.get();
  auto effects = std::make_unique<Effects>();
  CalleeWalk(effects.get()).call(stmt);
  if (is_nothing(effects.get())) effects.reset();
  known().push_back({callee, call, std::move(effects)});
  return known().back().effects.get();
}

bool only_reads(tree callee) {
  if (!body_of(callee)) return false;
  Effects effects;
  CalleeWalk(&effects).function_called(callee);
  return is_nothing(&effects);
}

bool may_write_argument(gimple* stmt, unsigned i) {
  // GCC's fnspec marks Fortran's arguments with intent(in) as read only.
  if (!has_pointer_to_variable(stmt, i) || gimple_call_fnspec(as_a<gcall*>(stmt)).arg_readonly_p(i))
    return false;
  tree callee = gimple_call_fndecl(stmt);
  return !callee || !body_of(callee) || effects_of_call(stmt);
}

void forget_effects() { known().clear(); }

}  // namespace hoist
