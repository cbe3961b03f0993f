// Type trees: the positions of a datatype's bytes, as nested rules in the order of its type map.
//
//   kRun    | bytes |                            a row of bytes
//   kLoop   body, body, body, ...                `count` times, `stride` bytes from one to the next
//   kRuns   | run | gap | run | gap | run |      a list of rows
//   kList   part, part, part, ...                anything else
//
// A subarray of a three-dimensional array is two loops around a run, whatever its sizes are: 3
// nodes, less than 500 bytes. A list of runs that are equal and evenly spaced is stored as a loop;
// runs that touch are stored as one.
//
// Thread rule: one thread. tree_of() reads the type's contents from the hosted MPI on the host
// stack; nothing here switches. Invariants: a node has at least one byte of data and does not
// change once it is made; all rounds of a loop share its body.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "datatype/datatype.h"

namespace fgmpi::datatype {

struct TypeRun {
  int64_t offset;
  int64_t bytes;
};

struct TypeNode;
using TypeNodePtr = std::shared_ptr<const TypeNode>;

/// A node with its offset; nullptr: no bytes.
struct TypePart {
  int64_t offset = 0;
  TypeNodePtr node;
};

struct TypeNode {
  enum Kind : uint8_t { kRun, kLoop, kRuns, kList };
  Kind kind = kRun;
  bool ascends = true;    ///< each byte lies behind all that the type map has earlier
  bool descends = false;  ///< some row begins before the row that the type map has just before it
  int64_t size = 0;       ///< bytes of data
  int64_t first = 0, last = 0;  ///< offsets of the first and of the last row
  int64_t low = 0;              ///< least offset of all bytes
  int64_t high = 0;             ///< greatest offset of all bytes, plus one
  int64_t count = 0;            ///< kLoop
  int64_t stride = 0;           ///< kLoop
  TypeNodePtr body;             ///< kLoop: at offset 0
  std::vector<TypeRun> runs;    ///< kRuns
  std::vector<TypePart> parts;  ///< kList
  std::vector<int64_t> starts;  ///< kRuns, kList: bytes of data before each
};

/// The tree of a datatype, with its sizes.
struct TypeTree {
  TypePart root;
  int64_t size = 0;    ///< bytes of data in an element
  int64_t extent = 0;  ///< distance from one element to the next
  /// The only predefined type in it; MPI_DATATYPE_NULL where there are several.
  MPI_Datatype element = MPI_DATATYPE_NULL;

  /// True if data of any count is one run.
  bool contiguous() const {
    return !root.node || (root.node->kind == TypeNode::kRun && size == extent);
  }
  int64_t low() const { return root.node ? root.offset + root.node->low : 0; }
  int64_t high() const { return root.node ? root.offset + root.node->high : 0; }
  /// The bytes that the tree uses.
  size_t memory() const;
};
using TypeTreePtr = std::shared_ptr<const TypeTree>;

/// The tree of a committed datatype; a pair with a gap (MPI_SHORT_INT and its like) is a value and
/// an index. Errors: MPI_ERR_TYPE.
Status tree_of(const Type& type, TypeTree* out);
/// The bytes of predefined types in another representation than that of memory.
using PlacedSizes = std::unordered_map<MPI_Datatype, int64_t>;
/// The tree of a datatype where predefined types have other sizes, as in a file of another data
/// representation: displacements that count elements change with them, those in bytes do not
/// (MPI-4.0 section 14.5.1). Pairs have no padding. REQUIRES: `sizes` has all types of its
/// signature. Errors: MPI_ERR_TYPE.
Status tree_of(const Type& type, const PlacedSizes& sizes, TypeTree* out);
/// As tree_of(), with a cache.
Status cached_tree_of(const Type& type, TypeTreePtr* out);

/// A type signature: a predefined type, or `inner` in this order, repeated `count` times.
struct Signature {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int64_t count = 0;
  std::vector<Signature> inner;
};
/// The signature of one element. Fortran's types of a precision count as the types of their size.
/// Errors: MPI_ERR_TYPE.
Status signature_of(const Type& type, Signature* out);

// ---- Making trees -------------------------------------------------------------------------------
TypePart make_run(int64_t offset, int64_t bytes);
/// Makes a loop of `part`.
TypePart make_loop(const TypePart& part, int64_t count, int64_t stride);
/// Makes a list of parts in the order of the type map.
TypePart make_list(const std::vector<TypePart>& parts);

/// Calls f(offset, bytes) for each run of a part that starts at `at`.
template <class F>
void for_each_run(const TypePart& part, int64_t at, F&& f) {
  if (!part.node) return;
  const TypeNode& node = *part.node;
  at += part.offset;
  switch (node.kind) {
    case TypeNode::kRun:
      return f(at, node.size);
    case TypeNode::kLoop:
      for (int64_t i = 0; i < node.count; ++i)
        for_each_run(TypePart{0, node.body}, at + i * node.stride, f);
      return;
    case TypeNode::kRuns:
      for (const TypeRun& run : node.runs) f(at + run.offset, run.bytes);
      return;
    case TypeNode::kList:
      for (const TypePart& inner : node.parts) for_each_run(inner, at, f);
      return;
  }
}

/// A walk over the bytes of elements of a type, in the order of the type map. Elements follow each
/// other without end.
class TypeCursor {
 public:
  /// The tree must outlive it. REQUIRES: the type has bytes.
  explicit TypeCursor(const TypeTree& tree) : tree_(&tree) { seek(0); }
  /// Goes to the byte number `position` of the data.
  void seek(int64_t position);
  /// The next bytes that lie in a row, at most `most`, with their offset from the address of
  /// element 0. Goes on behind them.
  TypeRun next(int64_t most);
  /// As next(), without going on.
  TypeRun peek() const { return row_; }
  int64_t position() const { return position_; }

 private:
  struct WalkFrame {
    const TypeNode* node;
    int64_t at;     ///< offset of the node
    int64_t index;  ///< the round or part that the walk is in
  };
  /// Goes down from `node`, which has offset `at`, to its byte number `rest`.
  void descend(const TypeNode* node, int64_t at, int64_t rest);
  void advance();

  const TypeTree* tree_;
  std::vector<WalkFrame> frames_;
  int64_t position_ = 0, element_ = 0;
  TypeRun row_{0, 0};  ///< the rest of the run that the walk is in
};

}  // namespace fgmpi::datatype
