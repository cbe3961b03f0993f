// Type trees: the positions of a datatype's bytes, as nested rules in the order of its type map.
//
//   kRun     | bytes |                          a row of bytes
//   kLoop    body, body, body, ...              `count` times, `stride` bytes from one to the next
//   kPlaces  body, body,   body, body, ...      `count` times, at listed offsets
//   kRuns    | run | gap | run | gap | run |    `count` rows of different lengths, listed
//   kList    part, part, part, ...              anything else
//
// A subarray of a three-dimensional array is two loops around a run, whatever its sizes are: 3
// nodes, less than 500 bytes. A list of runs that are equal and evenly spaced is stored as a loop;
// runs that touch are stored as one; listed offsets are compressed (number_list.h).
//
// A tree may be as high as types are nested: lists in lists, 100,000 of them. Nothing here recurses
// over nodes; who does (copy.cc) looks at their height.
//
// Thread rule: one thread. Nothing here switches. Invariants: a node has at least one byte of data
// and does not change once it is made; all rounds of a loop share its body.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "datatype/number_list.h"

namespace fgmpi::datatype {

class Type;

/// True for a number that an int32_t can have.
inline bool fits_32_bits(int64_t number) { return number == static_cast<int32_t>(number); }

struct TypeRun {
  int64_t offset;
  int64_t bytes;
};
/// `count` rows of `bytes` bytes, `stride` bytes from one to the next.
struct TypeRows {
  int64_t offset;
  int64_t bytes;
  int64_t stride;
  int64_t count;
};

struct TypeNode;
using TypeNodePtr = std::shared_ptr<const TypeNode>;

/// A node with its offset; nullptr: no bytes.
struct TypePart {
  int64_t offset = 0;
  TypeNodePtr node;
};

/// A run among few.
struct FewRun {
  int32_t offset;
  int32_t end;  ///< the bytes of data up to its end
};

/// The words of 8 or 4 bytes of which few runs consist. Whole copies follow them, without a branch
/// for the length of a run.
struct RunWords {
  int32_t bytes;                 ///< of a word
  std::vector<int32_t> offsets;  ///< of each word
};

/// What kPlaces, kRuns and kList list.
struct TypeNodeLists {
  /// kRuns with at most kMostFew runs whose numbers need 32 bits: as much memory as compressed
  /// lists take, but read without a call.
  std::vector<FewRun> few;
  static constexpr size_t kMostFew = 256;
  std::unique_ptr<const RunWords> words;  ///< of `few`, or nullptr
  NumberList offsets;                     ///< kPlaces, other kRuns
  NumberList ends;                        ///< other kRuns: the bytes of data up to the end of each
  std::vector<TypePart> parts;            ///< kList
  std::vector<int64_t> starts;            ///< kList: bytes of data before each
};

struct TypeNode {
  enum Kind : uint8_t { kRun, kLoop, kPlaces, kRuns, kList };
  Kind kind = kRun;
  bool ascends = true;    ///< each byte lies behind all that the type map has earlier
  bool descends = false;  ///< some row begins before the row that the type map has just before it
  uint32_t height = 1;    ///< nodes on the longest way down, itself included
  int64_t size = 0;       ///< bytes of data
  int64_t first = 0, last = 0;  ///< offsets of the first and of the last row
  int64_t low = 0;              ///< least offset of all bytes
  int64_t high = 0;             ///< greatest offset of all bytes, plus one
  int64_t count = 1;            ///< rounds, places, runs or parts
  int64_t stride = 0;           ///< kLoop
  TypeNodePtr body;             ///< kLoop, kPlaces: at offset 0
  std::unique_ptr<TypeNodeLists> lists;

