// Compares the bits of handles with the constants of the host's mpi.h.
#include <gtest/gtest.h>
#include <mpi.h>

#include <random>

#include "host/handle_bits.h"

namespace fgmpi::host {
namespace {

struct KnownHandle {
  int handle;
  HandleKind kind;
  HandleObject object;
};

constexpr KnownHandle kKnown[] = {
    {MPI_COMM_NULL, HandleKind::kNull, HandleObject::kComm},
    {MPI_COMM_WORLD, HandleKind::kBuiltin, HandleObject::kComm},
    {MPI_COMM_SELF, HandleKind::kBuiltin, HandleObject::kComm},
    {MPI_GROUP_NULL, HandleKind::kNull, HandleObject::kGroup},
    {MPI_GROUP_EMPTY, HandleKind::kBuiltin, HandleObject::kGroup},
    {MPI_DATATYPE_NULL, HandleKind::kNull, HandleObject::kDatatype},
    {MPI_DOUBLE, HandleKind::kBuiltin, HandleObject::kDatatype},
    {MPI_FLOAT_INT, HandleKind::kDirect, HandleObject::kDatatype},
    {MPI_ERRHANDLER_NULL, HandleKind::kNull, HandleObject::kErrhandler},
    {MPI_ERRORS_RETURN, HandleKind::kBuiltin, HandleObject::kErrhandler},
    {MPI_OP_NULL, HandleKind::kNull, HandleObject::kOp},
    {MPI_NO_OP, HandleKind::kBuiltin, HandleObject::kOp},
    {MPI_INFO_NULL, HandleKind::kNull, HandleObject::kInfo},
    {MPI_INFO_ENV, HandleKind::kBuiltin, HandleObject::kInfo},
    {MPI_WIN_NULL, HandleKind::kNull, HandleObject::kWin},
    {MPI_KEYVAL_INVALID, HandleKind::kNull, HandleObject::kKeyval},
    {MPI_TAG_UB, HandleKind::kBuiltin, HandleObject::kKeyval},
    {MPI_REQUEST_NULL, HandleKind::kNull, HandleObject::kRequest},
    {MPI_SESSION_NULL, HandleKind::kNull, HandleObject::kSession},
};

TEST(HandleBits, AreThoseOfMpiH) {
  for (const KnownHandle& known : kKnown) {
    SCOPED_TRACE(known.handle);
    EXPECT_EQ(handle_kind(known.handle), known.kind);
    EXPECT_EQ(static_cast<uint32_t>(known.handle) & kHandleTypeMask,
              handle_base(known.kind, known.object));
    EXPECT_EQ(is_builtin(known.handle, known.object),
              known.kind == HandleKind::kBuiltin && handle_index(known.handle) < (1u << 24));
    EXPECT_EQ(is_null_handle(known.handle), known.kind == HandleKind::kNull);
  }
}

TEST(HandleBits, KeyvalsNameTheirObject) {
  for (int keyval : {MPI_TAG_UB, MPI_HOST, MPI_IO, MPI_WTIME_IS_GLOBAL, MPI_APPNUM})
    EXPECT_EQ(static_cast<uint32_t>(keyval) & 0xffffff00u,
              keyval_base(HandleKind::kBuiltin, HandleObject::kComm));
  for (int keyval : {MPI_WIN_BASE, MPI_WIN_SIZE, MPI_WIN_DISP_UNIT, MPI_WIN_MODEL})
    EXPECT_EQ(static_cast<uint32_t>(keyval) & 0xffffff00u,
              keyval_base(HandleKind::kBuiltin, HandleObject::kWin));
}

TEST(HandleBits, PredefinedDatatypesHaveTheirSize) {
  // All of them are compared in test/unit/datatype/datatype_test.cc.
  for (MPI_Datatype type : {MPI_CHAR, MPI_DOUBLE, MPI_COMPLEX32})
    EXPECT_TRUE(is_builtin(type, HandleObject::kDatatype));
  EXPECT_EQ(builtin_size(MPI_CHAR), 1u);
  EXPECT_EQ(builtin_size(MPI_DOUBLE), sizeof(double));
  EXPECT_EQ(builtin_size(MPI_COMPLEX32), 32u);
  EXPECT_FALSE(is_builtin(MPI_LONG_DOUBLE_INT, HandleObject::kDatatype));
  EXPECT_FALSE(is_builtin(MPI_SUM, HandleObject::kDatatype));
}

TEST(HandleBits, ThereAndBack) {
  std::mt19937 random(3);
  for (int i = 0; i < 10000; ++i) {
    const auto kind = static_cast<HandleKind>(random() % 4);
    const auto object = static_cast<HandleObject>(1 + random() % 14);
    const uint32_t index = random() & kHandleIndexMask;
    const auto handle = static_cast<int>(handle_base(kind, object) | index);
    ASSERT_EQ(handle_kind(handle), kind);
    ASSERT_EQ(handle_index(handle), index);
    ASSERT_EQ(static_cast<uint32_t>(handle) & kHandleTypeMask, handle_base(kind, object));
    ASSERT_EQ(is_null_handle(handle), kind == HandleKind::kNull && index == 0);
  }
}

}  // namespace
}  // namespace fgmpi::host
