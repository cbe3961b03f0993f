// What this library relies on in the hosted MPICH beyond the standard, and the faults that it
// mends.
// A test fails where a version behaves otherwise than those that were looked at (4.0.2, 4.2.1 and
// 5.0.2), and names the code that has to be looked at then.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "host/host_version.h"
#include "host_fixture.h"

namespace fgmpi::host {
namespace {

/// The host as a number: 40201 for MPICH 4.2.1.
int version_number() {
  std::string name;
  EXPECT_TRUE(find_version(&name).ok());
  int major = 0, minor = 0, patch = 0;
  EXPECT_GE(std::sscanf(name.c_str(), "MPICH %d.%d.%d", &major, &minor, &patch), 2) << name;
  return major * 10000 + minor * 100 + patch;
}

class HostHabits : public WithHost {
 protected:
  void SetUp() override {
    WithHost::SetUp();
    if (!IsSkipped()) later_ = version_number() >= 40201;
  }

  /// A vector of two ints, one int apart, committed.
  MPI_Datatype two_ints() {
    MPI_Datatype type;
    EXPECT_EQ(h().Type_vector(2, 1, 2, MPI_INT, &type), MPI_SUCCESS);
    EXPECT_EQ(h().Type_commit(&type), MPI_SUCCESS);
    return type;
  }
  const Api& h() { return api(); }
  int class_of(int code) {
    int error_class = MPI_SUCCESS;
    h().Error_class(code, &error_class);
    return error_class;
  }

