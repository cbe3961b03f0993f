// The calls that GCC's pass "tsan" has put in front of loads and stores, and the functions of the
// library by which the plugin replaces them.
#pragma once

#include "gcc.h"

namespace access_plugin {

/// The most bytes of an access for which the view's bounds decide by the first byte (kMost of
/// view.h).
constexpr unsigned kMostBytes = 16;

/// A call that announces a load or store of the program.
struct AccessCall {
  gcall* call = nullptr;
  bool writes = false;
  bool is_volatile = false;
  unsigned HOST_WIDE_INT bytes = 0;
  tree address() const { return gimple_call_arg(call, 0); }
};

/// True where the statement is such a call. Calls of atomic operations are the operations
/// themselves, so they are none.
bool find_access(gimple* statement, AccessCall* access);
/// True where the statement is such a call, or another call of that pass that has no effect on the
/// program.
bool is_instrument(gimple* statement);

/// The type of integers of the size of addresses; it aliases nothing of the program.
tree word_type();
/// Loads fgmpi_access_view.low[writes] or .length[writes] (view.h) into a new name.
tree load_low(bool writes, gimple_seq* code);
tree load_length(bool writes, gimple_seq* code);
/// The function void fgmpi_access_read(void*, size_t) or _write (look.cc), for an access whose
/// first byte the view does not decide.
tree closer_function(bool writes);
/// The function int fgmpi_access_touches(uintptr_t low, size_t bytes, int writes) (look.cc).
tree touches_function();

/// The function void fgmpi_access_call(const char* facts, const void* object, size_t bytes, const
/// void* second, size_t bytes) (gcc/access/calls.cc).
tree facts_function();

/// The function void fgmpi_access_polls(const void*, size_t) (look.cc).
tree polls_function();

/// Converts `value` to a word; adds the code for that to `code`.
tree as_word(tree value, gimple_seq* code);
/// Makes a new name for `first` combined with `second`: a word, unless `type` gives the result's
/// type.
tree combine(tree_code how, tree first, tree second, gimple_seq* code, tree type = NULL_TREE);

/// Called before the compiler's collector runs for the first time.
void register_roots(const char* plugin);

}  // namespace access_plugin
