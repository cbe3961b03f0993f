// Layouts: datatypes as other processes learn them.
//
//   | extent | element | number of runs | offset, bytes | offset, bytes | ...
//
// An operation by messages names the target's datatype, whose layout travels to a process once. The
// receiver makes a type tree of it and stores that (message.h). Within a process, and where a
// target's memory is in reach, operations follow the datatypes' own trees. Thread rule: one thread.
// Nothing here switches.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/fields.h"
#include "datatype/datatype.h"
#include "datatype/type_tree.h"

namespace fgmpi::rma {

using datatype::TypeCursor;
using datatype::TypeRun;
using datatype::TypeTree;

/// A datatype that is sent to other processes. Its destruction tells them to forget it.
struct Layout {
  explicit Layout(const datatype::Type& t) : type(t) {}
  Layout(const Layout&) = delete;
  ~Layout();
  const datatype::Type type;
  mutable uint32_t id = 0;  ///< in messages; 0: never sent
  /// Processes that have received this layout.
  mutable std::vector<uint32_t> sent_to;
};
using LayoutPtr = std::shared_ptr<const Layout>;

/// The layout of a derived datatype.
LayoutPtr layout_of(const datatype::Type& type);
/// Number of layouts that are stored for the next use.
size_t count_cached_layouts();
/// Sets the function that is called when a layout that was sent to other processes is destroyed.
void set_layout_dropped_handler(void (*handler)(const Layout& layout));

/// Encodes the layout of a tree that has bytes. Runs that touch become one.
void write_layout(const TypeTree& tree, std::vector<uint8_t>* out);
/// Decodes a layout. Returns false for bytes that write_layout() does not write.
bool read_layout(FieldReader* in, TypeTree* out);

/// Finds how far `count` elements extend from `offset` on: offsets of the first byte, and behind
/// the last one. Returns false where these, or the bytes of data, need more than 63 bits.
bool find_reach(const TypeTree& tree, int64_t count, int64_t offset, int64_t* low, int64_t* high);

/// Calls f(offset at a, offset at b, bytes) for the next `bytes` bytes of both.
template <class F>
void walk(TypeCursor* a, TypeCursor* b, int64_t bytes, F&& f) {
  while (bytes > 0) {
    const int64_t n = std::min(a->peek(bytes).bytes, b->peek(bytes).bytes);
    const int64_t at_a = a->next(n).offset;
    f(at_a, b->next(n).offset, n);
    bytes -= n;
  }
}

}  // namespace fgmpi::rma
