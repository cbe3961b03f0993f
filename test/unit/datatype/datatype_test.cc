#include "datatype/datatype.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "../host/host_fixture.h"
#include "datatype/basic_type.h"

namespace fgmpi::datatype {
namespace {

struct Named {
  MPI_Datatype handle;
  const char* name;
};
constexpr Named kBasicTypes[] = {
#define FGMPI_BASIC_TYPE(name, kind, ctype) {name, #name},
#include "datatype/basic_types.def"
#undef FGMPI_BASIC_TYPE
};
constexpr Named kPairs[] = {{MPI_FLOAT_INT, "MPI_FLOAT_INT"},
                            {MPI_DOUBLE_INT, "MPI_DOUBLE_INT"},
                            {MPI_LONG_INT, "MPI_LONG_INT"},
                            {MPI_SHORT_INT, "MPI_SHORT_INT"},
                            {MPI_LONG_DOUBLE_INT, "MPI_LONG_DOUBLE_INT"}};

Type type_of(MPI_Datatype handle) {
  Type type;
  Status status = Type::of(handle, &type);
  EXPECT_TRUE(status.ok()) << status.what();
  return type;
}

TEST(BasicTypes, AreDescribedByTheirHandles) {
  for (const Named& named : kBasicTypes) {
    Type type = type_of(named.handle);
    EXPECT_TRUE(type.basic() && type.contiguous()) << named.name;
    EXPECT_EQ(type.extent(), type.size()) << named.name;
    EXPECT_STREQ(basic_type(named.handle)->name, named.name);
  }
}

TEST(BasicTypes, UnknownHandlesAreErrors) {
  Type type;
  for (MPI_Datatype handle :
       {MPI_DATATYPE_NULL, 0x4c0004ff, 0x4c000105, 0x4c00ff05, 0x4c010405, 0}) {
    if (handle == 0 && !host::kHostLoads) break;  // only the host can decide about this handle
    EXPECT_EQ(Type::of(handle, &type).error_class(), MPI_ERR_TYPE) << std::hex << handle;
  }
  EXPECT_EQ(type.handle(), MPI_BYTE);
}

TEST(BasicTypes, PackAndCopyBytes) {
  int from[5] = {1, 2, 3, 4, 5}, to[5] = {}, packed[5] = {};
  Type type = type_of(MPI_INT);
  ASSERT_TRUE(pack(from, 5, type, packed).ok());
  ASSERT_TRUE(unpack(packed, 17, to, 5, type).ok());
  EXPECT_TRUE(std::equal(to, to + 4, from));
  EXPECT_EQ(to[4], 5);
  EXPECT_EQ(copy(from, 5, type, to, 3, type).error_class(), MPI_ERR_TRUNCATE);
  EXPECT_TRUE(copy(from, 0, type, nullptr, 0, type).ok());
}

TEST_F(host::WithHost, BasicTypesAreAsTheHostHasThem) {
  auto check = [](const Named& named) {
    Type type = type_of(named.handle);
    MPI_Count size, lb, extent, true_lb, true_extent;
    ASSERT_EQ(host::api().Type_size_x(named.handle, &size), MPI_SUCCESS);
    ASSERT_EQ(host::api().Type_get_extent_x(named.handle, &lb, &extent), MPI_SUCCESS);
    ASSERT_EQ(host::api().Type_get_true_extent_x(named.handle, &true_lb, &true_extent),
              MPI_SUCCESS);
    EXPECT_EQ(type.size(), size) << named.name;
    EXPECT_EQ(type.extent(), extent) << named.name;
    EXPECT_EQ(type.true_extent(), true_extent) << named.name;
    EXPECT_EQ(type.lb(), lb) << named.name;
    EXPECT_EQ(type.true_lb(), true_lb) << named.name;
  };
  for (const Named& named : kBasicTypes) check(named);
  for (const Named& named : kPairs) check(named);
}

TEST(Pairs, PackWithoutTheirPadding) {
  struct {
    double value;
    int index;
  } pairs[3] = {{1.5, 7}, {2.5, 8}, {3.5, 9}}, back[3] = {};
  Type type = type_of(MPI_DOUBLE_INT);
  EXPECT_FALSE(type.contiguous());
  char packed[36];
  ASSERT_TRUE(pack(pairs, 3, type, packed).ok());
  int index;
  std::memcpy(&index, packed + 20, 4);
  EXPECT_EQ(index, 8);
  back[2].index = 77;
  ASSERT_TRUE(unpack(packed, 32, back, 3, type).ok());  // the last index is missing
  EXPECT_EQ(back[1].value, 2.5);
  EXPECT_EQ(back[2].value, 3.5);
  EXPECT_EQ(back[2].index, 77);
}

TEST_F(host::WithHost, APartOfAnElementTouchesNothingBehindIt) {
  // Two integers with memory between them that cannot be written to.
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  char* memory = static_cast<char*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(mprotect(memory + page, page, PROT_NONE), 0);
  int lengths[] = {2, 2}, places[] = {0, 100};
  MPI_Datatype handle;
  ASSERT_EQ(host::api().Type_indexed(2, lengths, places, MPI_INT, &handle), MPI_SUCCESS);
  ASSERT_EQ(host::api().Type_commit(&handle), MPI_SUCCESS);
  Type type = type_of(handle);
  const int sent[] = {11, 22};
  int* last = reinterpret_cast<int*>(memory + page) - 2;
  ASSERT_TRUE(unpack(sent, sizeof sent, last, 1, type).ok());
  EXPECT_EQ(last[0], 11);
  EXPECT_EQ(last[1], 22);
  last[1] = 77;
  ASSERT_TRUE(unpack(sent, sizeof sent[0], last, 1, type).ok());
  EXPECT_EQ(last[1], 77);
  munmap(memory, 2 * page);
  type_freed(handle);
  host::api().Type_free(&handle);
}

/// A random derived type and its naive model: the offsets of its bytes in packing order.
struct Model {
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  std::vector<int64_t> offsets;
  int64_t extent = 0;

