// Compares type trees of random datatypes with lists of all their bytes in the order of the type
// map.
#include "datatype/type_tree.h"

#include "../host/host_fixture.h"
#include "base/hash.h"
#include "host/host.h"

namespace fgmpi::datatype {
namespace {

using TypeTreeTest = host::WithHost;

int64_t pick(RandomSequence* random, int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random->next() % static_cast<uint64_t>(most - least + 1));
}

/// A datatype and the offsets of its bytes.
struct Model {
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  std::vector<int64_t> bytes;
  int64_t extent = 0;
  void add(const Model& inner, int64_t at) {
    for (int64_t b : inner.bytes) bytes.push_back(at + b);
  }
};

Model leaf(RandomSequence* random) {
  constexpr MPI_Datatype kLeaves[] = {MPI_BYTE, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_DOUBLE_INT};
  Model m;
  m.handle = kLeaves[random->next() % 5];
  const bool pair = m.handle == MPI_DOUBLE_INT;
  const int64_t size = pair ? 12 : basic_size(m.handle);
  for (int64_t i = 0; i < size; ++i) m.bytes.push_back(i);
  m.extent = pair ? 16 : size;
  return m;
}

/// Adds those elements of a grid of `inner` that have the listed indices in each dimension (slowest
/// first).
void add_grid(Model* to, const Model& inner, const std::vector<std::vector<int64_t>>& kept,
              const int* sizes, bool reversed, size_t level, int64_t at) {
  const size_t dims = kept.size();
  if (level == dims) return to->add(inner, at * inner.extent);
  const size_t d = reversed ? dims - 1 - level : level;
  for (int64_t i : kept[d])
    add_grid(to, inner, kept, sizes, reversed, level + 1, at * sizes[d] + i);
}

Model subarray(const host::Api& h, RandomSequence* random, const Model& inner) {
  Model m;
  int sizes[] = {4, 3, 5}, parts[3], starts[3];
  std::vector<std::vector<int64_t>> kept(3);
  for (int d = 0; d < 3; ++d) {
    parts[d] = static_cast<int>(pick(random, 1, sizes[d]));
    starts[d] = static_cast<int>(pick(random, 0, sizes[d] - parts[d]));
    for (int i = 0; i < parts[d]; ++i) kept[static_cast<size_t>(d)].push_back(starts[d] + i);
  }
  const bool fortran = random->next() % 2;
  h.Type_create_subarray(3, sizes, parts, starts, fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C,
                         inner.handle, &m.handle);
  add_grid(&m, inner, kept, sizes, fortran, 0, 0);
  m.extent = 60 * inner.extent;
  return m;
}

/// The datatype of rank `me` in a 2 x 2 grid: one dimension is distributed cyclically, the other in
/// one block for each rank.
Model darray(const host::Api& h, RandomSequence* random, const Model& inner) {
  Model m;
  int sizes[] = {9, 7}, grid[] = {2, 2};
  int distributions[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
  int arguments[] = {static_cast<int>(pick(random, 1, 3)), MPI_DISTRIBUTE_DFLT_DARG};
  const int me = static_cast<int>(pick(random, 0, 3));
  std::vector<std::vector<int64_t>> kept(2);
  for (int i = 0; i < 9; ++i)
    if (i / arguments[0] % 2 == me / 2) kept[0].push_back(i);
  for (int i = 0; i < 7; ++i)
    if (i / 4 == me % 2) kept[1].push_back(i);
  const bool fortran = random->next() % 2;
  h.Type_create_darray(4, me, 2, sizes, distributions, arguments, grid,
                       fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C, inner.handle, &m.handle);
  add_grid(&m, inner, kept, sizes, fortran, 0, 0);
  m.extent = 63 * inner.extent;
  return m;
}

/// Blocks of `inner` at listed offsets: indexed, hindexed, or a structure.
Model blocks(const host::Api& h, RandomSequence* random, const Model& inner) {
  Model m;
  int lengths[3], displs[3], at = 0;
  MPI_Aint bytes[3], down = 0;
  MPI_Datatype types[3] = {inner.handle, inner.handle, inner.handle};
  const auto kind = random->next() % 3;
  for (int i = 0; i < 3; ++i) {
    lengths[i] = static_cast<int>(pick(random, 0, 3));
    displs[i] = at;
    bytes[i] = down;
    for (int k = 0; k < lengths[i]; ++k)
      m.add(inner, (kind == 0 ? at * inner.extent : down) + k * inner.extent);
    at += lengths[i] + static_cast<int>(pick(random, 0, 2));
    down += lengths[i] * inner.extent + pick(random, 0, 9);
  }
  if (kind == 0)
    h.Type_indexed(3, lengths, displs, inner.handle, &m.handle);
  else if (kind == 1)
    h.Type_create_hindexed(3, lengths, bytes, inner.handle, &m.handle);
  else
    h.Type_create_struct(3, lengths, bytes, types, &m.handle);
  return m;
}

Model random_type(const host::Api& h, RandomSequence* random, int depth) {
  if (depth == 0) return leaf(random);
  const Model inner = random_type(h, random, depth - 1);
  const int count = static_cast<int>(pick(random, 1, 4));
  Model m;
  MPI_Aint stride;
  switch (random->next() % 7) {
    case 0:
      h.Type_contiguous(count, inner.handle, &m.handle);
      for (int i = 0; i < count; ++i) m.add(inner, i * inner.extent);
      break;
    case 1:
      stride = pick(random, 2, 4);
      h.Type_vector(count, 2, static_cast<int>(stride), inner.handle, &m.handle);
      for (int i = 0; i < 2 * count; ++i) m.add(inner, (i / 2 * stride + i % 2) * inner.extent);
      break;
    case 2:
      stride = 2 * inner.extent + pick(random, 0, 5);
      h.Type_create_hvector(count, 2, stride, inner.handle, &m.handle);
      for (int i = 0; i < 2 * count; ++i) m.add(inner, i / 2 * stride + i % 2 * inner.extent);
      break;
    case 3:
      m = blocks(h, random, inner);
      break;
    case 4:
      m = subarray(h, random, inner);
      break;
    case 5:
      m = darray(h, random, inner);
      break;
    default:
      stride = inner.extent + pick(random, 0, 8);
      h.Type_create_resized(inner.handle, 0, stride, &m.handle);
      m.add(inner, 0);
  }
  MPI_Aint lb, extent;
  h.Type_get_extent(m.handle, &lb, &extent);
  m.extent = extent;
  return m;
}

TEST_F(TypeTreeTest, WalksInTheOrderOfTheTypeMap) {
  RandomSequence random(24);
  for (int round = 0; round < 400; ++round) {
    Model model;
    host::call([&](const host::Api& h) {
      model = random_type(h, &random, 1 + round % 3);
      return h.Type_commit(&model.handle);
    });
    Type type;
    ASSERT_TRUE(Type::of(model.handle, &type).ok());
    TypeTree tree;
    ASSERT_TRUE(tree_of(type, &tree).ok());
    const auto size = static_cast<int64_t>(model.bytes.size());
    ASSERT_EQ(tree.size, size);
    if (size == 0) continue;
    bool ascends = true;
    for (size_t i = 1; i < model.bytes.size(); ++i) ascends &= model.bytes[i] > model.bytes[i - 1];
    if (tree.root.node->ascends) {
      EXPECT_TRUE(ascends);
    }
    EXPECT_EQ(tree.root.offset + tree.root.node->first, model.bytes[0]);
    EXPECT_LE(tree.root.offset + tree.root.node->last, model.bytes.back());
    if (ascends) {
      EXPECT_FALSE(tree.root.node->descends);
    }
    if (!tree.root.node->descends) {
      int64_t row = model.bytes[0];
      for (size_t i = 1; i < model.bytes.size(); ++i) {
        if (model.bytes[i] == model.bytes[i - 1] + 1) continue;
        EXPECT_GE(model.bytes[i], row) << "round " << round;
        row = model.bytes[i];
      }
    }
    const int64_t from = pick(&random, 0, 3 * size - 1);
    TypeCursor at(tree);
    at.seek(from);
    for (int64_t i = from; i < 3 * size;) {
      const TypeRun run = at.next(std::min(3 * size - i, pick(&random, 1, 40)));
      ASSERT_GT(run.bytes, 0);
      for (int64_t k = 0; k < run.bytes; ++k, ++i)
        ASSERT_EQ(run.offset + k,
                  i / size * model.extent + model.bytes[static_cast<size_t>(i % size)])
            << "round " << round;
      ASSERT_EQ(at.position(), i);
    }
    size_t listed = 0;
    for_each_run(tree.root, 0, [&](int64_t offset, int64_t n) {
      for (int64_t k = 0; k < n; ++k) ASSERT_EQ(model.bytes[listed++], offset + k);
    });
    ASSERT_EQ(listed, model.bytes.size());
  }
}

TEST_F(TypeTreeTest, ArraysAreRules) {
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  int sizes[] = {1000, 1000, 1000}, parts[] = {500, 500, 500}, starts[] = {250, 0, 499};
  host::call([&](const host::Api& h) {
    h.Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &handle);
    return h.Type_commit(&handle);
  });
  Type type;
  ASSERT_TRUE(Type::of(handle, &type).ok());
  TypeTree tree;
  ASSERT_TRUE(tree_of(type, &tree).ok());
  EXPECT_EQ(tree.size, 1'000'000'000);
  EXPECT_LE(tree.memory(), 1024u);
  EXPECT_TRUE(tree.root.node->ascends);
  TypeCursor at(tree);
  at.seek(999'999'999);
  EXPECT_EQ(at.next(1).offset, ((749 * 1000LL + 499) * 1000 + 998) * 8 + 7);
}

}  // namespace
}  // namespace fgmpi::datatype
