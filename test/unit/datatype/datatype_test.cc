#include "datatype/datatype.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "datatype/basic_type.h"
#include "datatype/constructors.h"
#include "datatype/copy.h"
#include "datatype/type_handles.h"
#include "host_types.h"

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
  const Status status = Type::of(handle, &type);
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

TEST(BasicTypes, HandlesCarryTheirSize) {
#define FGMPI_BASIC_TYPE(name, kind, ctype)                                    \
  EXPECT_TRUE(host::is_builtin(name, host::HandleObject::kDatatype)) << #name; \
  EXPECT_EQ(basic_size(name), static_cast<int64_t>(sizeof(ctype))) << #name;
#include "datatype/basic_types.def"
#undef FGMPI_BASIC_TYPE
}

TEST(BasicTypes, UnknownHandlesAreErrors) {
  Type type;
  for (MPI_Datatype handle : {MPI_DATATYPE_NULL, 0x4c0004ff, 0x4c000105, 0x4c00ff05, 0x4c010405, 0,
                              -1, int{MPI_COMM_WORLD}, int{MPI_SUM}}) {
    EXPECT_EQ(Type::of(handle, &type).error_class(), MPI_ERR_TYPE) << std::hex << handle;
    EXPECT_EQ(Type::of_any(handle, &type).error_class(), MPI_ERR_TYPE) << std::hex << handle;
  }
  EXPECT_EQ(type.handle(), MPI_BYTE);
}

TEST(BasicTypes, PackAndCopyBytes) {
  int from[5] = {1, 2, 3, 4, 5}, to[5] = {}, packed[5] = {};
  Type type = type_of(MPI_INT);
  pack(from, 5, type, packed);
  unpack(packed, 17, to, 5, type);
  EXPECT_TRUE(std::equal(to, to + 4, from));
  EXPECT_EQ(to[4], 5);
  EXPECT_EQ(copy(from, 5, type, to, 3, type).error_class(), MPI_ERR_TRUNCATE);
  EXPECT_TRUE(copy(from, 0, type, nullptr, 0, type).ok());
}

using BasicTypesWithHost = host::WithHost;

TEST_F(BasicTypesWithHost, AreAsTheHostHasThem) {
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
  for (const Named& named : kBasicTypes)
    if (test::is_host_5() || !test::is_of_host_5(named.handle)) check(named);
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
  pack(pairs, 3, type, packed);
  int index;
  std::memcpy(&index, packed + 20, 4);
  EXPECT_EQ(index, 8);
  back[2].index = 77;
  unpack(packed, 32, back, 3, type);  // the last index is missing
  EXPECT_EQ(back[1].value, 2.5);
  EXPECT_EQ(back[2].value, 3.5);
  EXPECT_EQ(back[2].index, 77);
}

TEST(Datatype, APartOfAnElementTouchesNothingBehindIt) {
  // Two integers with memory behind them that cannot be written to.
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  char* memory = static_cast<char*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(mprotect(memory + page, page, PROT_NONE), 0);
  const int lengths[] = {2, 2}, places[] = {0, 100};
  Type type;
  ASSERT_TRUE(make_indexed(false, 2, lengths, places, type_of(MPI_INT), &type).ok());
  const int sent[] = {11, 22};
  int* last = reinterpret_cast<int*>(memory + page) - 2;
  unpack(sent, sizeof sent, last, 1, type);
  EXPECT_EQ(last[0], 11);
  EXPECT_EQ(last[1], 22);
  last[1] = 77;
  unpack(sent, sizeof sent[0], last, 1, type);
  EXPECT_EQ(last[1], 77);
  int back[2] = {};
  pack_part(last, type, 0, sizeof back, back);
  EXPECT_EQ(back[0], 11);
  EXPECT_EQ(back[1], 77);
  munmap(memory, 2 * page);
}

