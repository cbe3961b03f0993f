// Types nested 100,000 deep, on a stack of the size that proclets have: nothing may recurse as deep
// as types are nested, not even when the last one is freed.
#include <pthread.h>

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "datatype/constructors.h"
#include "datatype/copy.h"
#include "datatype/elements.h"
#include "datatype/signature.h"
#include "datatype/type_handles.h"

namespace fgmpi::datatype {
namespace {

constexpr int kDepth = 100'000;
constexpr size_t kStack = 128 << 10;

void* call_function(void* function) {
  (*static_cast<const std::function<void()>*>(function))();
  return nullptr;
}
void run_on_small_stack(const std::function<void()>& f) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStack), 0);
  pthread_t thread;
  ASSERT_EQ(
      pthread_create(&thread, &attributes, call_function, const_cast<std::function<void()>*>(&f)),
      0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

Type type_of(MPI_Datatype handle) {
  Type type;
  EXPECT_TRUE(Type::of(handle, &type).ok());
  return type;
}

int64_t height(const Signature& signature) {
  int64_t most = 0;
  for (const Signature& inner : signature.inner) most = std::max(most, height(inner));
  return 1 + most;
}

/// Makes kDepth types, each by `make` from the one before; all but the last have no other holder.
template <class Make>
Type nest(Make&& make) {
  Type type = type_of(MPI_INT);
  for (int depth = 1; depth <= kDepth; ++depth) {
    Type outer;
    const Status status = make(depth, type, &outer);
    EXPECT_TRUE(status.ok()) << status.what();
    if (!status.ok()) break;
    type = outer;
  }
  return type;
}

/// All that is done with a type.
void use(const Type& type) {
  std::string reason;
  EXPECT_TRUE(type.derived()->validate(&reason)) << reason;
  EXPECT_GT(type.derived()->memory(), 0u);
  EXPECT_LE(height(signature_of(type)), 64);

  const auto size = static_cast<size_t>(type.size());
  std::vector<char> memory(static_cast<size_t>(type.extent()) * 3), packed(size * 3),
      again(size * 3), other(memory.size());
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<char>(i * 7 + i / 251);
  pack(memory.data(), 3, type, packed.data());
  unpack(packed.data(), type.size() * 3, other.data(), 3, type);
  pack_part(other.data(), type, 0, type.size() + 1, again.data());
  pack_part(other.data(), type, type.size() + 1, 2 * type.size() - 1, again.data() + size + 1);
  EXPECT_EQ(packed, again);
  std::vector<char> third(memory.size());
  EXPECT_TRUE(copy(memory.data(), 3, type, third.data(), 3, type).ok());
  EXPECT_EQ(other, third);
  Type vector;
  ASSERT_TRUE(make_vector(true, type.size(), 1, 2, type_of(MPI_BYTE), &vector).ok());
  std::vector<char> spread(size * 6);
  EXPECT_TRUE(copy(memory.data(), 3, type, spread.data(), 3, vector).ok());

  int64_t elements, rest, bytes;
  elements_in_bytes(type, 2 * type.size() - 1, &elements, &rest);
  EXPECT_EQ(elements, 2 * elements_of(type) - 1);
  ASSERT_TRUE(bytes_of_elements(type, elements, &bytes).ok());
  EXPECT_EQ(bytes, 2 * type.size() - 1 - rest);
  EXPECT_TRUE(check_end(bytes, type).ok());

  const TypeTree placed = placed_tree_of(type, {{MPI_INT, 8}, {MPI_CHAR, 2}});
  EXPECT_EQ(placed.size, 2 * type.size());
  EXPECT_TRUE(placed.validate());
  MPI_Datatype handle;
  ASSERT_TRUE(make_handle(type, true, &handle).ok());
  free_handle(handle);
}

TEST(NestedTypes, OfContiguousTypes) {
  run_on_small_stack([] {
    {
      const Type type = nest([](int depth, const Type& old, Type* out) {
        if (depth % 3 == 1) return make_contiguous(depth % 2 != 0, 1, old, out);
        if (depth % 3 == 2) return make_duplicate(old, out);
        return make_resized(false, old.lb(), old.extent() + depth % 2, old, out);
      });
      EXPECT_EQ(count_derived_types(), static_cast<size_t>(kDepth));
      use(type);
    }
    EXPECT_EQ(count_derived_types(), 0u);
  });
}

TEST(NestedTypes, OfTypesThatGrow) {
  run_on_small_stack([] {
    {
      const Type types[] = {type_of(MPI_CHAR), type_of(MPI_INT)};
      const Type type = nest([&](int depth, const Type& old, Type* out) {
        const int lengths[] = {1, 1 + depth % 3};
        const MPI_Aint displs[] = {0, old.extent() + depth % 7};
        return make_struct(false, 2, lengths, displs, {old, types[depth % 2]}, out);
      });
      EXPECT_GT(type.tree().root.node->height, 90'000u);
      use(type);
    }
    EXPECT_EQ(count_derived_types(), 0u);
  });
}

TEST(NestedTypes, TreesThatOnlyTheOutermostHolds) {
  run_on_small_stack([] {
    TypeTree tree;
    tree.root = make_run(0, 1);
    for (int depth = 1; depth <= kDepth; ++depth)
      tree.root = make_list({tree.root, make_loop(make_run(4 * depth, 1), 2, 2)});
    EXPECT_EQ(tree.root.node->height, static_cast<uint32_t>(kDepth) + 2);
  });
}

}  // namespace
}  // namespace fgmpi::datatype
