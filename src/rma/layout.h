// Layouts. A layout describes where the bytes of a datatype are, as runs in the order of its type
// map.
//
//   one element:  | run 0 |   gap   | run 1 | gap |      a run: offset from the element, bytes
//                 <------------ extent ----------->
//
// A transfer is a walk over two layouts at once (Cursor), so bytes are not packed in between where
// both sides are in reach. Between processes a target's layout travels once, and the receiver
// stores it (message.h). Thread rule: one thread. Nothing here switches. Invariant: a layout does
// not change once it is made.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/fields.h"
#include "base/status.h"
#include "datatype/datatype.h"

namespace fgmpi::rma {

struct ByteRun {
  int64_t offset;
  int64_t bytes;
};

struct Layout {
  int64_t size = 0;    ///< bytes of data in an element: the sum of its runs
  int64_t extent = 0;  ///< from one element to the next
  int64_t low = 0;     ///< the least offset of all bytes
  int64_t high = 0;    ///< the greatest offset of all bytes, plus one
  /// The predefined type, where the datatype is made of only one; else MPI_DATATYPE_NULL.
  MPI_Datatype element = MPI_DATATYPE_NULL;
  std::vector<ByteRun> runs;
  std::vector<int64_t> starts;  ///< for each run: the bytes of data before it
  mutable uint32_t id = 0;      ///< in messages; 0: never sent
  /// Processes that have received this layout.
  mutable std::vector<uint32_t> sent_to;

  /// Computes size and starts.
  void sum_up();
  bool contiguous() const { return runs.size() == 1 && size == extent; }
  /// True where the bytes and the reach of `count` elements at an offset need at most 63 bits.
  bool can_hold(int64_t count, int64_t offset) const;
  /// How far `count` elements extend, as offsets from the first element's address. REQUIRES:
  /// can_hold(count).
  int64_t reach_low(int64_t count) const {
    return low + (extent < 0 && count > 0 ? extent * (count - 1) : 0);
  }
  int64_t reach_high(int64_t count) const {
    return high + (extent > 0 && count > 0 ? extent * (count - 1) : 0);
  }
  ~Layout();
};
using LayoutPtr = std::shared_ptr<const Layout>;

/// The layout of a datatype.
LayoutPtr layout_of(const datatype::Type& type);
/// Number of layouts of derived datatypes that are stored for the next use.
size_t count_cached_layouts();
/// Sets the function that is called when a layout that was sent to other processes is destroyed.
void set_layout_dropped_handler(void (*handler)(const Layout& layout));

/// Encodes a layout: | size | extent | low | high | element | number of runs | runs |.
void write_layout(const Layout& layout, std::vector<uint8_t>* out);
/// Decodes a layout. Returns false for bytes that are none.
bool read_layout(FieldReader* in, Layout* out);

/// A walk over the bytes of `count` elements in the order of the type map.
class Cursor {
 public:
  Cursor(const Layout& layout, int64_t count) : layout_(&layout), whole_(layout.contiguous()) {
    total_ = layout.size * count;
    if (!whole_ && !layout.runs.empty()) left_ = layout.runs[0].bytes;
  }
  /// Moves to the byte number `position` of the data. REQUIRES: 0 <= position <= all bytes.
  void seek(int64_t position);
  /// The next bytes that lie in a row, at most `most`, with their offset from the address of
  /// element 0. REQUIRES: some are left.
  ByteRun next(int64_t most) {
    if (whole_) {
      ByteRun run{layout_->runs[0].offset + position_, std::min(most, total_ - position_)};
      position_ += run.bytes;
      return run;
    }
    const ByteRun& in = layout_->runs[run_];
    ByteRun run{element_ * layout_->extent + in.offset + in.bytes - left_, std::min(most, left_)};
    position_ += run.bytes;
    left_ -= run.bytes;
    if (left_ == 0) {
      if (++run_ == layout_->runs.size()) {
        run_ = 0;
        ++element_;
      }
      left_ = layout_->runs[run_].bytes;
    }
    return run;
  }
  int64_t position() const { return position_; }

 private:
  const Layout* layout_;
  int64_t total_ = 0, position_ = 0, element_ = 0, left_ = 0;
  size_t run_ = 0;
  bool whole_;
};

/// Calls f(offset at a, offset at b, bytes) for the next `bytes` bytes of both.
template <class F>
void walk(Cursor* a, Cursor* b, int64_t bytes, F&& f) {
  ByteRun x{0, 0}, y{0, 0};
  while (bytes > 0) {
    if (x.bytes == 0) x = a->next(bytes);
    if (y.bytes == 0) y = b->next(bytes);
    const int64_t n = std::min({x.bytes, y.bytes, bytes});
    f(x.offset, y.offset, n);
    x = {x.offset + n, x.bytes - n};
    y = {y.offset + n, y.bytes - n};
    bytes -= n;
  }
}
/// Copy the next `bytes` bytes of the data at `base` into a row, or from a row.
void gather(Cursor* from, const void* base, void* row, int64_t bytes);
void scatter(Cursor* to, void* base, const void* row, int64_t bytes);

}  // namespace fgmpi::rma
