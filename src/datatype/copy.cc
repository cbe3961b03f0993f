// Copies by type trees: between a layout and a row, or two equal layouts, by a recursion over
// nodes; between two other layouts by a walk of two cursors.

#include "datatype/copy.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/count_words.h"
#include "datatype/elements.h"
#include "datatype/strided.h"
#include "datatype/type_tree.h"

namespace fgmpi::datatype {
namespace {

/// An address that is so many bytes from another one, which may be that of MPI_BOTTOM.
char* moved(const char* address, int64_t by) {
  return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(address) + static_cast<uintptr_t>(by));
}

/// Copies words at listed offsets: copy(offset, number) copies one.
template <class CopyWord>
[[gnu::always_inline]] inline void for_each_word(const std::vector<int32_t>& offsets,
                                                 CopyWord copy) {
  const size_t count = offsets.size();
  for (size_t i = 0; i < count; ++i) copy(int64_t{offsets[i]}, i);
}

/// The two sides of a copy, of which one is a row of packed data. For a row of the layout at offset
/// `at` whose data begins at byte number `before`: the addresses are layout + at and packed +
/// before.
template <bool kPacks>
struct Sides {
  char* layout;
  char* packed;
  void copy(int64_t at, int64_t before, int64_t bytes, int64_t stride, int64_t packed_stride,
            int64_t count) const {
    if (kPacks)
      copy_rows(packed + before, packed_stride, moved(layout, at), stride, bytes, count);
    else
      copy_rows(moved(layout, at), stride, packed + before, packed_stride, bytes, count);
  }
  void copy_one(int64_t at, int64_t before, int64_t bytes) const {
    if (kPacks)
      copy_row(packed + before, moved(layout, at), bytes);
    else
      copy_row(moved(layout, at), packed + before, bytes);
  }
  template <class Word>
  void copy_words(int64_t at, int64_t before, const std::vector<int32_t>& offsets) const {
    char *const words = moved(layout, at), *const row = packed + before;
    for_each_word(offsets, [=](int64_t offset, size_t i) {
      char *const word = words + offset, *const in_row = row + i * sizeof(Word);
      std::memcpy(kPacks ? in_row : word, kPacks ? word : in_row, sizeof(Word));
    });
  }
};

/// Both sides have the same layout.
struct SameLayout {
  char* to;
  const char* from;
  void copy(int64_t at, int64_t, int64_t bytes, int64_t stride, int64_t, int64_t count) const {
    copy_rows(moved(to, at), stride, moved(from, at), stride, bytes, count);
  }
  void copy_one(int64_t at, int64_t, int64_t bytes) const {
    copy_row(moved(to, at), moved(from, at), bytes);
  }
  template <class Word>
  void copy_words(int64_t at, int64_t, const std::vector<int32_t>& offsets) const {
    char* const words = moved(to, at);
    const char* const others = moved(from, at);
    for_each_word(offsets, [=](int64_t offset, size_t) {
      std::memcpy(words + offset, others + offset, sizeof(Word));
    });
  }
};

/// Rows of a body that is repeated: few, so that each is copied for many rounds at a time.
class FewRows {
 public:
  static constexpr int kMost = 16;
  struct Row {
    int64_t at, before, bytes, stride, packed_stride, count;
  };
  bool overflowed() const { return overflowed_; }
  int size() const { return size_; }
  const Row& operator[](int i) const { return rows_[i]; }
  void copy(int64_t at, int64_t before, int64_t bytes, int64_t stride, int64_t packed_stride,
            int64_t count) {
    if (size_ == kMost)
      overflowed_ = true;
    else
      rows_[size_++] = {at, before, bytes, stride, packed_stride, count};
  }
  void copy_one(int64_t at, int64_t before, int64_t bytes) { copy(at, before, bytes, 0, 0, 1); }

