// Copies of short messages, one loop for each shape.

#include "datatype/short_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "datatype/derived_type.h"
#include "datatype/strided.h"

namespace fgmpi::datatype {
namespace {

ShortRows make_strided_rows(int64_t first, int64_t bytes, int64_t stride, int64_t count) {
  ShortRows rows;
  if (!fits_32_bits(first) || !fits_32_bits(stride)) return rows;
  rows.first = static_cast<int32_t>(first);
  rows.stride = static_cast<int32_t>(stride);
  rows.bytes = static_cast<uint16_t>(bytes);
  rows.count = static_cast<uint16_t>(count);
  rows.shape = bytes == 8   ? ShortRows::kStrided8
               : bytes == 4 ? ShortRows::kStrided4
                            : ShortRows::kStrided;
  return rows;
}

ShortRows::RowLength length_of(int64_t bytes) {
  if (bytes > 32) return ShortRows::kLonger;
  if (bytes > 16) return ShortRows::kTo32;
  if (bytes > 8) return ShortRows::kTo16;
  if (bytes == 8) return ShortRows::k8;
  if (bytes > 4) return ShortRows::kTo8;
  if (bytes == 4) return ShortRows::k4;
  if (bytes > 2) return ShortRows::kTo4;
  return bytes == 2 ? ShortRows::k2 : ShortRows::k1;
}

/// Has the code of a row copy the next one, too, where both have 4 or both have 8 bytes.
void join_pairs(std::vector<ShortRows::ListedRow>* list) {
  for (size_t i = 0; i + 1 < list->size(); ++i) {
    const ShortRows::RowLength length = (*list)[i].length;
    if (length != (*list)[i + 1].length) continue;
    if (length != ShortRows::k4 && length != ShortRows::k8) continue;
    (*list)[i].length = length == ShortRows::k4 ? ShortRows::k4Twice : ShortRows::k8Twice;
    ++i;
  }
}

ShortRows make_listed_rows(const TypeTree& tree) {
  std::vector<ShortRows::ListedRow> list;
  bool all = true;
  for_each_run(tree, 1, [&](int64_t offset, int64_t bytes) {
    all = all && fits_32_bits(offset) && list.size() < ShortRows::kMostListed;
    if (all)
      list.push_back(
          {static_cast<int32_t>(offset), static_cast<uint16_t>(bytes), length_of(bytes)});
  });
  ShortRows rows;
  if (!all) return rows;
  rows.count = static_cast<uint16_t>(list.size());
  join_pairs(&list);
  list.push_back({0, 0, ShortRows::kEnd});
  auto listed = std::make_unique<ShortRows::ListedRow[]>(list.size());
  std::copy(list.begin(), list.end(), listed.get());
  rows.listed = std::move(listed);
  rows.shape = ShortRows::kListed;
  return rows;
}

/// Which sides of a copy have the layout; the other one is a row of packed data.
enum class CopySides : uint8_t { kPack, kUnpack, kSameLayout };

/// A copy whose sides have gone on to some place.
template <CopySides kSides>
struct ShortCopy {
  char* to;
  const char* from;
  /// Goes on by so many bytes on the sides that have the layout, and in the packed data.
  void advance(int64_t in_layout, int64_t in_row) {
    to += kSides == CopySides::kPack ? in_row : in_layout;
    from += kSides == CopySides::kUnpack ? in_row : in_layout;
  }
};

template <CopySides kSides, class CopyRow>
[[gnu::always_inline]] inline void copy_strided(const ShortRows& rows, ShortCopy<kSides> copy,
                                                CopyRow copy_one) {
  const int64_t stride = rows.stride, bytes = copy_one.length(rows.bytes);
  copy.advance(rows.first, 0);
  uint32_t left = rows.count;
  do {
    copy_one(copy.to, copy.from, bytes);
    copy.advance(stride, bytes);
  } while (--left > 0);
}

template <int64_t kBytes>
struct CopyFixedRow {
  static int64_t length(int64_t) { return kBytes; }
  void operator()(char* to, const char* from, int64_t) const { std::memcpy(to, from, kBytes); }
};
/// Two moves, which may overlap.
template <size_t kPart>
struct CopyRowByTwo {
  static int64_t length(int64_t bytes) { return bytes; }
  void operator()(char* to, const char* from, int64_t bytes) const {
    detail::copy_ends<kPart>(to, from, static_cast<size_t>(bytes));
  }
};
/// Rows of more than 32 bytes, without a call, so that the code of no length saves registers.
struct CopyLongerRow {
  static int64_t length(int64_t bytes) { return bytes; }
  void operator()(char* to, const char* from, int64_t bytes) const {
    for (; bytes > 32; bytes -= 16, to += 16, from += 16) detail::copy_ends<16>(to, from, 16);
    detail::copy_ends<16>(to, from, static_cast<size_t>(bytes));
  }
};
struct CopyAnyRow {
  static int64_t length(int64_t bytes) { return bytes; }
  void operator()(char* to, const char* from, int64_t bytes) const { copy_row(to, from, bytes); }
};

/// Copies a listed row; returns the next one.
template <CopySides kSides, class CopyRow>
[[gnu::always_inline]] inline const ShortRows::ListedRow* copy_listed_row(
    const ShortRows::ListedRow* row, ShortCopy<kSides>* copy, CopyRow copy_one) {
  ShortCopy<kSides> at = *copy;
  at.advance(row->offset, 0);
  copy_one(at.to, at.from, row->bytes);
  copy->advance(0, copy_one.length(row->bytes));
  return row + 1;
}

/// Copies listed rows. The code of each length ends with a jump to that of the next row: labels as
/// values, an extension that GCC and clang have.
template <CopySides kSides>
[[gnu::noinline]] void copy_listed(const ShortRows::ListedRow* row, ShortCopy<kSides> copy) {
  static const void* const code[] = {&&end,     &&row_1,     &&row_2,     &&row_to_4,
                                     &&row_4,   &&twice_4,   &&row_to_8,  &&row_8,
                                     &&twice_8, &&row_to_16, &&row_to_32, &&longer};
  goto* code[row->length];
row_1:
  row = copy_listed_row(row, &copy, CopyFixedRow<1>());
  goto* code[row->length];
row_2:
  row = copy_listed_row(row, &copy, CopyFixedRow<2>());
  goto* code[row->length];
row_to_4:
  row = copy_listed_row(row, &copy, CopyRowByTwo<2>());
  goto* code[row->length];
twice_4:
  row = copy_listed_row(row, &copy, CopyFixedRow<4>());
row_4:
  row = copy_listed_row(row, &copy, CopyFixedRow<4>());
  goto* code[row->length];
row_to_8:
  row = copy_listed_row(row, &copy, CopyRowByTwo<4>());
  goto* code[row->length];
twice_8:
  row = copy_listed_row(row, &copy, CopyFixedRow<8>());
row_8:
  row = copy_listed_row(row, &copy, CopyFixedRow<8>());
  goto* code[row->length];
row_to_16:
  row = copy_listed_row(row, &copy, CopyRowByTwo<8>());
  goto* code[row->length];
row_to_32:
  row = copy_listed_row(row, &copy, CopyRowByTwo<16>());
  goto* code[row->length];
longer:
  row = copy_listed_row(row, &copy, CopyLongerRow());
  goto* code[row->length];
end:
  return;
}

template <CopySides kSides>
[[gnu::noinline]] void copy_strided_rows(const ShortRows& rows, ShortCopy<kSides> copy) {
  copy_strided(rows, copy, CopyAnyRow());
}

template <CopySides kSides>
[[gnu::always_inline]] inline void copy_short_element(const ShortRows& rows,
                                                      ShortCopy<kSides> copy) {
  if (rows.shape == ShortRows::kListed) return copy_listed(rows.listed.get(), copy);
  if (rows.shape == ShortRows::kStrided8) return copy_strided(rows, copy, CopyFixedRow<8>());
  if (rows.shape == ShortRows::kStrided4) return copy_strided(rows, copy, CopyFixedRow<4>());
  copy_strided_rows(rows, copy);
}

template <CopySides kSides>
[[gnu::noinline]] void copy_several(const DerivedType& type, ShortCopy<kSides> copy,
                                    int64_t count) {
  for (; count > 0; --count) {
    copy_short_element(type.short_rows, copy);
    copy.advance(type.tree.extent, type.tree.size);
  }
}

/// Calls functions out of line for all but the commonest elements, so that these need no registers
/// to be saved.
template <CopySides kSides>
[[gnu::always_inline]] inline void copy_short_elements(const DerivedType& type, void* to,
                                                       const void* from, int64_t count) {
  const ShortCopy<kSides> copy{static_cast<char*>(to), static_cast<const char*>(from)};
  if (__builtin_expect(count == 1, 1)) return copy_short_element(type.short_rows, copy);
  copy_several(type, copy, count);
}

}  // namespace

ShortRows make_short_rows(const TypeTree& tree) {
  const TypePart& root = tree.root;
  if (!root.node || tree.size > kMostShortBytes) return {};
  const TypeNode& node = *root.node;
  if (node.kind == TypeNode::kRun) return make_strided_rows(root.offset, node.size, 0, 1);
  if (node.kind == TypeNode::kLoop && node.body->kind == TypeNode::kRun)
    return make_strided_rows(root.offset, node.body->size, node.stride, node.count);
  return make_listed_rows(tree);
}

void pack_short(const DerivedType& type, const void* buffer, int64_t count, void* out) {
  copy_short_elements<CopySides::kPack>(type, out, buffer, count);
}

void unpack_short(const DerivedType& type, const void* in, void* buffer, int64_t count) {
  copy_short_elements<CopySides::kUnpack>(type, buffer, in, count);
}

void copy_short(const DerivedType& type, const void* from, void* to, int64_t count) {
  copy_short_elements<CopySides::kSameLayout>(type, to, from, count);
}

}  // namespace fgmpi::datatype