  TypeNode() = default;
  TypeNode(const TypeNode&) = delete;
  /// Also deletes what only this node holds, one node after another.
  ~TypeNode();
  /// The number of the round, place, run or part in which byte number `byte` of the data is.
  /// REQUIRES: byte < size.
  int64_t index_of(int64_t byte) const;
  /// Bytes of data before run number i. REQUIRES: kRuns.
  int64_t run_start(int64_t i) const { return i ? run_end(i - 1) : 0; }
  /// Bytes of data up to the end of run number i. REQUIRES: kRuns.
  int64_t run_end(int64_t i) const {
    const auto at = static_cast<uint64_t>(i);
    return lists->few.empty() ? lists->ends[at] : lists->few[at].end;
  }
  /// The place of run number i. REQUIRES: kRuns.
  TypeRun run(int64_t i) const {
    const auto at = static_cast<uint64_t>(i);
    return {lists->few.empty() ? lists->offsets[at] : lists->few[at].offset,
            run_end(i) - run_start(i)};
  }
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
  /// True if each node has as many bytes of data as the nodes and runs that it consists of.
  bool validate() const;
};
using TypeTreePtr = std::shared_ptr<const TypeTree>;

/// The bytes of predefined types in another representation than that of memory.
using PlacedSizes = std::unordered_map<MPI_Datatype, int64_t>;
/// The tree of a datatype where predefined types have other sizes, as in a file of another data
/// representation: displacements that count elements change with them, those in bytes do not
/// (MPI-4.0 section 14.5.1). Pairs have no padding. REQUIRES: `sizes` has all types of its
/// signature.
TypeTree placed_tree_of(const Type& type, const PlacedSizes& sizes);

// ---- Making trees -------------------------------------------------------------------------------
TypePart make_run(int64_t offset, int64_t bytes);
/// Makes a loop of `part`.
TypePart make_loop(const TypePart& part, int64_t count, int64_t stride);
/// Makes `part` at each of the offsets.
TypePart make_places(const TypePart& part, const std::vector<int64_t>& offsets);
/// Makes a list of runs in the order of the type map; those of no bytes are left out.
TypePart make_runs(std::vector<TypeRun> runs);
/// Makes a list of parts in the order of the type map.
TypePart make_list(const std::vector<TypePart>& parts);

/// Calls f(offset, start, bytes) for runs number `first` to `last` of a kRuns node; `start`: bytes
/// of data before the run. REQUIRES: first <= last.
template <class F>
void for_each_listed_run(const TypeNode& node, int64_t first, int64_t last, F&& f) {
  int64_t start = node.run_start(first);
  const auto next = [&](int64_t offset, int64_t end) {
    f(offset, start, end - start);
    start = end;
  };
  const TypeNodeLists& lists = *node.lists;
  if (!lists.few.empty()) {
    for (int64_t i = first; i <= last; ++i) {
      const FewRun& run = lists.few[static_cast<size_t>(i)];
      next(run.offset, run.end);
    }
    return;
  }
  int64_t offsets[NumberList::kBlock], ends[NumberList::kBlock];
  const auto all = static_cast<uint64_t>(last) + 1;
  for (auto at = static_cast<uint64_t>(first); at < all; at += NumberList::kBlock) {
    const uint64_t count = all - at < NumberList::kBlock ? all - at : NumberList::kBlock;
    lists.offsets.read(at, count, offsets);
    lists.ends.read(at, count, ends);
    for (uint64_t k = 0; k < count; ++k) next(offsets[k], ends[k]);
  }
}
/// Calls f(offset, bytes) for each run of a kRuns node, in order.
template <class F>
void for_each_listed_run(const TypeNode& node, F&& f) {
  for_each_listed_run(node, 0, node.count - 1,
                      [&](int64_t offset, int64_t, int64_t bytes) { f(offset, bytes); });
}

/// A walk over the bytes of elements of a type, in the order of the type map. Elements follow each
/// other without end.
class TypeCursor {
 public:
  /// The tree must outlive it. REQUIRES: the type has bytes.
  explicit TypeCursor(const TypeTree& tree) : tree_(&tree) {
    descend(tree.root.node.get(), tree.root.offset, 0);
  }
  /// Goes to the byte number `position` of the data.
  void seek(int64_t position);
  /// The next bytes that lie in a row, at most `most`, with their offset from the address of
  /// element 0. Goes on behind them.
  TypeRun next(int64_t most);
  /// The next bytes, at most `most`, as rows of equal length at equal distances, at least one. Goes
  /// on behind them.
  TypeRows next_rows(int64_t most);
  /// As next(), without going on.
  TypeRun peek(int64_t most) const {
    if (tree_->contiguous()) return {tree_->root.offset + position_, most};
    return {row_.offset, most < row_.bytes ? most : row_.bytes};
  }
  /// The rest of the run that the walk is in.
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
  /// Goes to the next run, behind a run that has been visited whole.
  void advance();

  const TypeTree* tree_;
  std::vector<WalkFrame> frames_;
  int64_t position_ = 0, element_ = 0;
  TypeRun row_{0, 0};  ///< the rest of the run that the walk is in
};

/// Calls f(offset, bytes) for each run of `count` elements, in the order of the type map.
template <class F>
void for_each_run(const TypeTree& tree, int64_t count, F&& f) {
  if (tree.size == 0) return;
  TypeCursor cursor(tree);
  for (int64_t left = count * tree.size; left > 0;) {
    const TypeRows rows = cursor.next_rows(left);
    for (int64_t i = 0; i < rows.count; ++i) f(rows.offset + i * rows.stride, rows.bytes);
    left -= rows.count * rows.bytes;
  }
}

}  // namespace fgmpi::datatype
