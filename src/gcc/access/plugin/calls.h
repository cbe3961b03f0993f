// The calls that GCC's pass "tsan" has put in front of loads and stores, and the library's side of
// what replaces them.
#pragma once

#include "gcc.h"

namespace access_plugin {

/// Bytes of the largest access that the view's bounds decide by its first byte (kMost of view.h).
constexpr unsigned kMostBytes = 16;

/// A call that says that the program is about to load or store.
struct Access {
  gcall* call = nullptr;
  bool writes = false;
  bool is_volatile = false;
  unsigned HOST_WIDE_INT bytes = 0;
  tree address() const { return gimple_call_arg(call, 0); }
};

/// Is the statement one? Those of atomic operations are the operations themselves, and are none.
bool find_access(gimple* statement, Access* access);
/// Is it one, or another call of that pass that has no effect on the program?
bool is_instrument(gimple* statement);

/// Integers of the size of addresses that alias nothing of the program.
tree word_type();
/// fgmpi_access_view.low[writes] or .length[writes] (view.h): loads it, into a new name.
tree load_low(bool writes, gimple_seq* code);
tree load_length(bool writes, gimple_seq* code);
/// void fgmpi_access_read(void*, size_t) or _write (look.cc): an access whose first byte the view
/// does not decide.
tree closer_function(bool writes);
/// int fgmpi_access_touches(uintptr_t low, size_t bytes, int writes) (look.cc)
tree touches_function();

/// `value` as a word; the code that is needed goes to `code`.
tree as_word(tree value, gimple_seq* code);
/// A new name for `first` combined with `second`, both words unless `type` says what comes out.
tree combine(tree_code how, tree first, tree second, gimple_seq* code, tree type = NULL_TREE);

/// Has to be called before the compiler's collector runs for the first time.
void register_roots(const char* plugin);

}  // namespace access_plugin
