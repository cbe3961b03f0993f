// Compares random datatypes with their type maps, written out by the definition.

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "datatype/copy.h"
#include "datatype/elements.h"
#include "datatype/signature.h"
#include "random_types.h"

namespace fgmpi::datatype {
namespace {

using test::expand;
using test::Numbers;
using test::RandomTypes;
using test::RecipePtr;
using test::TypeMap;
using test::TypeRecipe;

/// A random type with what its type map says.
struct Case {
  RecipePtr recipe;
  TypeMap map;
  std::vector<int64_t> bytes;
  int64_t extent;

  Case(RandomTypes* random, int depth, bool tidy)
      : recipe(random->make(depth, tidy)),
        map(expand(*recipe)),
        bytes(map.bytes()),
        extent(map.extent()) {}
  const Type& type() const { return recipe->made; }
  int64_t size() const { return static_cast<int64_t>(bytes.size()); }
  /// Where byte number i of the data of many elements is.
  int64_t place(int64_t i) const {
    return i / size() * extent + bytes[static_cast<size_t>(i % size())];
  }
  /// True if no byte of `count` elements lies where another one does.
  bool each_byte_once(int64_t count) const {
    std::set<int64_t> places;
    for (int64_t i = 0; i < count * size(); ++i)
      if (!places.insert(place(i)).second) return false;
    return true;
  }
};

/// Memory for a type's elements, some of whose bytes lie before the address of the first.
struct Memory {
  Memory(RandomTypes* random, const Case& c, int64_t count) {
    int64_t low = 0, high = 0;
    for (int64_t i = 0; i < count * c.size(); ++i) {
      low = std::min(low, c.place(i));
      high = std::max(high, c.place(i) + 1);
    }
    bytes.resize(static_cast<size_t>(high - low) + 64);
    for (char& byte : bytes) byte = static_cast<char>(random->pick(0, 255));
    origin = 32 - low;
  }
  char* address() { return bytes.data() + origin; }
  char& at(int64_t offset) { return bytes[static_cast<size_t>(origin + offset)]; }
  std::vector<char> bytes;
  int64_t origin;
};

constexpr int kDepth = 5;

class RandomDatatypes : public testing::Test {
 protected:
  /// Calls f(case) for many types.
  template <class F>
  void for_each_case(uint64_t seed, int rounds, F f) {
    RandomTypes random(seed);
    for (int round = 0; round < rounds; ++round) {
      const bool tidy = round % 3 != 0;
      Case c(&random, round % (kDepth + 1), tidy);
      SCOPED_TRACE(testing::Message() << "round " << round << " " << test::describe(*c.recipe));
      f(&random, c);
      if (HasFailure()) return;
    }
  }
};

Numbers numbers_of(const NumberList& list) {
  Numbers numbers;
  list.for_each([&](int64_t n) { numbers.push_back(n); });
  return numbers;
}

TEST_F(RandomDatatypes, HaveTheBoundsOfTheirTypeMap) {
  int contiguous = 0, rows = 0;
  for_each_case(1, 3000, [&](RandomTypes*, const Case& c) {
    const Type& type = c.type();
    EXPECT_EQ(type.size(), c.size());
    EXPECT_EQ(type.lb(), c.map.lb());
    EXPECT_EQ(type.extent(), c.extent);
    const auto [least, most] = std::minmax_element(c.bytes.begin(), c.bytes.end());
    EXPECT_EQ(type.true_lb(), c.bytes.empty() ? 0 : *least);
    EXPECT_EQ(type.true_extent(), c.bytes.empty() ? 0 : *most + 1 - *least);
    bool in_a_row = c.bytes.empty() || c.size() == c.extent;
    for (size_t i = 1; i < c.bytes.size(); ++i) in_a_row &= c.bytes[i] == c.bytes[i - 1] + 1;
    EXPECT_TRUE(in_a_row || !type.contiguous());
    contiguous += type.contiguous();
    rows += in_a_row;
    std::string reason;
    EXPECT_TRUE(!type.derived() || type.derived()->validate(&reason)) << reason;
  });
  EXPECT_GT(contiguous, rows * 9 / 10);
  EXPECT_EQ(count_derived_types(), 0u);
}

TEST_F(RandomDatatypes, KeepTheirArguments) {
  for_each_case(2, 2000, [&](RandomTypes*, const Case& c) {
    const TypeRecipe& r = *c.recipe;
    if (r.inner.empty()) return;
    const TypeContents& contents = c.type().derived()->contents;
    const test::GivenContents given = test::given_contents(r);
    EXPECT_EQ(contents.combiner, r.combiner);
    EXPECT_EQ(numbers_of(contents.integers), given.integers);
    EXPECT_EQ(numbers_of(contents.addresses), given.addresses);
    EXPECT_EQ(numbers_of(contents.counts), given.counts);
    ASSERT_EQ(contents.types.size(), r.inner.size());
    for (size_t i = 0; i < r.inner.size(); ++i) EXPECT_TRUE(contents.types[i] == r.inner[i]->made);
  });
}

void append_signature(const Signature& s, std::vector<MPI_Datatype>* out) {
  for (int64_t i = 0; i < s.count; ++i) {
    if (s.inner.empty() && s.type != MPI_DATATYPE_NULL) out->push_back(s.type);
    for (const Signature& inner : s.inner) append_signature(inner, out);
  }
}

TEST_F(RandomDatatypes, HaveTheSignatureAndTheElementsOfTheirTypeMap) {
  for_each_case(3, 2000, [&](RandomTypes* random, const Case& c) {
    std::vector<MPI_Datatype> signature;
    append_signature(signature_of(c.type()), &signature);
    ASSERT_EQ(signature, c.map.signature());
    std::vector<int64_t> ends;  // of the basic elements of one element
    int64_t end = 0;
    for (MPI_Datatype type : signature) {
      const test::LeafType& leaf = test::leaf_type(type);
      const bool pair = leaf.index_bytes > 0 || type == MPI_2INT;
      const int64_t first = type == MPI_2INT ? 4 : leaf.first_bytes;
      ends.push_back(end + first);
      if (pair) ends.push_back(end + leaf.size());
      end += leaf.size();
    }
    const auto all = static_cast<int64_t>(ends.size());
    for (int k = 0; k < 8; ++k) {
      const int64_t bytes = random->pick(0, 3 * c.size());
      int64_t elements, rest;
      elements_in_bytes(c.type(), bytes, &elements, &rest);
      if (c.size() == 0) {
        EXPECT_EQ(elements, 0);
        EXPECT_EQ(rest, bytes);
        EXPECT_TRUE(bytes_of_elements(c.type(), 0, &rest).ok());
        EXPECT_EQ(bytes_of_elements(c.type(), 1, &rest).error_class(), MPI_ERR_ARG);
        continue;
      }
      const int64_t in_last = bytes % c.size();
      const int64_t whole = std::upper_bound(ends.begin(), ends.end(), in_last) - ends.begin();
      const int64_t whole_bytes = whole == 0 ? 0 : ends[static_cast<size_t>(whole - 1)];
      EXPECT_EQ(elements, bytes / c.size() * all + whole);
      EXPECT_EQ(rest, in_last - whole_bytes);
      EXPECT_EQ(check_end(bytes, c.type()).ok(), rest == 0);
      int64_t back;
      ASSERT_TRUE(bytes_of_elements(c.type(), elements, &back).ok());
      EXPECT_EQ(back, bytes - rest);
    }
  });
}

TEST_F(RandomDatatypes, AreWalkedInTheOrderOfTheirTypeMap) {
  int64_t in_rows = 0;
  for_each_case(4, 2500, [&](RandomTypes* random, const Case& c) {
    if (c.size() == 0) return;
    const TypeTree& tree = c.type().tree();
    TypeCursor cursor(tree);
    for (int walk = 0; walk < 3; ++walk) {
      int64_t at = random->pick(0, 3 * c.size());
      const int64_t end = at + 2 * c.size() + 3, piece = random->one_in(2) ? 20 : 4000;
      cursor.seek(at);
      while (at < end) {
        ASSERT_EQ(cursor.position(), at);
        const TypeRun ahead = cursor.peek();
        ASSERT_GT(ahead.bytes, 0);
        ASSERT_EQ(ahead.offset, c.place(at));
        const int64_t most = random->pick(1, piece);
        TypeRows rows{0, 0, 0, 1};
        if (random->one_in(2)) {
          const TypeRun run = cursor.next(most);
          rows.offset = run.offset, rows.bytes = run.bytes;
        } else {
          rows = cursor.next_rows(most);
        }
        ASSERT_GT(rows.count, 0);
        ASSERT_GT(rows.bytes, 0);
        ASSERT_LE(rows.bytes * rows.count, most);
        in_rows += rows.count > 1;
        for (int64_t row = 0; row < rows.count; ++row)
          for (int64_t b = 0; b < rows.bytes; ++b, ++at)
            ASSERT_EQ(rows.offset + row * rows.stride + b, c.place(at));
      }
    }
    size_t listed = 0;
    for_each_run(tree, 1, [&](int64_t offset, int64_t n) {
      for (int64_t k = 0; k < n; ++k) ASSERT_EQ(c.bytes[listed++], offset + k);
    });
    ASSERT_EQ(listed, c.bytes.size());
    EXPECT_EQ(tree.low(), *std::min_element(c.bytes.begin(), c.bytes.end()));
    EXPECT_EQ(tree.high(), *std::max_element(c.bytes.begin(), c.bytes.end()) + 1);
    const TypeNode& node = *tree.root.node;
    bool ascends = true;
    for (size_t i = 1; i < c.bytes.size(); ++i) ascends &= c.bytes[i] > c.bytes[i - 1];
    EXPECT_TRUE(ascends || !node.ascends);
    EXPECT_EQ(tree.root.offset + node.first, c.bytes[0]);
    EXPECT_LE(tree.root.offset + node.last, c.bytes.back());
    EXPECT_FALSE(ascends && node.descends);
    if (!node.descends) {
      int64_t row = c.bytes[0];
      for (size_t i = 1; i < c.bytes.size(); ++i) {
        if (c.bytes[i] == c.bytes[i - 1] + 1) continue;
        EXPECT_GE(c.bytes[i], row);
        row = c.bytes[i];
      }
    }
  });
  EXPECT_GT(in_rows, 500);
}

TEST_F(RandomDatatypes, KnowTheOnlyPredefinedTypeInThem) {
  for_each_case(5, 1500, [&](RandomTypes*, const Case& c) {
    std::vector<MPI_Datatype> signature = c.map.signature();
    if (signature.empty()) return;  // any will do
    const bool one = std::count(signature.begin(), signature.end(), signature[0]) ==
                     static_cast<int64_t>(signature.size());
    EXPECT_EQ(c.type().tree().element, one ? signature[0] : MPI_DATATYPE_NULL);
  });
}

TEST_F(RandomDatatypes, ArePackedInAnyPieces) {
  for_each_case(6, 2500, [&](RandomTypes* random, const Case& c) {
    const int64_t count = random->pick(0, 5), total = count * c.size();
    Memory from(random, c, count);
    std::vector<char> expected, packed(static_cast<size_t>(total) + 8, 'x');
    for (int64_t i = 0; i < total; ++i) expected.push_back(from.at(c.place(i)));
    for (int k = 0; k < 8; ++k) expected.push_back('x');
    pack(from.address(), count, c.type(), packed.data());
    ASSERT_EQ(packed, expected);
    // In pieces, in any order.
    std::vector<std::pair<int64_t, int64_t>> pieces;
    const int64_t longest = random->one_in(2) ? 30 : 2000;
    for (int64_t at = 0; at < total;) {
      const int64_t bytes = std::min(total - at, random->pick(1, longest));
      pieces.push_back({at, bytes});
      at += bytes;
    }
    std::fill(packed.begin(), packed.end(), 'x');
    while (!pieces.empty()) {
      const auto i = random->pick(0, static_cast<int64_t>(pieces.size()) - 1);
      const auto [at, bytes] = pieces[static_cast<size_t>(i)];
      pieces.erase(pieces.begin() + i);
      pack_part(from.address(), c.type(), at, bytes, packed.data() + at);
    }
    ASSERT_EQ(packed, expected);
  });
}

TEST_F(RandomDatatypes, AreUnpackedInAnyPieces) {
  int done = 0;
  for_each_case(7, 2500, [&](RandomTypes* random, const Case& c) {
    const int64_t count = random->pick(0, 5), total = count * c.size();
    if (!c.each_byte_once(count)) return;
    ++done;
    Memory to(random, c, count);
    std::vector<char> message;
    const int64_t sent = random->one_in(2) ? total : random->pick(0, total + 9);
    for (int64_t i = 0; i < sent; ++i) message.push_back(static_cast<char>(random->pick(0, 255)));
    Memory expected = to, in_pieces = to;
    for (int64_t i = 0; i < std::min(sent, total); ++i)
      expected.at(c.place(i)) = message[static_cast<size_t>(i)];
    unpack(message.data(), sent, to.address(), count, c.type());
    ASSERT_EQ(to.bytes, expected.bytes);
    const int64_t longest = random->one_in(2) ? 30 : 2000;
    for (int64_t at = 0, end = std::min(sent, total); at < end;) {
      const int64_t bytes = std::min(end - at, random->pick(1, longest));
      unpack_part(message.data() + at, bytes, in_pieces.address(), c.type(), at);
      at += bytes;
    }
    ASSERT_EQ(in_pieces.bytes, expected.bytes);
  });
  EXPECT_GT(done, 1200);
}

TEST_F(RandomDatatypes, AreCopiedByTheirShortRows) {
  int shapes[ShortRows::kListed + 1] = {};
  for_each_case(8, 3000, [&](RandomTypes* random, const Case& c) {
    if (!c.type().derived()) return;
    const DerivedType& type = *c.type().derived();
    const ShortRows::Shape shape = type.short_rows.shape;
    ++shapes[shape];
    if (shape == ShortRows::kNone) return;
    ASSERT_LE(c.size(), kMostShortBytes);
    const int64_t count = random->pick(1, 4), total = count * c.size();
    Memory from(random, c, count);
    std::vector<char> packed(static_cast<size_t>(total), 'x');
    pack_short(type, from.address(), count, packed.data());
    for (int64_t i = 0; i < total; ++i)
      ASSERT_EQ(packed[static_cast<size_t>(i)], from.at(c.place(i)));
    if (!c.each_byte_once(count)) return;
    Memory to(random, c, count), copied = to, expected = to;
    for (int64_t i = 0; i < total; ++i) expected.at(c.place(i)) = from.at(c.place(i));
    unpack_short(type, packed.data(), to.address(), count);
    ASSERT_EQ(to.bytes, expected.bytes);
    copy_short(type, from.address(), copied.address(), count);
    ASSERT_EQ(copied.bytes, expected.bytes);
  });
  for (const int found : shapes) EXPECT_GT(found, 20);
}

TEST(ShortRows, OfEachLength) {
  // Memory of the exact length, so that a sanitizer finds moves beyond it.
  for (int64_t first = 1; first <= 64; ++first)
    for (int64_t second = 1; second <= 64; ++second) {
      const TypeRun runs[] = {{second + 3, first}, {0, second}, {second + first + 4, 5}};
      TypeTree tree;
      tree.root = make_runs({runs, runs + 3});
      tree.size = first + second + 5;
      tree.extent = tree.high();
      DerivedType type;
      type.tree = tree;
      type.short_rows = make_short_rows(tree);
      ASSERT_EQ(type.short_rows.shape, ShortRows::kListed);
      std::vector<char> layout(static_cast<size_t>(tree.extent)), row, expected(layout.size());
      for (size_t i = 0; i < layout.size(); ++i) layout[i] = static_cast<char>(i + 1);
      for (const TypeRun& run : runs)
        for (int64_t i = run.offset; i < run.offset + run.bytes; ++i) {
          row.push_back(layout[static_cast<size_t>(i)]);
          expected[static_cast<size_t>(i)] = layout[static_cast<size_t>(i)];
        }
      std::vector<char> packed(row.size()), unpacked(layout.size()), copied(layout.size());
      pack_short(type, layout.data(), 1, packed.data());
      EXPECT_EQ(packed, row) << first << ' ' << second;
      unpack_short(type, row.data(), unpacked.data(), 1);
      EXPECT_EQ(unpacked, expected) << first << ' ' << second;
      copy_short(type, layout.data(), copied.data(), 1);
      EXPECT_EQ(copied, expected) << first << ' ' << second;
    }
}

TEST_F(RandomDatatypes, AreCopiedFromOneLayoutToAnother) {
  int done = 0, same = 0;
  for_each_case(8, 4000, [&](RandomTypes* random, const Case& from) {
    const bool equal = random->one_in(4);
    const Case to = equal ? from : Case(random, static_cast<int>(random->pick(0, kDepth)), true);
    const int64_t from_count = random->pick(0, 5),
                  to_count = equal && random->one_in(2) ? from_count : random->pick(0, 5);
    if (!to.each_byte_once(to_count)) return;
    ++done;
    same += equal && from_count == to_count;
    Memory source(random, from, from_count), target(random, to, to_count), expected = target;
    const int64_t sent = from_count * from.size(), room = to_count * to.size();
    for (int64_t i = 0; i < std::min(sent, room); ++i)
      expected.at(to.place(i)) = source.at(from.place(i));
    const std::vector<char> before = source.bytes;
    const Status status =
        copy(source.address(), from_count, from.type(), target.address(), to_count, to.type());
    ASSERT_EQ(status.error_class(), sent > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    ASSERT_EQ(target.bytes, expected.bytes);
    ASSERT_EQ(source.bytes, before);
    // A part of the target's data gets the beginning of the source's.
    const int64_t first = random->pick(0, room),
                  bytes = random->pick(0, std::min(sent, room - first));
    for (int64_t i = 0; i < bytes; ++i) expected.at(to.place(first + i)) = source.at(from.place(i));
    copy_part(source.address(), from.type(), target.address(), to.type(), first, bytes);
    ASSERT_EQ(target.bytes, expected.bytes);
  });
  EXPECT_GT(done, 2000);
  EXPECT_GT(same, 300);
}

/// Three loops around a row, nested in any order: the layout of a part of an array, or of a
/// transposed one.
struct LoopNest {
  struct Loop {
    int64_t count, stride;
  };
  Loop loops[3];  ///< the outermost first
  int64_t row;
  Type type;

  explicit LoopNest(RandomTypes* random) : row(random->pick(1, random->one_in(2) ? 8 : 70)) {
    std::vector<int> order = {0, 1, 2};
    std::swap(order[2], order[static_cast<size_t>(random->pick(0, 2))]);
    std::swap(order[1], order[static_cast<size_t>(random->pick(0, 1))]);
    int64_t reach = row;  // the loop that steps least comes first
    for (int at : order) {
      const int64_t count = random->one_in(4) ? 1 : random->pick(1, 37);
      const int64_t stride = reach + (random->one_in(2) ? 0 : random->pick(1, 9));
      loops[at] = {count, random->one_in(5) ? -stride : stride};
      reach += (count - 1) * stride;
    }
    EXPECT_TRUE(Type::of(MPI_BYTE, &type).ok());
    EXPECT_TRUE(make_contiguous(true, row, type, &type).ok());
    for (int i = 2; i >= 0; --i)
      EXPECT_TRUE(make_hvector(true, loops[i].count, 1, loops[i].stride, type, &type).ok());
  }
  std::vector<int64_t> bytes() const {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < loops[0].count; ++i)
      for (int64_t j = 0; j < loops[1].count; ++j)
        for (int64_t k = 0; k < loops[2].count; ++k)
          for (int64_t b = 0; b < row; ++b)
            all.push_back(i * loops[0].stride + j * loops[1].stride + k * loops[2].stride + b);
    return all;
  }
};

TEST_F(RandomDatatypes, NestedLoopsOfManyRoundsAreCopied) {
  RandomTypes random(12);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    const LoopNest from(&random), to(&random);
    const std::vector<int64_t> sent = from.bytes(), room = to.bytes();
    ASSERT_EQ(from.type.size(), static_cast<int64_t>(sent.size()));
    auto memory = [&](const Type& type) {
      std::vector<char> bytes(static_cast<size_t>(type.true_extent()) + 2);
      for (char& byte : bytes) byte = static_cast<char>(random.pick(0, 255));
      return bytes;
    };
    const std::vector<char> source = memory(from.type);
    std::vector<char> target = memory(to.type), expected = target, packed(sent.size() + 1, 'x'),
                      row = packed;
    const char* in = source.data() + 1 - from.type.true_lb();
    char *out = target.data() + 1 - to.type.true_lb(),
         *want = expected.data() + 1 - to.type.true_lb();
    for (size_t i = 0; i < sent.size(); ++i) row[i] = in[sent[i]];
    pack(in, 1, from.type, packed.data());
    ASSERT_EQ(packed, row);
    const size_t bytes = std::min(sent.size(), room.size());
    for (size_t i = 0; i < bytes; ++i) want[room[i]] = row[i];
    const Status status = copy(in, 1, from.type, out, 1, to.type);
    ASSERT_EQ(status.error_class(), sent.size() > room.size() ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    ASSERT_EQ(target, expected);
    for (char& byte : target) byte = 'y';
    expected = target;
    for (size_t i = 0; i < bytes; ++i) want[room[i]] = row[i];
    unpack(packed.data(), static_cast<int64_t>(bytes), out, 1, to.type);
    ASSERT_EQ(target, expected);
  }
}

TEST_F(RandomDatatypes, ArePlacedWithOtherSizes) {
  PlacedSizes sizes;
  RandomTypes of_sizes(99);
  for (const test::LeafType& leaf : test::kLeaves)
    sizes[leaf.handle] = leaf.handle == MPI_BYTE ? 1 : of_sizes.pick(1, 12);
  for_each_case(9, 2000, [&](RandomTypes*, const Case& c) {
    const TypeMap map = expand(*c.recipe, &sizes);
    const std::vector<int64_t> bytes = map.bytes();
    const TypeTree tree = placed_tree_of(c.type(), sizes);
    ASSERT_EQ(tree.size, static_cast<int64_t>(bytes.size()));
    EXPECT_EQ(tree.extent, map.extent());
    size_t listed = 0;
    for_each_run(tree, 1, [&](int64_t offset, int64_t n) {
      for (int64_t k = 0; k < n; ++k) ASSERT_EQ(bytes[listed++], offset + k);
    });
    ASSERT_EQ(listed, bytes.size());
  });
}

TEST_F(RandomDatatypes, AreOneObjectForEqualArguments) {
  RandomTypes a(10), b(10);
  for (int round = 0; round < 300; ++round) {
    const RecipePtr one = a.make(round % (kDepth + 1), round % 2),
                    other = b.make(round % (kDepth + 1), round % 2);
    ASSERT_TRUE(one->made == other->made);
    ASSERT_EQ(one->made.derived(), other->made.derived());
  }
  EXPECT_EQ(count_derived_types(), 0u);
}

}  // namespace
}  // namespace fgmpi::datatype
