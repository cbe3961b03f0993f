#include "coll/type_fingerprint.h"

#include <gtest/gtest.h>

#include <set>

namespace fgmpi::coll {
namespace {

uint32_t of(MPI_Datatype handle, int64_t count) {
  datatype::Type type;
  EXPECT_TRUE(datatype::Type::of(handle, &type).ok());
  const uint32_t print = type_fingerprint(type, count);
  if (count > 0) {
    EXPECT_EQ(print, type_fingerprint(type));
  }
  return print;
}

TEST(TypeFingerprint, SaysWhatValuesThereAre) {
  std::set<uint32_t> seen;
  for (MPI_Datatype type : {MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_SHORT, MPI_INT,
                            MPI_UNSIGNED, MPI_LONG, MPI_FLOAT, MPI_DOUBLE, MPI_C_FLOAT_COMPLEX}) {
    const uint32_t print = of(type, 3);
    EXPECT_NE(print, 0u);
    EXPECT_TRUE(seen.insert(print).second);
  }
  EXPECT_EQ(of(MPI_INT, 1), of(MPI_INT32_T, 1));
  EXPECT_EQ(of(MPI_LONG, 1), of(MPI_INT64_T, 1));
  EXPECT_EQ(of(MPI_INT, 1), of(MPI_INTEGER, 1));
  EXPECT_EQ(of(MPI_DOUBLE, 1), of(MPI_DOUBLE_PRECISION, 1));
}

TEST(TypeFingerprint, BytesGoWithEveryType) {
  EXPECT_EQ(of(MPI_BYTE, 4), 0u);
  EXPECT_EQ(of(MPI_PACKED, 4), 0u);
  EXPECT_EQ(of(MPI_INT, 0), 0u);
}

}  // namespace
}  // namespace fgmpi::coll