TEST(Datatype, RowsOfEveryLengthEndWhereTheyShould) {
  // Elements of 1 to 70 bytes with gaps between them; the memory ends behind the last one.
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  char* memory = static_cast<char*>(
      mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(mprotect(memory, page, PROT_NONE), 0);
  ASSERT_EQ(mprotect(memory + 2 * page, page, PROT_NONE), 0);
  char *begin = memory + page, *end = begin + page;
  for (int64_t bytes = 1; bytes <= 70; ++bytes)
    for (int64_t count = 1; count <= 19; count += 3)
      for (int64_t stride : {bytes + 3, -bytes - 1}) {
        Type type;
        ASSERT_TRUE(make_hvector(true, count, bytes, stride, type_of(MPI_BYTE), &type).ok());
        const int64_t reach = (count - 1) * stride;
        std::memset(begin, 'x', page);
        for (char* at : {begin - type.true_lb(), end - type.true_extent() - type.true_lb()}) {
          char packed[70 * 19 + 1], back[sizeof packed];
          for (size_t i = 0; i < sizeof packed; ++i) packed[i] = static_cast<char>(i * 7 + 1);
          unpack(packed, count * bytes, at, 1, type);
          for (int64_t i = 0; i < count; ++i)
            ASSERT_EQ(std::memcmp(at + i * stride, packed + i * bytes, static_cast<size_t>(bytes)),
                      0);
          back[count * bytes] = 'y';
          pack(at, 1, type, back);
          ASSERT_EQ(std::memcmp(back, packed, static_cast<size_t>(count * bytes)), 0);
          ASSERT_EQ(back[count * bytes], 'y');
          ASSERT_TRUE(count == 1 || at[std::min<int64_t>(reach, 0) + bytes] == 'x');
        }
      }
  munmap(memory, 3 * page);
}

TEST(Datatype, UncommittedTypesAreErrors) {
  Type made, type;
  ASSERT_TRUE(make_contiguous(false, 2, type_of(MPI_INT), &made).ok());
  MPI_Datatype pair;
  ASSERT_TRUE(make_handle(made, false, &pair).ok());
  const Status status = Type::of(pair, &type);
  EXPECT_EQ(status.error_class(), MPI_ERR_TYPE);
  EXPECT_NE(status.what().find("not committed"), std::string::npos) << status.what();
  EXPECT_TRUE(Type::of_any(pair, &type).ok());
  commit_handle(pair);
  EXPECT_TRUE(Type::of(pair, &type).ok());
  EXPECT_TRUE(type.contiguous());
  EXPECT_EQ(type.handle(), pair);
  free_handle(pair);
  EXPECT_EQ(Type::of(pair, &type).error_class(), MPI_ERR_TYPE);
}

TEST(Datatype, OverlapBesideAHoleIsNotContiguous) {
  // Three ints at 0, 0 and 8: size and extent are both 12.
  const int lengths[3] = {1, 1, 1};
  const MPI_Aint places[3] = {0, 0, 8};
  Type type;
  ASSERT_TRUE(make_hindexed(false, 3, lengths, places, type_of(MPI_INT), &type).ok());
  EXPECT_EQ(type.size(), type.extent());
  EXPECT_FALSE(type.contiguous());
}

TEST(Datatype, TypesAreMovedAndAssigned) {
  Type column, other;
  ASSERT_TRUE(make_vector(false, 3, 1, 4, type_of(MPI_INT), &column).ok());
  ASSERT_EQ(column.derived()->references, 1u);
  other = column;
  EXPECT_EQ(column.derived()->references, 2u);
  Type moved = std::move(other);
  EXPECT_EQ(column.derived()->references, 2u);
  EXPECT_TRUE(other.basic());
  EXPECT_EQ(other.size(), 1);
  EXPECT_TRUE(moved == column);
  moved = *&moved;
  EXPECT_EQ(column.derived()->references, 2u);
  const TypeTreePtr tree = moved.shared_tree();
  const Type& self = column;
  moved = Type();
  column = Type();
  EXPECT_EQ(tree->size, 12);  // the tree has an owner
  EXPECT_TRUE(self.basic());
  EXPECT_EQ(count_derived_types(), 1u);
}

}  // namespace
}  // namespace fgmpi::datatype
