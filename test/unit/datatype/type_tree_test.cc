// Trees of large and regular types: their rules, their memory, and the time of a walk to any byte.
// The trees of random types are in random_types_test.cc.
#include "datatype/type_tree.h"

#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "datatype/constructors.h"
#include "datatype/copy.h"
#include "datatype/elements.h"
#include "datatype/signature.h"

namespace fgmpi::datatype {
namespace {

constexpr int64_t k31 = int64_t{1} << 31, k40 = int64_t{1} << 40;

Type type_of(MPI_Datatype handle) {
  Type type;
  EXPECT_TRUE(Type::of(handle, &type).ok());
  return type;
}

/// The offset of byte number `position`.
int64_t place(const Type& type, int64_t position) {
  TypeCursor cursor(type.tree());
  cursor.seek(position);
  return cursor.next(1).offset;
}

TEST(TypeTree, NumbersOf32Bits) {
  for (const int64_t fits : {int64_t{0}, k31 - 1, -k31}) {
    EXPECT_TRUE(fits_32_bits(fits)) << fits;
    // Rows at such distances are copied as short ones.
    Type type;
    ASSERT_TRUE(make_hvector(true, 3, 1, fits, type_of(MPI_DOUBLE), &type).ok());
    EXPECT_NE(type.derived()->short_rows.shape, ShortRows::kNone) << fits;
  }
  for (const int64_t large : {k31, -k31 - 1, k40, -k40, INT64_MAX, INT64_MIN}) {
    EXPECT_FALSE(fits_32_bits(large)) << large;
    Type type;
    if (!make_hvector(true, 3, 1, large, type_of(MPI_DOUBLE), &type).ok()) continue;
    EXPECT_EQ(type.derived()->short_rows.shape, ShortRows::kNone) << large;
    EXPECT_FALSE(type.derived()->is_small) << large;
  }
}

TEST(TypeTree, ArraysAreRules) {
  const int sizes[] = {1000, 1000, 1000}, parts[] = {500, 500, 500}, starts[] = {250, 0, 499};
  Type type;
  ASSERT_TRUE(
      make_subarray(false, {3, sizes, parts, starts, MPI_ORDER_C}, type_of(MPI_DOUBLE), &type)
          .ok());
  const TypeTree& tree = type.tree();
  EXPECT_EQ(tree.size, 1'000'000'000);
  EXPECT_LE(tree.memory(), 1024u);
  EXPECT_TRUE(tree.root.node->ascends);
  EXPECT_EQ(place(type, 999'999'999), ((749 * 1000LL + 499) * 1000 + 998) * 8 + 7);
}

TEST(TypeTree, CountsOf31And40BitsTakeNeitherTimeNorMemory) {
  for (int64_t count : {k31 - 1, k31, k31 + 1, k40}) {
    Type type;
    ASSERT_TRUE(make_vector(true, count, 3, 5, type_of(MPI_INT), &type).ok());
    EXPECT_EQ(type.size(), count * 12);
    EXPECT_EQ(type.extent(), (count - 1) * 20 + 12);
    EXPECT_LE(type.derived()->memory(), 1024u);
    std::string reason;
    EXPECT_TRUE(type.derived()->validate(&reason)) << reason;
    EXPECT_EQ(place(type, type.size() - 1), type.extent() - 1);
    EXPECT_EQ(place(type, type.size() / 2 / 12 * 12), type.size() / 2 / 12 * 20);
    EXPECT_EQ(place(type, type.size() + 12), type.extent() + 20);  // of the second element
    int64_t elements, rest, bytes;
    elements_in_bytes(type, type.size() - 1, &elements, &rest);
    EXPECT_EQ(elements, count * 3 - 1);
    EXPECT_EQ(rest, 3);
    ASSERT_TRUE(bytes_of_elements(type, 2 * count * 3 - 1, &bytes).ok());
    EXPECT_EQ(bytes, 2 * type.size() - 4);
    EXPECT_FALSE(check_end(type.size() - 1, type).ok());
    // A vector of vectors of these.
    Type outer;
    ASSERT_TRUE(make_hvector(true, 1000, 1, type.extent() + 4, type, &outer).ok());
    EXPECT_EQ(outer.size(), 1000 * type.size());
    EXPECT_EQ(place(outer, 999 * type.size()), 999 * (type.extent() + 4));
    TypeCursor cursor(outer.tree());
    cursor.seek(type.size() - 24);
    const TypeRows rows = cursor.next_rows(1 << 20);
    EXPECT_EQ(rows.bytes * rows.count, 24);
    EXPECT_EQ(cursor.next(1).offset, type.extent() + 4);
  }
}

TEST(TypeTree, LargeCountsOfEachConstructor) {
  const Type byte = type_of(MPI_BYTE), pair = type_of(MPI_SHORT_INT);
  Type type;
  ASSERT_TRUE(make_contiguous(true, k40, pair, &type).ok());
  EXPECT_EQ(type.size(), k40 * 6);
  EXPECT_EQ(place(type, k40 * 6 - 1), k40 * 8 - 1);
  ASSERT_TRUE(make_hvector(true, k40, 1, -3, byte, &type).ok());
  EXPECT_EQ(type.lb(), -3 * (k40 - 1));
  EXPECT_EQ(place(type, k40 - 1), -3 * (k40 - 1));
  const int64_t lengths[] = {k40, 1, k31}, displs[] = {k40, 0, -k40};
  ASSERT_TRUE(make_indexed(true, 3, lengths, displs, pair, &type).ok());
  EXPECT_EQ(type.size(), (k40 + 1 + k31) * 6);
  EXPECT_EQ(place(type, k40 * 6), 0);
  EXPECT_EQ(place(type, k40 * 6 + 6), -k40 * 8);
  EXPECT_EQ(place(type, type.size() - 1), (-k40 + k31) * 8 - 1);
  ASSERT_TRUE(make_hindexed_block(true, 3, k31, displs, pair, &type).ok());
  EXPECT_EQ(type.size(), 3 * k31 * 6);
  ASSERT_TRUE(make_struct(true, 3, lengths, displs, {byte, pair, byte}, &type).ok());
  EXPECT_EQ(type.size(), k40 + k31 + 6);
  EXPECT_EQ(place(type, k40 + 2), 4);
  const int64_t sizes[] = {k31 + 8, 9}, parts[] = {k31, 3}, starts[] = {7, 2};
  ASSERT_TRUE(make_subarray(true, {2, sizes, parts, starts, MPI_ORDER_C}, byte, &type).ok());
  EXPECT_EQ(type.size(), 3 * k31);
  EXPECT_EQ(place(type, 3 * k31 - 1), (7 + k31 - 1) * 9 + 4);
  ASSERT_TRUE(make_subarray(true, {2, sizes, parts, starts, MPI_ORDER_FORTRAN}, byte, &type).ok());
  EXPECT_EQ(place(type, 3 * k31 - 1), 4 * (k31 + 8) + 7 + k31 - 1);
}

TEST(TypeTree, LargeDistributedArraysAreRules) {
  const int64_t sizes[] = {k40 + 5, 6};
  const int distributions[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, processes[] = {2, 3};
  for (int block : {1, 3, 1 << 20}) {
    const int arguments[] = {block, MPI_DISTRIBUTE_DFLT_DARG};
    int64_t bytes = 0;
    for (int rank = 0; rank < 6; ++rank) {
      Type type;
      ASSERT_TRUE(make_darray(true,
                              {6, rank, 2, sizes, distributions, arguments, processes, MPI_ORDER_C},
                              type_of(MPI_BYTE), &type)
                      .ok());
      EXPECT_EQ(type.extent(), sizes[0] * sizes[1]);
      EXPECT_LE(type.derived()->memory(), 2048u);
      EXPECT_EQ(place(type, 0), rank / 3 * block * 6 + rank % 3 * 2);
      const int64_t row = type.size() / 2 / 3;  // of two bytes
      EXPECT_EQ(place(type, 2 * row),
                (row / block * 2 * block + rank / 3 * block + row % block) * 6 + rank % 3 * 2);
      bytes += type.size();
    }
    EXPECT_EQ(bytes, sizes[0] * sizes[1]);
  }
}

TEST(TypeTree, TouchingAndRegularPartsAreJoined) {
  const Type i = type_of(MPI_INT);
  Type type, outer;
  ASSERT_TRUE(make_vector(false, 4, 2, 2, i, &type).ok());
  EXPECT_TRUE(type.contiguous());
  ASSERT_TRUE(make_vector(false, 6, 1, 2, i, &type).ok());
  ASSERT_TRUE(make_hvector(false, 3, 1, 48, type, &outer).ok());
  EXPECT_EQ(outer.tree().root.node->body->kind, TypeNode::kRun);  // one loop of 18 rounds
  std::vector<int> lengths(1000, 2), displs(1000);
  for (int k = 0; k < 1000; ++k) displs[static_cast<size_t>(k)] = 5 * k - 7;
  ASSERT_TRUE(make_indexed(false, 1000, lengths.data(), displs.data(), i, &type).ok());
  EXPECT_EQ(type.tree().root.node->kind, TypeNode::kLoop);
  EXPECT_LT(type.derived()->memory(), 2048u);
  std::iota(displs.begin(), displs.end(), 4);
  ASSERT_TRUE(make_indexed_block(false, 1000, 1, displs.data(), i, &type).ok());
  EXPECT_TRUE(type.contiguous());
  EXPECT_EQ(type.true_lb(), 16);
  ASSERT_TRUE(make_contiguous(false, 0, i, &type).ok());
  EXPECT_EQ(type.tree().root.node, nullptr);
  EXPECT_TRUE(type.contiguous());
}

TEST(TypeTree, AMillionBlocks) {
  constexpr int64_t kBlocks = 1'000'000;
  std::vector<int64_t> lengths(kBlocks), displs(kBlocks);
  int64_t at = 0;
  for (size_t k = 0; k < kBlocks; ++k) {
    lengths[k] = static_cast<int64_t>(k * k % 7);
    displs[k] = at;
    at += lengths[k] + 1 + static_cast<int64_t>(k % 3);
  }
  Type type;
  ASSERT_TRUE(
      make_indexed(true, kBlocks, lengths.data(), displs.data(), type_of(MPI_SHORT), &type).ok());
  EXPECT_LT(type.derived()->memory(), 8u * kBlocks);
  std::vector<char> memory(static_cast<size_t>(at) * 2), packed(static_cast<size_t>(type.size()));
  for (size_t k = 0; k < memory.size(); ++k) memory[k] = static_cast<char>(k * 31 >> 3);
  pack(memory.data(), 1, type, packed.data());
  std::vector<char> expected;
  for (size_t k = 0; k < kBlocks; ++k)
    expected.insert(expected.end(), &memory[static_cast<size_t>(displs[k]) * 2],
                    &memory[static_cast<size_t>(displs[k] + lengths[k]) * 2]);
  EXPECT_EQ(packed, expected);
  TypeCursor cursor(type.tree());
  for (int64_t position = 1; position < type.size(); position += 99'991) {
    cursor.seek(position);
    EXPECT_EQ(memory[static_cast<size_t>(cursor.next(1).offset)],
              packed[static_cast<size_t>(position)]);
  }
}

/// Depth of types in each other is no reason to compute them again for each block.
/// Blocks of one to three elements at irregular places, and what packing them gives.
template <class T>
void check_words(MPI_Datatype element, int32_t word_bytes) {
  std::vector<int> lengths, places;
  int end = 0;
  for (int i = 0; i < 100; ++i) {
    lengths.push_back(1 + i * i % 3);
    places.push_back(i ? end + 1 + i % 5 : 0);
    end = places.back() + lengths.back();
  }
  Type type;
  ASSERT_TRUE(
      make_indexed(false, 100, lengths.data(), places.data(), type_of(element), &type).ok());
  const RunWords* words = type.tree().root.node->lists->words.get();
  EXPECT_EQ(words ? words->bytes : 0, word_bytes);
  std::vector<T> memory(static_cast<size_t>(2 * end)), expected, packed, out(memory.size()),
      copied(memory.size());
  std::iota(memory.begin(), memory.end(), T{1});
  std::vector<bool> is_data(memory.size());
  const auto extent = static_cast<size_t>(type.extent() / static_cast<int64_t>(sizeof(T)));
  for (size_t k = 0; k < 2; ++k)
    for (size_t i = 0; i < 100; ++i)
      for (int j = 0; j < lengths[i]; ++j) {
        const size_t at = static_cast<size_t>(places[i] + j) + k * extent;
        expected.push_back(memory[at]);
        is_data[at] = true;
      }
  packed.resize(expected.size());
  const T* data = memory.data();
  pack(data, 2, type, packed.data());
  EXPECT_EQ(packed, expected);
  unpack(packed.data(), 2 * type.size(), out.data(), 2, type);
  ASSERT_TRUE(copy(data, 2, type, copied.data(), 2, type).ok());
  for (size_t i = 0; i < memory.size(); ++i) EXPECT_EQ(out[i], is_data[i] ? memory[i] : T{});
  EXPECT_EQ(copied, out);
  // Parts begin and end within runs, and within words.
  const int64_t most = 2 * type.size();
  for (int64_t from = 0; from < most; from += 7 * from / 5 + 5) {
    const int64_t bytes = std::min<int64_t>(most - from, 333);
    std::vector<char> part(static_cast<size_t>(bytes));
    pack_part(data, type, from, bytes, part.data());
    EXPECT_EQ(memcmp(part.data(), reinterpret_cast<char*>(expected.data()) + from, part.size()), 0);
  }
}

TEST(TypeTree, WordsOfFewRuns) {
  check_words<double>(MPI_DOUBLE, 8);
  check_words<float>(MPI_FLOAT, 4);
  check_words<short>(MPI_SHORT, 0);
}

TEST(TypeTree, NestedListsArePlacedInLinearTime) {
  Type type = type_of(MPI_INT);
  const int lengths[] = {1, 2, 1, 2, 1, 1, 2, 1}, displs[] = {0, 3, 7, 11, 14, 20, 22, 25};
  for (int depth = 0; depth < 7; ++depth) {
    Type outer;
    ASSERT_TRUE(make_indexed(false, 8, lengths, displs, type, &outer).ok());
    type = outer;
  }
  const auto begin = std::chrono::steady_clock::now();
  const TypeTree tree = placed_tree_of(type, {{MPI_INT, 3}});
  EXPECT_EQ(tree.size, type.size() / 4 * 3);
  EXPECT_EQ(tree.extent, type.extent() / 4 * 3);
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(std::chrono::duration<double>(took).count(), 5.0);
}

TEST(TypeTree, NothingIsPlacedNowhere) {
  Type nothing, outer;
  ASSERT_TRUE(make_struct(false, 0, static_cast<int*>(nullptr), static_cast<MPI_Aint*>(nullptr), {},
                          &nothing)
                  .ok());
  EXPECT_EQ(nothing.size(), 0);
  EXPECT_EQ(nothing.extent(), 0);
  const int lengths[] = {2, 1};
  const MPI_Aint displs[] = {8, 0};
  ASSERT_TRUE(make_struct(false, 2, lengths, displs, {nothing, type_of(MPI_INT)}, &outer).ok());
  EXPECT_EQ(outer.extent(), 4);
  for (const Type& type : {nothing, outer}) {
    const TypeTree tree = placed_tree_of(type, {{MPI_INT, 2}});
    EXPECT_EQ(tree.size, type.size() / 2);
    EXPECT_EQ(tree.extent, type.extent() / 2);
    int64_t elements, rest;
    elements_in_bytes(type, 0, &elements, &rest);
    EXPECT_EQ(elements, 0);
    EXPECT_EQ(rest, 0);
  }
  char memory[1] = {'x'};
  pack(memory, 5, nothing, memory);
  unpack(memory, 1, memory, 5, nothing);
  EXPECT_TRUE(copy(memory, 3, nothing, memory, 4, nothing).ok());
  EXPECT_EQ(memory[0], 'x');
}

}  // namespace
}  // namespace fgmpi::datatype