  void pack(const char* buffer, int64_t count, std::vector<char>* out) const {
    for (int64_t e = 0; e < count; ++e)
      for (int64_t o : offsets) out->push_back(buffer[e * extent + o]);
  }
  void unpack(const std::vector<char>& in, char* buffer, int64_t count) const {
    size_t i = 0;
    for (int64_t e = 0; e < count; ++e)
      for (int64_t o : offsets) {
        if (i == in.size()) return;
        buffer[e * extent + o] = in[i++];
      }
  }
};

/// Blocks of bytes that do not overlap, in any order, with or without gaps; sometimes with another
/// extent.
Model random_model(std::mt19937& random) {
  auto upto = [&](int n) { return static_cast<int>(random() % n); };
  const int blocks = 1 + upto(6);
  const bool gaps = upto(3) > 0, shuffled = upto(2) > 0, resized = upto(2) > 0;
  std::vector<int> lengths;
  std::vector<MPI_Aint> places;
  MPI_Aint at = upto(2) ? upto(16) : 0;
  for (int i = 0; i < blocks; ++i) {
    lengths.push_back(upto(5) ? 1 + upto(24) : 0);
    places.push_back(at);
    at += lengths.back() + (gaps ? upto(9) : 0);
  }
  if (shuffled) {
    std::vector<int> order(blocks);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<int> l;
    std::vector<MPI_Aint> p;
    for (int i : order) l.push_back(lengths[i]), p.push_back(places[i]);
    lengths = l, places = p;
  }
  Model model;
  for (int i = 0; i < blocks; ++i)
    for (int b = 0; b < lengths[i]; ++b) model.offsets.push_back(places[i] + b);
  MPI_Datatype type;
  EXPECT_EQ(
      host::api().Type_create_hindexed(blocks, lengths.data(), places.data(), MPI_BYTE, &type),
      MPI_SUCCESS);
  if (resized) {
    MPI_Datatype wider;
    EXPECT_EQ(host::api().Type_create_resized(type, 0, at + upto(8), &wider), MPI_SUCCESS);
    host::api().Type_free(&type);
    type = wider;
  }
  EXPECT_EQ(host::api().Type_commit(&type), MPI_SUCCESS);
  MPI_Aint lb, extent;
  host::api().Type_get_extent(type, &lb, &extent);
  model.handle = type;
  model.extent = extent;
  return model;
}

void free_type(MPI_Datatype* handle) {
  type_freed(*handle);
  EXPECT_EQ(host::api().Type_free(handle), MPI_SUCCESS);
}

std::vector<char> random_bytes(std::mt19937& random, size_t n) {
  std::vector<char> bytes(n);
  for (char& b : bytes) b = static_cast<char>(random());
  return bytes;
}

TEST_F(host::WithHost, RandomDerivedTypesPackUnpackAndCopyLikeTheModel) {
  std::mt19937 random(20261);
  int contiguous = 0;
  for (int round = 0; round < 400; ++round) {
    Model model = random_model(random), other = random_model(random);
    Type type = type_of(model.handle), other_type = type_of(other.handle);
    ASSERT_EQ(type.size(), static_cast<int64_t>(model.offsets.size()));
    ASSERT_EQ(type.extent(), model.extent);
    contiguous += type.contiguous();
    if (type.contiguous() && type.size() > 0) {
      for (size_t i = 0; i < model.offsets.size(); ++i)
        ASSERT_EQ(model.offsets[i], type.true_lb() + static_cast<int64_t>(i));
      ASSERT_EQ(type.extent(), type.size());
    }
    const int64_t count = random() % 5;
    const std::vector<char> data = random_bytes(random, 4096);
    std::vector<char> expected, packed(count * type.size());
    model.pack(data.data(), count, &expected);
    ASSERT_TRUE(pack(data.data(), count, type, packed.data()).ok());
    ASSERT_EQ(packed, expected);

    // The message is whole or cut off.
    std::vector<char> message(
        packed.begin(), packed.begin() + (packed.empty() ? 0 : random() % (packed.size() + 1)));
    std::vector<char> to = random_bytes(random, 4096), want = to;
    model.unpack(message, want.data(), count);
    ASSERT_TRUE(unpack(message.data(), message.size(), to.data(), count, type).ok());
    ASSERT_EQ(to, want);

    const int64_t other_count = random() % 5;
    const size_t room = other_count * other_type.size();
    to = want = random_bytes(random, 4096);
    message = packed;
    message.resize(std::min(packed.size(), room));
    other.unpack(message, want.data(), other_count);
    Status status = copy(data.data(), count, type, to.data(), other_count, other_type);
    ASSERT_EQ(status.error_class(), packed.size() > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    ASSERT_EQ(to, want);
    free_type(&model.handle);
    free_type(&other.handle);
  }
  EXPECT_GT(contiguous, 20);
  EXPECT_LT(contiguous, 380);
  EXPECT_EQ(cached_types(), 0u);
}

TEST_F(host::WithHost, UncommittedAndFreedTypesAreErrors) {
  MPI_Datatype pair;
  ASSERT_EQ(host::api().Type_contiguous(2, MPI_INT, &pair), MPI_SUCCESS);
  Type type;
  EXPECT_EQ(Type::of(pair, &type).error_class(), MPI_ERR_TYPE);
  ASSERT_EQ(host::api().Type_commit(&pair), MPI_SUCCESS);
  EXPECT_TRUE(Type::of(pair, &type).ok());
  EXPECT_TRUE(type.contiguous());
  free_type(&pair);
}

TEST_F(host::WithHost, ATypeOutlivesItsHandle) {
  MPI_Datatype column;
  ASSERT_EQ(host::api().Type_vector(3, 1, 4, MPI_INT, &column), MPI_SUCCESS);
  ASSERT_EQ(host::api().Type_commit(&column), MPI_SUCCESS);
  const MPI_Datatype handle = column;
  Type type = type_of(column);
  free_type(&column);
  // The host gives the handle to the next type, which must not get the old description.
  MPI_Datatype next;
  ASSERT_EQ(host::api().Type_contiguous(5, MPI_DOUBLE, &next), MPI_SUCCESS);
  ASSERT_EQ(host::api().Type_commit(&next), MPI_SUCCESS);
  EXPECT_EQ(type_of(next).size(), 40);
  EXPECT_NE(type.host_handle(), handle);
  int matrix[12], packed[3];
  std::iota(matrix, matrix + 12, 0);
  Type copied = type;
  type = Type();
  ASSERT_TRUE(pack(matrix, 1, copied, packed).ok());
  EXPECT_EQ(packed[1], 4);
  EXPECT_EQ(packed[2], 8);
  free_type(&next);
}

TEST_F(host::WithHost, OverlapBesideAHoleIsNotContiguous) {
  // Three ints at 0, 0 and 8: size and extent are both 12.
  int lengths[3] = {1, 1, 1};
  MPI_Aint places[3] = {0, 0, 8};
  MPI_Datatype type;
  ASSERT_EQ(host::api().Type_create_hindexed(3, lengths, places, MPI_INT, &type), MPI_SUCCESS);
  ASSERT_EQ(host::api().Type_commit(&type), MPI_SUCCESS);
  Type t = type_of(type);
  EXPECT_EQ(t.size(), t.extent());
  EXPECT_FALSE(t.contiguous());
  free_type(&type);
}

}  // namespace
}  // namespace fgmpi::datatype
