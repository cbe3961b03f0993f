// The pass, and its messages.
//
// The pass runs on each function as soon as that is in SSA form, at every level of optimization,
// before GCC inlines functions or writes code for link-time optimization: so the same calls are
// hoisted under all options. In a function without such calls the pass only reads its calls.
#include <string>

#include "rewrite.h"

#include "plugin-version.h"

int plugin_is_GPL_compatible;

namespace hoist {
namespace {

enum class Saying { kNothing, kHoisted, kEverything };
Saying g_saying = Saying::kHoisted;

void emit_remark(gimple* call, const char* kind, const std::string& text) {
  expanded_location at = expand_location(gimple_location(call));
  std::fprintf(stderr, "%s:%d:%d: %s: %s\n", at.file ? at.file : "<unknown>", at.line, at.column,
               kind, text.c_str());
}

void emit_missed_remark(gimple* call, const MpiCall& mpi, const std::string& why) {
  if (g_saying == Saying::kEverything)
    emit_remark(call, "missed", "MPI_" + mpi.name + " not hoisted: " + why);
}

/// True for an OpenMP region: a function of its own, which many threads may run at a time.
bool is_parallel_region(tree function) {
  if (lookup_attribute("omp target entrypoint", DECL_ATTRIBUTES(function))) return true;
  const char* name = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(function));
  return std::strstr(name, "._omp_fn") || std::strstr(name, "._omp_cpyfn");
}

/// The reason why the call cannot be hoisted out of this loop; "" if it can.
std::string obstacle(Function* function, gimple* call, const MpiCall& mpi, loop_p loop) {
  std::string why;
  if (!can_enclose(loop, &why)) return why;
  for (unsigned i = 0; i < mpi.arguments; ++i)
    if (!function->is_invariant(call, mpi, i, loop, &why))
      return words_of(mpi.roles[i]) + (" " + why);
  if (function->may_be_freed(call, mpi, loop, &why)) return why;
  return "";
}

/// Releases the names that statements define which will not be inserted.
void discard(gimple_seq code) {
  for (gimple_stmt_iterator gsi = gsi_start(code); !gsi_end_p(gsi); gsi_next(&gsi))
    release_ssa_name(gimple_get_lhs(gsi_stmt(gsi)));
}

/// The value of an argument in front of the loop. Opening a group reads only the communicator: an
/// argument of another kind that would need code there becomes null or 0.
tree argument_before(Function* function, HoistedCall* site, unsigned i) {
  const char role = site->mpi.roles[i];
  gimple_seq code = NULL;
  tree value = NULL_TREE;
  const bool is_array = role == 'b' || role == 'C' || role == 'D' || role == 'T';
  if (!(site->mpi.fortran && role == 'b'))
    value = function->value_before(site->call, site->mpi, i, site->loop, &code);
  if (value && (role == 'm' || gimple_seq_empty_p(code))) {
    gimple_seq_add_seq(&site->code, code);
    return value;
  }
  discard(code);
  if (role == 'm') return NULL_TREE;
  tree type = is_array ? ptr_type_node : integer_type_node;
  if (!site->mpi.fortran) type = TREE_TYPE(gimple_call_arg(site->call, i));
  return build_zero_cst(type);
}

/// Finds the outermost loop out of which a call can be hoisted, and fills *site. Returns false
/// where there is none.
bool decide(Function* function, gcall* call, const MpiCall& mpi, HoistedCall* site) {
  *site = HoistedCall{call, mpi, nullptr, NULL, {}};
  std::string why;
  for (loop_p loop = gimple_bb(call)->loop_father; loop_outer(loop); loop = loop_outer(loop)) {
    std::string here = obstacle(function, call, mpi, loop);
    if (!here.empty()) {
      why = here;
      break;
    }
    site->loop = loop;
  }
  if (!site->loop) {
    emit_missed_remark(call, mpi, why);
    return false;
  }
  for (unsigned i = 0; i < mpi.arguments; ++i) {
    tree value = argument_before(function, site, i);
    if (!value) {
      discard(site->code);
      emit_missed_remark(call, mpi, "its communicator is known within the loop only");
      return false;
    }
    site->arguments.push_back(value);
  }
  if (g_saying != Saying::kNothing)
    emit_remark(call, "optimized",
                "hoisted MPI_" + mpi.name + ": group opened at " + place_of(place_of(site->loop)));
  return true;
}

/// The calls of a function that could be hoisted if they are in a loop.
void find_calls(function* f, vec<gcall*>* calls) {
  basic_block bb;
  MpiCall mpi;
  FOR_EACH_BB_FN(bb, f)
  for (gimple_stmt_iterator gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi))
    if (find_mpi_call(gsi_stmt(gsi), &mpi) && mpi.hoistable)
      calls->safe_push(as_a<gcall*>(gsi_stmt(gsi)));
}

