// What constructors refuse, types of a precision, and bounds by markers.
#include "datatype/constructors.h"

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "datatype/basic_type.h"
#include "datatype/copy.h"
#include "datatype/type_handles.h"
#include "host_types.h"

namespace fgmpi::datatype {
namespace {

constexpr int64_t k31 = int64_t{1} << 31, k40 = int64_t{1} << 40, k62 = int64_t{1} << 62,
                  kMost = std::numeric_limits<int64_t>::max(),
                  kLeast = std::numeric_limits<int64_t>::min();

Type type_of(MPI_Datatype handle) {
  Type type;
  EXPECT_TRUE(Type::of(handle, &type).ok());
  return type;
}

class Constructors : public testing::Test {
 protected:
  void SetUp() override { objects_ = count_derived_types(); }
  void TearDown() override { EXPECT_EQ(count_derived_types(), objects_); }
  /// Expects an error that has the words, and an output that nothing was done to.
  void refuses(const Status& status, int error_class, const std::string& words) {
    EXPECT_EQ(status.error_class(), error_class) << status.what();
    EXPECT_NE(status.what().find(words), std::string::npos) << status.what();
    EXPECT_EQ(out_.handle(), MPI_BYTE);
    EXPECT_TRUE(out_.basic());
  }
  Type out_;
  const Type int_ = type_of(MPI_INT), byte_ = type_of(MPI_BYTE);