 private:
  Row rows_[kMost];
  int size_ = 0;
  bool overflowed_ = false;
};

template <class To>
void copy_node(const TypeNode& node, int64_t at, int64_t before, To& to);

/// True for a body that may have at most FewRows::kMost rows.
bool may_be_few(const TypeNode& body) {
  switch (body.kind) {
    case TypeNode::kRun:
      return true;
    case TypeNode::kLoop:
      return body.body->kind == TypeNode::kRun;
    default:
      return body.count <= FewRows::kMost;
  }
}

/// One of two nested loops: its rounds, and the distance between them in the layout and in the
/// packed data.
struct LoopSteps {
  int64_t count, stride, packed_stride;
};

/// Copies rows of two nested loops. Short rows that lie next to each other in the layout, but not
/// in the packed data, are copied together, in tiles. Otherwise the inner loop runs innermost,
/// unless it is so short that calls would cost more than its rows.
template <class To>
void copy_nest(int64_t at, int64_t before, int64_t bytes, LoopSteps outer, LoopSteps inner,
               To& to) {
  constexpr int64_t kTile = 16, kLeastTile = 4, kShort = 32, kFewRounds = 8;
  const auto far = [](int64_t stride) { return stride < 0 ? -stride : stride; };
  const bool tiled =
      bytes <= kShort && far(outer.stride) < far(inner.stride) && outer.count >= kLeastTile;
  const bool swapped = inner.count < kFewRounds && inner.count <= outer.count;
  const int64_t tile = tiled ? kTile : swapped ? outer.count : 1;
  for (int64_t i = 0; i < outer.count; i += tile) {
    const int64_t rounds = std::min(tile, outer.count - i);
    const int64_t first = at + i * outer.stride, packed = before + i * outer.packed_stride;
    if (rounds == 1) {
      to.copy(first, packed, bytes, inner.stride, inner.packed_stride, inner.count);
      continue;
    }
    for (int64_t j = 0; j < inner.count; ++j)
      to.copy(first + j * inner.stride, packed + j * inner.packed_stride, bytes, outer.stride,
              outer.packed_stride, rounds);
  }
}

/// Copies the rows of a body for all rounds of a loop around it, one row after another.
template <class To>
void copy_rounds(const FewRows& rows, int64_t at, int64_t before, LoopSteps rounds, To& to) {
  for (int r = 0; r < rows.size(); ++r) {
    const FewRows::Row& row = rows[r];
    if (row.count == 1)
      to.copy(at + row.at, before + row.before, row.bytes, rounds.stride, rounds.packed_stride,
              rounds.count);
    else
      copy_nest(at + row.at, before + row.before, row.bytes, rounds,
                {row.count, row.stride, row.packed_stride}, to);
  }
}

/// Copies `count` rounds of a body. Where a round is a few short rows, it takes a block of rounds
/// that stays in the first cache, and copies one row of all of them after another.
template <class To>
void copy_loop(const TypeNode& body, int64_t at, int64_t before, int64_t count, int64_t stride,
               To& to) {
  constexpr int64_t kInCache = 16 << 10, kLeastRounds = 4;
  if (body.kind == TypeNode::kRun) return to.copy(at, before, body.size, stride, body.size, count);
  if (body.kind == TypeNode::kLoop && body.body->kind == TypeNode::kRun)
    return copy_nest(at, before, body.body->size, {count, stride, body.size},
                     {body.count, body.stride, body.body->size}, to);
  const int64_t block = kInCache / std::max<int64_t>({1, body.high - body.low, body.size});
  if (count >= kLeastRounds && block >= kLeastRounds && may_be_few(body)) {
    FewRows rows;
    copy_node(body, 0, 0, rows);
    if (!rows.overflowed()) {
      for (int64_t i = 0; i < count; i += block)
        copy_rounds(rows, at + i * stride, before + i * body.size,
                    {std::min(block, count - i), stride, body.size}, to);
      return;
    }
  }
  for (int64_t i = 0; i < count; ++i) copy_node(body, at + i * stride, before + i * body.size, to);
}

/// Copies the bodies at places number `first` to `end` - 1.
template <class To>
void copy_places(const TypeNode& node, int64_t at, int64_t before, int64_t first, int64_t end,
                 To& to) {
  const TypeNode& body = *node.body;
  before += first * body.size;
  node.lists->offsets.for_each_in(static_cast<uint64_t>(first), static_cast<uint64_t>(end),
                                  [&](int64_t offset) {
                                    if (body.kind == TypeNode::kRun)
                                      to.copy_one(at + offset, before, body.size);
                                    else
                                      copy_node(body, at + offset, before, to);
                                    before += body.size;
                                  });
}

/// Copies all runs of a kRuns node.
template <class To>
void copy_runs(const TypeNode& node, int64_t at, int64_t before, To& to) {
  if constexpr (!std::is_same_v<To, FewRows>) {
    if (const RunWords* words = node.lists->words.get()) {
      if (words->bytes == 8) return to.template copy_words<int64_t>(at, before, words->offsets);
      return to.template copy_words<int32_t>(at, before, words->offsets);
    }
  }
  for_each_listed_run(node, [&](int64_t offset, int64_t bytes) {
    to.copy_one(at + offset, before, bytes);
    before += bytes;
  });
}

template <class To>
void copy_node(const TypeNode& node, int64_t at, int64_t before, To& to) {
  switch (node.kind) {
    case TypeNode::kRun:
      return to.copy_one(at, before, node.size);
    case TypeNode::kLoop:
      return copy_loop(*node.body, at, before, node.count, node.stride, to);
    case TypeNode::kPlaces:
      return copy_places(node, at, before, 0, node.count, to);
    case TypeNode::kRuns:
      return copy_runs(node, at, before, to);
    case TypeNode::kList:
      for (const TypePart& part : node.lists->parts) {
        copy_node(*part.node, at + part.offset, before, to);
        before += part.node->size;
      }
      return;
  }
}

/// True for a tree that takes too much stack to be copied by the recursion: copy_node() needs up to
/// 2 KiB for each node of the way down, and proclets may have 64 KiB. Types in use are less than 10
/// high.
bool is_high(const TypeTree& tree) {
  constexpr uint32_t kHighest = 16;
  return tree.root.node->height > kHighest;
}

/// Copies the next `bytes` bytes of the layout that a cursor walks.
template <class To>
void copy_walked(TypeCursor* cursor, int64_t bytes, To to) {
  for (int64_t before = 0; before < bytes;) {
    const TypeRows rows = cursor->next_rows(bytes - before);
    to.copy(rows.offset, before, rows.bytes, rows.stride, rows.bytes, rows.count);
    before += rows.bytes * rows.count;
  }
}

template <class To>
void copy_between(const TypeNode& node, int64_t at, int64_t before, int64_t first, int64_t last,
                  To& to);

/// Copies bytes number `first` to `last` - 1 of the data of rounds of `size` bytes: parts of rounds
/// at both ends by copy_part(round, first, last), the whole ones between them by copy_whole(first,
/// count).
template <class CopyPart, class CopyWhole>
void copy_rounds_between(int64_t size, int64_t first, int64_t last, CopyPart copy_part,
                         CopyWhole copy_whole) {
  int64_t round = first / size;
  if (const int64_t begin = first - round * size; begin > 0) {
    copy_part(round, begin, std::min(size, last - round * size));
    ++round;
  }
  if (const int64_t whole = last / size - round; whole > 0) {
    copy_whole(round, whole);
    round += whole;
  }
  if (round * size < last) copy_part(round, 0, last - round * size);
}

/// Copies bytes number `first` to `last` - 1 of the data of a loop, which goes on without end.
template <class To>
void copy_loop_between(const TypeNode& body, int64_t at, int64_t before, int64_t stride,
                       int64_t first, int64_t last, To& to) {
  const int64_t size = body.size;
  copy_rounds_between(
      size, first, last,
      [&](int64_t i, int64_t begin, int64_t end) {
        copy_between(body, at + i * stride, before + i * size, begin, end, to);
      },
      [&](int64_t i, int64_t count) {
        copy_loop(body, at + i * stride, before + i * size, count, stride, to);
      });
}

/// Copies bytes number `first` to `last` - 1 of a node's data. REQUIRES: first < last.
template <class To>
void copy_between(const TypeNode& node, int64_t at, int64_t before, int64_t first, int64_t last,
                  To& to) {
  switch (node.kind) {
    case TypeNode::kRun:
      return to.copy_one(at + first, before + first, last - first);
    case TypeNode::kLoop:
      return copy_loop_between(*node.body, at, before, node.stride, first, last, to);
    case TypeNode::kPlaces:
      return copy_rounds_between(
          node.body->size, first, last,
          [&](int64_t i, int64_t begin, int64_t end) {
            const int64_t offset = node.lists->offsets[static_cast<uint64_t>(i)];
            copy_between(*node.body, at + offset, before + i * node.body->size, begin, end, to);
          },
          [&](int64_t i, int64_t count) { copy_places(node, at, before, i, i + count, to); });
    case TypeNode::kRuns:
      return for_each_listed_run(
          node, node.index_of(first), node.index_of(last - 1),
          [&](int64_t offset, int64_t start, int64_t bytes) {
            const int64_t begin = std::max(first, start), end = std::min(last, start + bytes);
            to.copy_one(at + offset + begin - start, before + begin, end - begin);
          });
    case TypeNode::kList:
      for (int64_t i = node.index_of(first), end = node.index_of(last - 1); i <= end; ++i) {
        const TypePart& part = node.lists->parts[static_cast<size_t>(i)];
        const int64_t start = node.lists->starts[static_cast<size_t>(i)];
        copy_between(*part.node, at + part.offset, before + start,
                     std::max<int64_t>(first - start, 0), std::min(last - start, part.node->size),
                     to);
      }
      return;
  }
}

template <class To>
void copy_elements(const TypeTree& tree, int64_t count, To to) {
  if (!tree.root.node) return;
  if (is_high(tree)) {
    TypeCursor cursor(tree);
    copy_walked(&cursor, count * tree.size, to);
  } else if (count == 1) {
    copy_node(*tree.root.node, tree.root.offset, 0, to);
  } else {
    copy_loop(*tree.root.node, tree.root.offset, 0, count, tree.extent, to);
  }
}

char* address(const void* buffer) { return static_cast<char*>(const_cast<void*>(buffer)); }

/// Packs or unpacks `bytes` bytes that lie in a row.
template <bool kPacks>
void copy_in_row(char* layout, int64_t at, int64_t bytes, char* packed) {
  char* in_memory = moved(layout, at);
  std::memcpy(kPacks ? packed : in_memory, kPacks ? in_memory : packed, static_cast<size_t>(bytes));
}

/// Packs or unpacks `bytes` bytes from byte number `position` on.
template <bool kPacks>
void copy_packed(char* layout, const TypeTree& tree, int64_t position, int64_t bytes,
                 char* packed) {
  if (bytes <= 0) return;
  if (tree.contiguous()) return copy_in_row<kPacks>(layout, tree.low() + position, bytes, packed);
  if (is_high(tree)) {
    TypeCursor cursor(tree);
    cursor.seek(position);
    return copy_walked(&cursor, bytes, Sides<kPacks>{layout, packed});
  }
  Sides<kPacks> sides{layout, packed};
  copy_loop_between(*tree.root.node, tree.root.offset, -position, tree.extent, position,
                    position + bytes, sides);
}
template <bool kPacks>
void copy_packed(char* layout, const Type& type, int64_t position, int64_t bytes, char* packed) {
  if (bytes <= 0) return;
  if (type.contiguous())
    return copy_in_row<kPacks>(layout, type.true_lb() + position, bytes, packed);
  const int64_t size = type.size();
  if (bytes > kMostShortBytes || position > 0 || !type.has_short_rows() || bytes % size > 0)
    return copy_packed<kPacks>(layout, type.tree(), position, bytes, packed);
  if (kPacks)
    pack_short(*type.derived(), layout, bytes / size, packed);
  else
    unpack_short(*type.derived(), packed, layout, bytes / size);
}

/// Packs or unpacks whole elements: without the divisions by which copy_packed() finds them.
template <bool kPacks>
void copy_whole(char* layout, const Type& type, int64_t count, char* packed) {
  const int64_t bytes = count * type.size();
  if (bytes <= 0) return;
  if (type.contiguous()) return copy_in_row<kPacks>(layout, type.true_lb(), bytes, packed);
  const DerivedType& derived = *type.derived();
  if (bytes > kMostShortBytes || !type.has_short_rows())
    return copy_elements(derived.tree, count, Sides<kPacks>{layout, packed});
  if (kPacks)
    pack_short(derived, layout, count, packed);
  else
    unpack_short(derived, packed, layout, count);
}

/// One side of a copy between two layouts: the rows that come next.
class RowsAhead {
 public:
  RowsAhead(const TypeTree& tree, int64_t position) : cursor_(tree) { cursor_.seek(position); }
  /// The next rows, of at most `left` bytes, which are all that is to be copied yet.
  const TypeRows& next(int64_t left) {
    if (row_.count > 0) return row_;
    if (rows_.count == 0) rows_ = cursor_.next_rows(left);
    return rows_;
  }
  /// Goes on behind `count` rows of `length` bytes, which are whole rows or the beginning of one.
  void skip(int64_t length, int64_t count) {
    TypeRows& ahead = row_.count > 0 ? row_ : rows_;
    if (ahead.bytes == length) {
      ahead.offset += count * ahead.stride;
      ahead.count -= count;
      return;
    }
    const TypeRows rest{ahead.offset + length * count, ahead.bytes - length * count, 0, 1};
    ahead.offset += ahead.stride;
    --ahead.count;
    if (rest.bytes > 0) row_ = rest;
  }