/// The reason why no call of a function can be hoisted, or nullptr.
const char* whole_function_obstacle(function* f) {
  if (f->calls_setjmp || f->has_nonlocal_label)
    return "setjmp or a nonlocal label is used in this function";
  if (is_parallel_region(f->decl)) return "it is in a region of OpenMP";
  return nullptr;
}

unsigned hoist_calls(function* f) {
  auto_vec<gcall*> calls;
  find_calls(f, &calls);
  if (calls.is_empty()) return 0;
  loop_optimizer_init(AVOID_CFG_MODIFICATIONS);
  calculate_dominance_info(CDI_DOMINATORS);
  forget_effects();
  const char* whole = whole_function_obstacle(f);
  unsigned todo = 0;
  {
    Function function(f);
    std::vector<std::unique_ptr<HoistedCall>> sites;
    for (gcall* call : calls) {
      MpiCall mpi;
      find_mpi_call(call, &mpi);
      if (!loop_outer(gimple_bb(call)->loop_father)) {
        emit_missed_remark(call, mpi, "it is in no loop");
      } else if (whole) {
        emit_missed_remark(call, mpi, whole);
      } else {
        auto site = std::make_unique<HoistedCall>();
        if (decide(&function, call, mpi, site.get())) sites.push_back(std::move(site));
      }
    }
    for (auto& site : sites) rewrite(site.get());
    free_dominance_info(CDI_DOMINATORS);
    if (!sites.empty()) close_on_exceptions(sites);
    if (!sites.empty()) todo = TODO_update_ssa_only_virtuals | TODO_cleanup_cfg;
  }
  loop_optimizer_finalize();
  if (todo) mark_virtual_operands_for_renaming(f);
  return todo;
}

const pass_data kPass = {
    GIMPLE_PASS, "fgmpi_hoist", OPTGROUP_LOOP, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, 0};

struct HoistPass : gimple_opt_pass {
  HoistPass() : gimple_opt_pass(kPass, g) {}
  unsigned execute(function* f) final override { return hoist_calls(f); }
};

bool read_arguments(const plugin_name_args* info) {
  for (int i = 0; i < info->argc; ++i) {
    const std::string key = info->argv[i].key;
    if (key == "verbose")
      g_saying = Saying::kEverything;
    else if (key == "quiet")
      g_saying = Saying::kNothing;
    else {
      error("%<-fgmpi-hoist=%s%>: allowed are verbose and quiet", key.c_str());
      return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace hoist

int plugin_init(plugin_name_args* info, plugin_gcc_version* version) {
  if (!plugin_default_version_check(version, &gcc_version)) {
    error("%<-fgmpi-hoist%> was built for GCC %s, this is %s", gcc_version.basever,
          version->basever);
    return 1;
  }
  if (!hoist::read_arguments(info)) return 1;
  if (in_lto_p) return 0;  // the calls have been hoisted when the files were compiled
  static register_pass_info pass{new hoist::HoistPass, "ssa", 1, PASS_POS_INSERT_AFTER};
  register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, nullptr, &pass);
  return 0;
}