  bool later_ = false;  ///< 4.2.1 or later
};

// complete_packing() in datatype/datatype.h copies what is missing.
TEST_F(HostHabits, PackingLosesTheEndOfTypesWithHighHandlesBefore421) {
  constexpr int kSize = 1001;
  std::vector<MPI_Datatype> types;
  int cut = 0;
  for (int i = 0; i < 1200; ++i) {
    MPI_Datatype type;
    ASSERT_EQ(h().Type_contiguous(kSize, MPI_BYTE, &type), MPI_SUCCESS);
    ASSERT_EQ(h().Type_commit(&type), MPI_SUCCESS);
    types.push_back(type);
    const std::vector<char> in(kSize, 'x');
    std::vector<char> out(kSize);
    int position = 0;
    ASSERT_EQ(h().Pack(in.data(), 1, type, out.data(), kSize, &position, MPI_COMM_SELF),
              MPI_SUCCESS);
    if (position == kSize) continue;
    ++cut;
    const int bits = type >> 8 & 0xff;
    ASSERT_GT(bits, 0);
    EXPECT_EQ(position, kSize - kSize % bits) << "bits 8 to 15 of the handle are " << bits;
  }
  for (MPI_Datatype& type : types) h().Type_free(&type);
  EXPECT_EQ(cut > 0, !later_) << cut << " of 1200 types were cut";
}

// check_end() in datatype/datatype.cc compares the counts for one byte more and less.
TEST_F(HostHabits, ElementsOfDataThatEndWithinOneAreWholeOnesBefore421) {
  MPI_Datatype type = two_ints();
  for (int bytes = 0; bytes <= 8; ++bytes) {
    MPI_Status status;
    MPI_Count elements = 0;
    ASSERT_EQ(h().Status_set_elements_x(&status, MPI_BYTE, bytes), MPI_SUCCESS);
    ASSERT_EQ(h().Get_elements_x(&status, type, &elements), MPI_SUCCESS);
    EXPECT_EQ(elements, later_ && bytes % 4 ? MPI_UNDEFINED : bytes / 4) << bytes << " bytes";
  }
  h().Type_free(&type);
}

// refuse_large_counts() in mpi/host_stubs.h gives the class that the standard wants; type trees in
// host/type_contents.cc ask with large counts alone.
TEST_F(HostHabits, TheEnvelopeOfATypeWithLargeCountsIsRefused) {
  MPI_Datatype large, small;
  ASSERT_EQ(h().Type_contiguous_c(3, MPI_INT, &large), MPI_SUCCESS);
  ASSERT_EQ(h().Type_contiguous(3, MPI_INT, &small), MPI_SUCCESS);
  int n[3], combiner;
  EXPECT_EQ(class_of(h().Type_get_envelope(large, &n[0], &n[1], &n[2], &combiner)),
            later_ ? MPI_ERR_TYPE : MPI_ERR_OTHER);
  MPI_Count integers, addresses, counts, types;
  ASSERT_EQ(h().Type_get_envelope_c(large, &integers, &addresses, &counts, &types, &combiner),
            MPI_SUCCESS);
  EXPECT_EQ(std::vector<MPI_Count>({integers, addresses, counts, types}),
            std::vector<MPI_Count>({0, 0, 1, 1}));
  ASSERT_EQ(h().Type_get_envelope_c(small, &integers, &addresses, &counts, &types, &combiner),
            MPI_SUCCESS);
  EXPECT_EQ(std::vector<MPI_Count>({integers, addresses, counts, types}),
            std::vector<MPI_Count>({1, 0, 0, 1}));
  h().Type_free(&large);
  h().Type_free(&small);
}

// describe() in datatype/datatype.cc finds out in this way whether a type is committed.
TEST_F(HostHabits, PackingNothingFailsUnlessTheTypeIsCommitted) {
  MPI_Datatype type;
  ASSERT_EQ(h().Type_contiguous(3, MPI_INT, &type), MPI_SUCCESS);
  char nothing[1] = {};
  int position = 0;
  EXPECT_EQ(class_of(h().Pack(nothing, 0, type, nothing, 0, &position, MPI_COMM_SELF)),
            MPI_ERR_TYPE);
  ASSERT_EQ(h().Type_commit(&type), MPI_SUCCESS);
  EXPECT_EQ(h().Pack(nothing, 0, type, nothing, 0, &position, MPI_COMM_SELF), MPI_SUCCESS);
  h().Type_free(&type);
}

// with_nonnull_address() in datatype/datatype.cc and datatype/bottom.h move the address and the
// type.
TEST_F(HostHabits, PackingRefusesMpiBottomBefore421) {
  char in[16] = "fifteen letters", out[16] = {};
  MPI_Aint address;
  ASSERT_EQ(h().Get_address(in, &address), MPI_SUCCESS);
  const int length = 4;
  MPI_Datatype type;
  ASSERT_EQ(h().Type_create_hindexed(1, &length, &address, MPI_INT, &type), MPI_SUCCESS);
  ASSERT_EQ(h().Type_commit(&type), MPI_SUCCESS);
  const int expected = later_ ? MPI_SUCCESS : MPI_ERR_ARG;
  int position = 0;
  EXPECT_EQ(class_of(h().Pack(MPI_BOTTOM, 1, type, out, 16, &position, MPI_COMM_SELF)), expected);
  position = 0;
  EXPECT_EQ(class_of(h().Unpack(out, 16, &position, MPI_BOTTOM, 1, type, MPI_COMM_SELF)), expected);
  h().Type_free(&type);
}

// unpack_part() in datatype/datatype.cc receives a message that ends within an element.
TEST_F(HostHabits, AReceiveTakesTheBasicElementsThatAreWholeAndNoMore) {
  MPI_Datatype type = two_ints();
  const char in[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (int bytes : {4, 6, 8}) {
    char out[12] = {};
    EXPECT_EQ(h().Sendrecv(in, bytes, MPI_BYTE, 0, 0, out, 1, type, 0, 0, MPI_COMM_SELF,
                           MPI_STATUS_IGNORE),
              MPI_SUCCESS);
    const char second = bytes == 8 ? 5 : 0;
    EXPECT_EQ(out[0], 1) << bytes;
    EXPECT_EQ(out[4], 0) << bytes;
    EXPECT_EQ(out[8], second) << bytes;
  }
  h().Type_free(&type);
}

// Type::of() in datatype/datatype.cc makes a type of its own from the user's.
TEST_F(HostHabits, AResizedTypeOutlivesTheTypeThatItWasMadeFrom) {
  MPI_Datatype type = two_ints(), other;
  ASSERT_EQ(h().Type_create_resized(type, 0, 16, &other), MPI_SUCCESS);
  ASSERT_EQ(h().Type_commit(&other), MPI_SUCCESS);
  h().Type_free(&type);
  const int in[4] = {1, 2, 3, 4};
  int out[2] = {}, position = 0;
  EXPECT_EQ(h().Pack(in, 1, other, out, sizeof out, &position, MPI_COMM_SELF), MPI_SUCCESS);
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], 3);
  h().Type_free(&other);
}

/// True for a process that has ended otherwise than by _exit(kCameBack).
constexpr int kCameBack = 77;
bool never_came_back(int status) {
  return !(WIFEXITED(status) && WEXITSTATUS(status) == kCameBack);
}

using HostHabitsDeathTest = HostHabits;

// mpi/datatype/pack_external.h has its own conversion.
TEST_F(HostHabitsDeathTest, PackExternalEndsTheProcessForTypesOfTwoBasicTypes) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto pack = [&] {
    const int lengths[] = {1, 1};
    const MPI_Aint places[] = {0, 8};
    const MPI_Datatype parts[] = {MPI_INT, MPI_DOUBLE};
    MPI_Datatype type;
    h().Type_create_struct(2, lengths, places, parts, &type);
    h().Type_commit(&type);
    const double in[2] = {};
    char out[64];
    MPI_Aint position = 0;
    h().Pack_external("external32", in, 1, type, out, sizeof out, &position);
    _exit(kCameBack);
  };
  EXPECT_EXIT(pack(), never_came_back, "");
}

}  // namespace
}  // namespace fgmpi::host