 private:
  size_t objects_ = 0;
};

TEST_F(Constructors, RefuseWhatNeedsMoreThan63Bits) {
  const std::string words = "more than 63 bits";
  auto refuses_large = [&](const Status& status) { refuses(status, MPI_ERR_ARG, words); };
  Type large, wide;
  ASSERT_TRUE(make_contiguous(true, k40, int_, &large).ok());
  refuses_large(make_contiguous(true, k40, large, &out_));
  refuses_large(make_vector(true, k40, k40, k40, byte_, &out_));
  refuses_large(make_vector(true, k40, 1, k40, byte_, &out_));
  refuses_large(make_vector(true, 3, 1, -k62, byte_, &out_));
  refuses_large(make_vector(true, 2, 1, k62, int_, &out_));
  refuses_large(make_hvector(true, 3, 1, k62, byte_, &out_));
  refuses_large(make_hvector(true, 3, k40, -k62, int_, &out_));
  refuses_large(make_contiguous(true, kMost, int_, &out_));
  const int64_t lengths[] = {1, 1}, far[] = {0, k62}, ends[] = {kLeast, kMost - 1};
  refuses_large(make_indexed(true, 2, lengths, far, int_, &out_));
  refuses_large(make_indexed_block(true, 2, 1, far, int_, &out_));
  refuses_large(make_hindexed(true, 2, lengths, ends, byte_, &out_));
  refuses_large(make_hindexed_block(true, 2, 1, ends, byte_, &out_));
  refuses_large(make_struct(true, 2, lengths, ends, {byte_, byte_}, &out_));
  const int64_t past[] = {kMost - 3};
  refuses_large(
      make_hindexed_block(true, 1, 1, past, int_, &out_));  // it would end behind 2^63 - 1
  const int64_t many[] = {k62, k62};
  const int64_t same[] = {0, 0};
  refuses_large(make_hindexed(true, 2, many, same, byte_, &out_));  // by its size alone
  refuses_large(make_resized(true, kMost, 1, byte_, &out_));
  refuses_large(make_resized(true, kLeast, -1, byte_, &out_));
  const int64_t sizes[] = {k40, k40}, one[] = {1, 1}, zero[] = {0, 0};
  refuses_large(make_subarray(true, {2, sizes, one, zero, MPI_ORDER_C}, byte_, &out_));
  const int64_t sizes3[] = {k62, k62, k62}, one3[] = {1, 1, 1}, zero3[] = {0, 0, 0};
  refuses_large(make_subarray(true, {3, sizes3, one3, zero3, MPI_ORDER_C}, byte_, &out_));
  const int kind[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
            arg[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {1, 1};
  refuses_large(make_darray(true, {1, 0, 2, sizes, kind, arg, grid, MPI_ORDER_C}, byte_, &out_));
  // What just fits.
  EXPECT_TRUE(make_contiguous(true, kMost, byte_, &wide).ok());
  EXPECT_EQ(wide.size(), kMost);
  const int64_t last[] = {kMost - 4};
  EXPECT_TRUE(make_hindexed_block(true, 1, 1, last, int_, &wide).ok());
  EXPECT_EQ(wide.true_lb(), kMost - 4);
  const int64_t first[] = {kLeast};
  EXPECT_TRUE(make_hindexed_block(true, 1, 1, first, int_, &wide).ok());
  EXPECT_EQ(wide.lb(), kLeast);
  EXPECT_EQ(wide.extent(), 4);
  EXPECT_TRUE(make_resized(true, kLeast, kMost, byte_, &wide).ok());
  EXPECT_TRUE(make_contiguous(true, 0, large, &wide).ok());
}

TEST_F(Constructors, RefuseWhatDataNeedsAlsoWhereBoundsAreMarked) {
  // Bounds of one byte, but data 2^62 bytes away.
  const int64_t far[] = {k62};
  Type type, marked;
  ASSERT_TRUE(make_hindexed_block(true, 1, 1, far, byte_, &type).ok());
  ASSERT_TRUE(make_resized(true, 0, 1, type, &marked).ok());
  EXPECT_EQ(marked.true_lb(), k62);
  EXPECT_EQ(marked.extent(), 1);
  refuses(make_hvector(true, 2, 1, k62, marked, &out_), MPI_ERR_ARG, "63 bits");
  const int64_t also_far[] = {k62};
  refuses(make_hindexed_block(true, 1, 1, also_far, marked, &out_), MPI_ERR_ARG, "63 bits");
}

TEST_F(Constructors, RefuseProductsThatWrapAround) {
  // Elements of 2^60 bytes that all lie at one place, so that only the size grows, by 2^182 and
  // more.
  Type large, still;
  ASSERT_TRUE(make_contiguous(true, int64_t{1} << 60, byte_, &large).ok());
  ASSERT_TRUE(make_resized(true, 0, 0, large, &still).ok());
  refuses(make_vector(true, k62, k62, 0, still, &out_), MPI_ERR_ARG, "63 bits");
  refuses(make_contiguous(true, 8, still, &out_), MPI_ERR_ARG, "63 bits");
  const std::vector<int64_t> lengths(64, k62), places(64, 0);
  refuses(make_hindexed(true, 64, lengths.data(), places.data(), still, &out_), MPI_ERR_ARG,
          "63 bits");
  // Strides that need 122 bits, 2^62 times.
  refuses(make_vector(true, k62, 1, k62, large, &out_), MPI_ERR_ARG, "63 bits");
  refuses(make_vector(true, (int64_t{1} << 6) + 1, 1, k62, large, &out_), MPI_ERR_ARG, "63 bits");
  refuses(make_vector(true, 3, 1, k62, large, &out_), MPI_ERR_ARG, "63 bits");
  // No element, no stride and no place.
  const int64_t none[] = {0, 1}, far[] = {k62, 0};
  EXPECT_TRUE(make_indexed(true, 2, none, far, large, &out_).ok());
  EXPECT_EQ(out_.extent(), int64_t{1} << 60);
  EXPECT_TRUE(make_indexed(true, 2, none, far, int_, &out_).ok());
  EXPECT_EQ(out_.extent(), 4);
  EXPECT_TRUE(make_indexed_block(true, 2, 0, far, int_, &out_).ok());
  EXPECT_EQ(out_.extent(), 0);
  EXPECT_TRUE(make_vector(true, k62, 0, k62, large, &out_).ok());
  EXPECT_EQ(out_.extent(), 0);
  EXPECT_TRUE(make_vector(true, 1, 1, k62, large, &out_).ok());
  EXPECT_EQ(out_.extent(), int64_t{1} << 60);
  out_ = Type();
}

TEST_F(Constructors, RefuseDataThatLiesFartherApartThan63Bits) {
  const int64_t first[] = {kLeast}, last[] = {kMost - 1}, both[] = {0, 0}, lengths[] = {1, 1};
  Type low, high, marked_low, marked_high;
  ASSERT_TRUE(make_hindexed_block(true, 1, 1, first, byte_, &low).ok());
  ASSERT_TRUE(make_hindexed_block(true, 1, 1, last, byte_, &high).ok());
  ASSERT_TRUE(make_resized(true, 0, 1, low, &marked_low).ok());
  ASSERT_TRUE(make_resized(true, 0, 1, high, &marked_high).ok());
  refuses(make_struct(true, 2, lengths, both, {marked_low, marked_high}, &out_), MPI_ERR_ARG,
          "63 bits");
}

TEST_F(Constructors, NameTheArgumentThatTheyRefuse) {
  const int minus[] = {1, -2}, fine[] = {1, 2}, *none = nullptr;
  const MPI_Aint bytes[] = {0, 8};
  refuses(make_vector(false, 2, -1, 3, int_, &out_), MPI_ERR_ARG,
          "blocklength is -1; allowed is 0 or more");
  refuses(make_hvector(false, 2, -4, 3, int_, &out_), MPI_ERR_ARG, "blocklength is -4");
  refuses(make_indexed_block(false, 2, -1, fine, int_, &out_), MPI_ERR_ARG, "blocklength is -1");
  refuses(make_hindexed_block(false, 2, -1, bytes, int_, &out_), MPI_ERR_ARG, "blocklength is -1");
  refuses(make_indexed(false, 2, minus, fine, int_, &out_), MPI_ERR_ARG,
          "array_of_blocklengths[1] is -2");
  refuses(make_hindexed(false, 2, minus, bytes, int_, &out_), MPI_ERR_ARG,
          "array_of_blocklengths[1] is -2");
  refuses(make_struct(false, 2, minus, bytes, {int_, int_}, &out_), MPI_ERR_ARG,
          "array_of_blocklengths[1] is -2");
  refuses(make_indexed(false, 2, none, fine, int_, &out_), MPI_ERR_ARG,
          "array_of_blocklengths is a null pointer");
  refuses(make_indexed(false, 2, fine, none, int_, &out_), MPI_ERR_ARG,
          "array_of_displacements is a null pointer");
  EXPECT_TRUE(make_indexed(false, 0, none, none, int_, &out_).ok());
  EXPECT_EQ(out_.size(), 0);
  EXPECT_EQ(out_.extent(), 0);
  out_ = Type();
}

TEST_F(Constructors, NameTheDimensionThatTheyRefuse) {
  const int sizes[] = {4, 5}, parts[] = {2, 5}, starts[] = {1, 0}, zero[] = {4, 0},
            empty[] = {2, 0}, six[] = {2, 6}, late[] = {3, 0}, *none = nullptr;
  auto sub = [&](const int* s, const int* p, const int* at, int order = MPI_ORDER_C, int dims = 2) {
    return make_subarray(false, {dims, s, p, at, order}, int_, &out_);
  };
  refuses(sub(zero, parts, starts), MPI_ERR_ARG, "array_of_sizes[1] is 0");
  refuses(sub(sizes, empty, starts), MPI_ERR_ARG, "array_of_subsizes[1] is 0; allowed is 1 to 5");
  refuses(sub(sizes, six, starts), MPI_ERR_ARG, "array_of_subsizes[1] is 6");
  refuses(sub(sizes, parts, late), MPI_ERR_ARG, "array_of_starts[0] is 3; allowed is 0 to 2");
  refuses(sub(sizes, parts, none), MPI_ERR_ARG, "array_of_starts is a null pointer");
  refuses(sub(sizes, parts, starts, 77), MPI_ERR_ARG, "order is 77");
  refuses(sub(sizes, parts, starts, MPI_ORDER_C, 0), MPI_ERR_DIMS, "ndims is 0");
  const int block = MPI_DISTRIBUTE_BLOCK, cyclic = MPI_DISTRIBUTE_CYCLIC, all = MPI_DISTRIBUTE_NONE,
            unset = MPI_DISTRIBUTE_DFLT_DARG;
  auto part = [&](int size, int rank, std::vector<int> kinds, std::vector<int> args,
                  std::vector<int> grid, int order = MPI_ORDER_C) {
    return make_darray(false, {size, rank, 2, sizes, kinds.data(), args.data(), grid.data(), order},
                       int_, &out_);
  };
  refuses(part(0, 0, {block, block}, {unset, unset}, {2, 2}), MPI_ERR_ARG, "size is 0");
  refuses(part(4, 4, {block, block}, {unset, unset}, {2, 2}), MPI_ERR_RANK,
          "rank is 4; allowed is 0 to 3");
  refuses(part(4, -1, {block, block}, {unset, unset}, {2, 2}), MPI_ERR_RANK, "rank is -1");
  refuses(part(4, 0, {block, block}, {unset, unset}, {2, 3}), MPI_ERR_ARG, "other than size (4)");
  refuses(part(4, 0, {block, block}, {unset, unset}, {2, 1}), MPI_ERR_ARG, "other than size (4)");
  refuses(part(4, 0, {block, block}, {unset, unset}, {4, 0}), MPI_ERR_ARG,
          "array_of_psizes[1] is 0");
  refuses(part(4, 0, {block, all}, {unset, unset}, {2, 2}), MPI_ERR_ARG,
          "array_of_psizes[1] is 2 with MPI_DISTRIBUTE_NONE");
  refuses(part(4, 0, {block, 5}, {unset, unset}, {2, 2}), MPI_ERR_ARG, "array_of_distribs[1] is 5");
  refuses(part(4, 0, {block, cyclic}, {unset, 0}, {2, 2}), MPI_ERR_ARG, "array_of_dargs[1] is 0");
  refuses(part(4, 0, {block, block}, {unset, 2}, {2, 2}), MPI_ERR_ARG,
          "2 blocks do not cover 5 elements");
  refuses(part(4, 0, {block, block}, {unset, unset}, {2, 2}, 3), MPI_ERR_ARG, "order is 3");
}

// ---- Markers ------------------------------------------------------------------------------------

/// A struct of one element each.
Type struct_of(const std::vector<MPI_Aint>& displs, const std::vector<Type>& types) {
  const std::vector<int> lengths(displs.size(), 1);
  Type type;
  EXPECT_TRUE(make_struct(false, static_cast<int64_t>(displs.size()), lengths.data(), displs.data(),
                          types, &type)
                  .ok());
  return type;
}

TEST_F(Constructors, MarkersWinOverData) {
  const Type lb = type_of(MPI_LB), ub = type_of(MPI_UB);
  Type type = struct_of({-3, 0, 6}, {lb, int_, ub});  // the example of MPI-4.0 section 5.1.7
  EXPECT_EQ(type.lb(), -3);
  EXPECT_EQ(type.extent(), 9);
  EXPECT_EQ(type.size(), 4);
  Type two;
  ASSERT_TRUE(make_contiguous(false, 2, type, &two).ok());
  EXPECT_EQ(two.lb(), -3);
  EXPECT_EQ(two.extent(), 18);
  EXPECT_EQ(two.true_lb(), 0);
  EXPECT_EQ(two.true_extent(), 13);
  // Markers of inner types stay, whatever else a type has.
  type = struct_of({0, 100}, {type, byte_});
  EXPECT_EQ(type.lb(), -3);
  EXPECT_EQ(type.extent(), 9);
  EXPECT_EQ(type.true_extent(), 101);
  // Resizing erases them.
  ASSERT_TRUE(make_resized(false, 2, -5, type, &two).ok());
  EXPECT_EQ(two.lb(), 2);
  EXPECT_EQ(two.extent(), -5);
}

TEST_F(Constructors, AMarkerOfOneBoundIsAnEntryForTheOther) {
  const Type lb = type_of(MPI_LB), ub = type_of(MPI_UB);
  const Type only_lb = struct_of({8}, {lb}), only_ub = struct_of({8}, {ub});
  for (const Type* type : {&only_lb, &only_ub}) {
    EXPECT_EQ(type->lb(), 8);
    EXPECT_EQ(type->extent(), 0);
    EXPECT_EQ(type->size(), 0);
  }
  const Type behind = struct_of({100, 0}, {lb, int_}), before = struct_of({-8, 0}, {ub, int_});
  EXPECT_EQ(behind.lb(), 100);
  EXPECT_EQ(behind.extent(), 0);
  EXPECT_EQ(before.lb(), -8);
  EXPECT_EQ(before.extent(), 0);
  const Type one = struct_of({1, 0}, {lb, type_of(MPI_DOUBLE)});  // padded from the marker on
  EXPECT_EQ(one.lb(), 1);
  EXPECT_EQ(one.extent(), 8);
}

TEST_F(Constructors, StructsAreAlignedByTheirData) {
  const Type real = type_of(MPI_DOUBLE), pair = type_of(MPI_LONG_DOUBLE_INT),
             quad = type_of(MPI_REAL16);
  EXPECT_EQ(struct_of({0, 8}, {real, byte_}).extent(), 16);
  EXPECT_EQ(struct_of({0, 4}, {int_, byte_}).extent(), 8);
  EXPECT_EQ(struct_of({0, 32}, {pair, byte_}).extent(), 48);
  EXPECT_EQ(struct_of({0, 16}, {quad, byte_}).extent(), 32);
  EXPECT_EQ(struct_of({3, 0}, {byte_, byte_}).extent(), 4);
  Type complex, none, row, packed;
  ASSERT_TRUE(make_f90_complex(15, 307, &complex).ok());
  EXPECT_EQ(struct_of({0, 16}, {complex, byte_}).extent(), 24);
  ASSERT_TRUE(make_contiguous(false, 0, real, &none).ok());
  EXPECT_EQ(struct_of({0, 0}, {none, byte_}).extent(), 1);
  ASSERT_TRUE(make_vector(false, 2, 1, 2, real, &row).ok());  // derived types keep the alignment
  EXPECT_EQ(struct_of({0, 24}, {row, byte_}).extent(), 32);
  ASSERT_TRUE(make_resized(false, 0, 9, struct_of({0, 8}, {real, byte_}), &packed).ok());
  EXPECT_EQ(packed.extent(), 9);
  EXPECT_EQ(struct_of({0, 9}, {packed, byte_}).extent(), 9);  // marked: not padded
  const int lengths[] = {0, 1};
  const MPI_Aint displs[] = {0, 0};
  ASSERT_TRUE(make_struct(false, 2, lengths, displs, {real, byte_}, &packed).ok());
  EXPECT_EQ(packed.extent(), 1);
}

// ---- Types of a precision, and of a size --------------------------------------------------------

using ConstructorsWithHost = host::WithHost;

int class_of(int code) {
  int error_class = MPI_SUCCESS;
  host::api().Error_class(code, &error_class);
  return error_class;
}

/// Compares a type of a precision with the host's. This library has the kinds of gfortran. Version 4
/// of the host has none of 16 bytes: real(10), real(16), integer(16). Version 5 has a real of 2
/// bytes, which gfortran does not have.
void compare_precision(int code, MPI_Datatype by_host, const Status& status, const Type& ours,
                       std::string_view what, int p, int r) {
  SCOPED_TRACE(testing::Message() << what << ' ' << p << ' ' << r << ' ' << status.what());
  const bool host_5 = test::is_host_5();
  const bool of_host_5 = status.ok() && ours.size() == (what == "complex" ? 32 : 16);
  EXPECT_EQ(code == MPI_SUCCESS, status.ok() && (host_5 || !of_host_5));
  if (!status.ok()) return;
  int size;
  if (code == MPI_SUCCESS) {
    ASSERT_EQ(host::api().Type_size(by_host, &size), MPI_SUCCESS);
    EXPECT_EQ(ours.size(), host_5 && size == 2 && what == "real" ? 4 : size);
  }
  EXPECT_EQ(ours.extent(), ours.size());
  EXPECT_TRUE(ours.contiguous());
  EXPECT_TRUE(ours.derived()->permanent());
  const auto given = p == -1 ? std::vector<int64_t>{r} : std::vector<int64_t>{p, r};
  EXPECT_TRUE(ours.derived()->contents.integers == NumberList(std::span<const int64_t>(given)));
  std::string reason;
  EXPECT_TRUE(ours.derived()->validate(&reason)) << reason;
}

// Not more than 64 different ones: the host has no room for others.
TEST_F(ConstructorsWithHost, TypesOfAPrecisionAreTheHosts) {
  const host::Api& h = host::api();
  constexpr int kNone = MPI_UNDEFINED;
  const int given[][2] = {{kNone, 0},    {kNone, 37},   {kNone, 38}, {kNone, 307}, {kNone, 308},
                          {kNone, 4931}, {kNone, 4932}, {0, kNone},  {6, kNone},   {7, kNone},
                          {15, kNone},   {16, kNone},   {18, kNone}, {19, kNone},  {33, kNone},
                          {34, kNone},   {6, 37},       {7, 37},     {6, 38},      {15, 307},
                          {16, 307},     {15, 308},     {18, 4931},  {19, 4931},   {33, 4931},
                          {33, 4932},    {34, 1}};
  for (const auto& [p, r] : given) {
    MPI_Datatype real, complex;
    Type ours;
    int code = h.Type_create_f90_real(p, r, &real);
    compare_precision(code, real, make_f90_real(p, r, &ours), ours, "real", p, r);
    if (p == 0 || r == 0) continue;
    code = h.Type_create_f90_complex(p, r, &complex);
    compare_precision(code, complex, make_f90_complex(p, r, &ours), ours, "complex", p, r);
  }
  for (int r : {0, 2, 3, 4, 5, 9, 10, 18, 19, 38, 39}) {
    MPI_Datatype integer;
    Type ours;
    const int code = h.Type_create_f90_integer(r, &integer);
    compare_precision(code, integer, make_f90_integer(r, &ours), ours, "integer", -1, r);
  }
  // The host makes a real of 4 bytes where neither is given; the standard, as Fortran, wants one of
  // them.
  Type ours;
  EXPECT_EQ(make_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &ours).error_class(), MPI_ERR_ARG);
  EXPECT_EQ(make_f90_complex(MPI_UNDEFINED, MPI_UNDEFINED, &ours).error_class(), MPI_ERR_ARG);
}

/// Version 4 of the host has no integer of 16 bytes. Version 5 has a real of 2 bytes, for which
/// gfortran has no kind.
TEST_F(ConstructorsWithHost, TypesOfASizeAreTheHosts) {
  const bool host_5 = test::is_host_5();
  for (int type_class : {MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_REAL, MPI_TYPECLASS_COMPLEX, 77})
    for (int size = -1; size <= 40; ++size) {
      MPI_Datatype by_host = MPI_DATATYPE_NULL, ours = MPI_DATATYPE_NULL;
      const int code = host::api().Type_match_size(type_class, size, &by_host);
      const Status status = match_size(type_class, size, &ours);
      if (type_class == MPI_TYPECLASS_INTEGER && size == 16 && !host_5) {
        EXPECT_NE(code, MPI_SUCCESS);
        EXPECT_EQ(ours, MPI_INTEGER16);
        continue;
      }
      const bool of_real_2 = (type_class == MPI_TYPECLASS_REAL && size == 2) ||
                             (type_class == MPI_TYPECLASS_COMPLEX && size == 4);
      EXPECT_EQ(code == MPI_SUCCESS, status.ok() || (of_real_2 && host_5))
          << type_class << ' ' << size << ' ' << status.what();
      if (of_real_2 && host_5) continue;
      if (code != MPI_SUCCESS) {
        EXPECT_EQ(status.error_class(), class_of(code)) << size;
        continue;
      }
      EXPECT_EQ(type_of(ours).size(), size);
      int host_size;
      ASSERT_EQ(host::api().Type_size(by_host, &host_size), MPI_SUCCESS);
      EXPECT_EQ(host_size, size);
      const BasicType *a = basic_type(ours), *b = basic_type(by_host);
      ASSERT_TRUE(a && b);
      EXPECT_EQ(a->kind, b->kind) << a->name << ' ' << b->name;
    }
}

}  // namespace
}  // namespace fgmpi::datatype