 private:
  TypeCursor cursor_;
  TypeRows rows_{0, 0, 0, 0};
  TypeRows row_{0, 0, 0, 0};  ///< the rest of a row, which comes before rows_
};

/// Copies from one layout into another, from byte number `position` there on. Each step takes the
/// rows that both sides have next, cut to the same length.
void copy_across_layouts(const char* from, const TypeTree& from_tree, char* to,
                         const TypeTree& to_tree, int64_t position, int64_t bytes) {
  RowsAhead source(from_tree, 0), target(to_tree, position);
  while (bytes > 0) {
    const TypeRows a = source.next(bytes), b = target.next(bytes);
    const int64_t length = std::min(a.bytes, b.bytes);
    // Rows of the shorter length: whole rows of one side, and equal parts of one row of the other.
    const int64_t in_a = a.bytes == length ? a.count : a.bytes / length,
                  in_b = b.bytes == length ? b.count : b.bytes / length;
    const int64_t count = std::min(in_a, in_b);
    copy_rows(moved(to, b.offset), b.bytes == length ? b.stride : length, moved(from, a.offset),
              a.bytes == length ? a.stride : length, length, count);
    source.skip(length, count);
    target.skip(length, count);
    bytes -= length * count;
  }
}

}  // namespace

void pack_part(const void* buffer, const Type& type, int64_t position, int64_t bytes, void* out) {
  copy_packed<true>(address(buffer), type, position, bytes, address(out));
}

