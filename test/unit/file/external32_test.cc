// Tests of external32: the sizes of the standard's table, and random values encoded and decoded.
#include "file/external32.h"

#include <gtest/gtest.h>

#include <climits>
#include <vector>

#include "base/hash.h"

namespace fgmpi::file::external32 {
namespace {

TEST(External32, SizesOfTheStandard) {
  EXPECT_EQ(size_of(MPI_LONG), 4);
  EXPECT_EQ(size_of(MPI_UNSIGNED_LONG), 4);
  EXPECT_EQ(size_of(MPI_LONG_LONG), 8);
  EXPECT_EQ(size_of(MPI_WCHAR), 2);
  EXPECT_EQ(size_of(MPI_LONG_DOUBLE), 16);
  EXPECT_EQ(size_of(MPI_C_LONG_DOUBLE_COMPLEX), 32);
  EXPECT_EQ(size_of(MPI_AINT), 8);
  EXPECT_EQ(size_of(MPI_C_BOOL), 1);
  EXPECT_EQ(size_of(MPI_LONG_INT), 8);
  EXPECT_EQ(size_of(MPI_SHORT_INT), 6);
  EXPECT_EQ(size_of(MPI_LONG_DOUBLE_INT), 20);
}

template <class T>
void there_and_back(MPI_Datatype type, const std::vector<T>& values) {
  const auto count = static_cast<int64_t>(values.size());
  std::vector<char> file(static_cast<size_t>(size_of(type) * count));
  std::vector<T> back(values.size());
  const auto* in = reinterpret_cast<const char*>(values.data());
  ASSERT_TRUE(encode(type, in, count, file.data()).ok());
  decode(type, file.data(), count, reinterpret_cast<char*>(back.data()));
  EXPECT_EQ(values, back);
}

TEST(External32, ValuesThereAndBack) {
  RandomSequence random(32);
  std::vector<long> longs{0, -1, INT_MAX, INT_MIN};
  std::vector<unsigned long> unsigneds{0, UINT_MAX};
  std::vector<double> doubles{0, -1.5, 1e300};
  std::vector<long double> quads{0, -1.5L, 1e4000L, 1e-4900L};
  for (int i = 0; i < 1000; ++i) {
    const uint64_t bits = random.next();
    longs.push_back(static_cast<int32_t>(bits));
    unsigneds.push_back(static_cast<uint32_t>(bits));
    doubles.push_back(static_cast<double>(bits) / 3);
    quads.push_back(static_cast<long double>(bits) / 3);
  }
  there_and_back(MPI_LONG, longs);
  there_and_back(MPI_UNSIGNED_LONG, unsigneds);
  there_and_back(MPI_DOUBLE, doubles);
  there_and_back(MPI_LONG_DOUBLE, quads);
}

TEST(External32, WhatDoesNotFitIsAnError) {
  char file[8];
  for (const long value : {long{INT_MAX} + 1, long{INT_MIN} - 1, LONG_MAX, LONG_MIN})
    EXPECT_EQ(encode(MPI_LONG, reinterpret_cast<const char*>(&value), 1, file).error_class(),
              MPI_ERR_CONVERSION)
        << value;
  for (const unsigned long value : {(1ul << 32), ULONG_MAX})
    EXPECT_FALSE(encode(MPI_UNSIGNED_LONG, reinterpret_cast<const char*>(&value), 1, file).ok());
  const wchar_t wide = 0x1f600;
  EXPECT_FALSE(encode(MPI_WCHAR, reinterpret_cast<const char*>(&wide), 1, file).ok());
}

}  // namespace
}  // namespace fgmpi::file::external32