void pack_by_tree(const void* buffer, const TypeTree& tree, int64_t position, int64_t bytes,
                  void* out) {
  copy_packed<true>(address(buffer), tree, position, bytes, static_cast<char*>(out));
}

void pack(const void* buffer, int64_t count, const Type& type, void* out) {
  copy_whole<true>(address(buffer), type, count, address(out));
}

void unpack_part(const void* in, int64_t bytes, void* buffer, const Type& type, int64_t position) {
  copy_packed<false>(address(buffer), type, position, bytes, address(in));
}

void unpack_by_tree(const void* in, int64_t bytes, void* buffer, const TypeTree& tree,
                    int64_t position) {
  copy_packed<false>(address(buffer), tree, position, bytes, address(in));
}

void unpack_whole(const void* in, void* buffer, int64_t count, const Type& type) {
  copy_whole<false>(address(buffer), type, count, address(in));
}

void unpack(const void* in, int64_t bytes, void* buffer, int64_t count, const Type& type) {
  if (bytes >= count * type.size()) return unpack_whole(in, buffer, count, type);
  unpack_part(in, bytes, buffer, type, 0);
}

void copy_part(const void* from, const Type& from_type, void* to, const Type& to_type,
               int64_t position, int64_t bytes) {
  if (bytes <= 0) return;
  const int64_t size = from_type.size();
  if (from_type.contiguous())
    unpack_part(moved(address(from), from_type.true_lb()), bytes, to, to_type, position);
  else if (to_type.contiguous())
    pack_part(from, from_type, 0, bytes, moved(address(to), to_type.true_lb() + position));
  else if (from_type == to_type && bytes % size == 0 && position % size == 0)
    copy_elements(
        from_type.tree(), bytes / size,
        SameLayout{moved(address(to), position / size * to_type.extent()), address(from)});
  else
    copy_across_layouts(address(from), from_type.tree(), address(to), to_type.tree(), position,
                        bytes);
}

Status copy(const void* from, int64_t from_count, const Type& from_type, void* to, int64_t to_count,
            const Type& to_type) {
  const int64_t sent = std::max<int64_t>(from_count, 0) * from_type.size();
  const int64_t room = std::max<int64_t>(to_count, 0) * to_type.size();
  copy_part(from, from_type, to, to_type, 0, std::min(sent, room));
  if (sent <= room) return {};
  return error(MPI_ERR_TRUNCATE, "%s sent, but the receive buffer holds %lld",
               sent == 1 ? "1 byte was" : (std::to_string(sent) + " bytes were").c_str(),
               static_cast<long long>(room));
}

Status check_end(int64_t bytes, const Type& type) {
  const int64_t size = type.size();
  if (size == 0 || bytes % size == 0) return {};
  int64_t elements, rest;
  elements_in_bytes(type, bytes, &elements, &rest);
  if (rest == 0) return {};
  return error(MPI_ERR_TYPE,
               "a message of %s ends within a basic element of the receive's datatype "
               "0x%08x; allowed are messages of the receive's type signature or its beginning",
               count_words(static_cast<uint64_t>(bytes), "byte").c_str(),
               static_cast<unsigned>(type.handle()));
}

}  // namespace fgmpi::datatype
