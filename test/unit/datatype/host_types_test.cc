// Makes random types by the host as well, and compares. The host (MPICH 4.0.2) is the measure of
// nothing: where it differs from MPI-4.0 section 5.1, this library follows the text. These are the
// differences:
//
//   markers     The host forgets MPI_LB, MPI_UB and the bounds of resized types and arrays where a
//               struct has them beside other members: a type map keeps its markers, and they win
//               over data.
//   no data     It gives bounds, also true ones, to types and blocks without data: an empty type
//               map has none.
//   alignment   It aligns MPI_REAL16 to 1 byte: gfortran aligns it to 16.
//   one type    It does not pad a struct all of whose members have the same type, or the same basic
//               type: the text pads any.
//   x87         It moves the 10 bytes of a long double that carry the value; this library moves all
//               16. From 5.0 on it takes MPI_REAL16 and MPI_COMPLEX32 for long doubles, too, and
//               loses 6 bytes of each real(16).
//   packing     Before 4.2.1, it loses the last bytes of types with high handles.
//   backward    From 5.0 on it packs several elements of a contiguous type of elements with a
//               negative extent as one longer type: elements are to lie an extent apart.
//   darray      Its true bounds are too wide where a process has a part of a block of a cyclic
//               distribution.
#include <algorithm>
#include <functional>
#include <vector>

#include "datatype/copy.h"
#include "host_types.h"
#include "random_types.h"

namespace fgmpi::datatype {
namespace {

using test::expand;
using test::leaf_type;
using test::RandomTypes;
using test::RecipePtr;
using test::TypeRecipe;

template <class Is>
bool has(const TypeRecipe& r, Is is) {
  return is(r) || std::any_of(r.inner.begin(), r.inner.end(),
                              [&](const RecipePtr& inner) { return has(*inner, is); });
}
bool marks(const TypeRecipe& r) {
  return r.leaf == MPI_LB || r.leaf == MPI_UB || r.combiner == MPI_COMBINER_RESIZED ||
         r.combiner == MPI_COMBINER_SUBARRAY || r.combiner == MPI_COMBINER_DARRAY;
}
bool is_empty(const TypeRecipe& r) { return expand(r).bytes().empty(); }
/// True for a struct whose bounds or padding the host computes otherwise.
bool is_other_struct(const TypeRecipe& r) {
  if (r.combiner != MPI_COMBINER_STRUCT) return false;
  if (has(r, marks) || has(r, [](const TypeRecipe& i) { return i.leaf == MPI_REAL16; }))
    return true;
  std::vector<MPI_Datatype> handles;
  for (size_t i = 0; i < r.inner.size(); ++i)
    if (r.lengths[i] > 0) handles.push_back(r.inner[i]->host);
  if (std::adjacent_find(handles.begin(), handles.end(), std::not_equal_to<>()) == handles.end())
    return true;
  const std::vector<MPI_Datatype> types = expand(r).signature();
  return std::all_of(types.begin(), types.end(), [&](MPI_Datatype type) {
    return leaf_type(type).extent == leaf_type(types[0]).extent &&
           leaf_type(type).alignment == leaf_type(types[0]).alignment;
  });
}
bool is_cut_darray(const TypeRecipe& r) {
  for (size_t d = 0; r.combiner == MPI_COMBINER_DARRAY && d < r.sizes.size(); ++d)
    if (r.distributions[d] == MPI_DISTRIBUTE_CYCLIC && r.arguments[d] > 1) return true;
  return false;
}

bool is_backward(const TypeRecipe& r) {
  return r.combiner == MPI_COMBINER_CONTIGUOUS && expand(*r.inner[0]).extent() < 0;
}
bool is_long_double(const TypeRecipe& r) {
  const bool of_16_bytes = r.leaf == MPI_REAL16 || r.leaf == MPI_COMPLEX32;
  return r.leaf == MPI_LONG_DOUBLE || r.leaf == MPI_LONG_DOUBLE_INT ||
         (of_16_bytes && test::is_host_5());
}

class TypesWithHost : public host::WithHost {
 protected:
  const host::Api& h() { return host::api(); }
  /// Calls f(recipe) for many types, which the host has made and committed.
  template <class F>
  void for_each_type(uint64_t seed, int rounds, F f) {
    RandomTypes random(seed, &h());
    for (int round = 0; round < rounds; ++round) {
      const RecipePtr recipe = random.make(1 + round % 4, round % 3 > 0);
      SCOPED_TRACE(testing::Message() << "round " << round << " " << test::describe(*recipe));
      ASSERT_EQ(h().Type_commit(&recipe->host), MPI_SUCCESS);
      f(&random, *recipe);
      if (HasFailure()) return;
      random.free_host_types();
    }
  }
};

// It is the first test, since the host's handles are low until a program has had many types at a
// time.
TEST_F(TypesWithHost, ArePackedAsByTheHost) {
  int64_t packed_bytes = 0;
  for_each_type(23, 3000, [&](RandomTypes* random, const TypeRecipe& r) {
    const std::vector<int64_t> bytes = expand(r).bytes();
    const int64_t count = random->pick(0, 3), size = static_cast<int64_t>(bytes.size());
    if (r.host >> 8 & 0xff) return;  // a high handle
    if (has(r, is_long_double)) return;
    // The host's extent may differ, so that elements beyond the first lie elsewhere.
    MPI_Count lb, extent;
    ASSERT_EQ(h().Type_get_extent_x(r.host, &lb, &extent), MPI_SUCCESS);
    const int64_t elements = extent == r.made.extent() ? count : std::min<int64_t>(count, 1);
    if (has(r, is_other_struct) || has(r, is_empty)) return;
    if (test::is_host_5() && has(r, is_backward)) return;
    int64_t low = 0, high = 0;
    for (int64_t e = 0; e < elements; ++e)
      for (int64_t b : bytes) {
        low = std::min<int64_t>(low, e * extent + b);
        high = std::max<int64_t>(high, e * extent + b + 1);
      }
    std::vector<char> memory(static_cast<size_t>(high - low) + 1);
    for (char& byte : memory) byte = static_cast<char>(random->pick(0, 255));
    const char* address = memory.data() - low;
    std::vector<char> ours(static_cast<size_t>(elements * size) + 8, 'x'), theirs = ours;
    pack(address, elements, r.made, ours.data());
    int position = 0;
    ASSERT_EQ(h().Pack(address, static_cast<int>(elements), r.host, theirs.data(),
                       static_cast<int>(theirs.size()), &position, MPI_COMM_SELF),
              MPI_SUCCESS);
    EXPECT_EQ(position, elements * size);
    EXPECT_EQ(ours, theirs);
    packed_bytes += position;
  });
  EXPECT_GT(packed_bytes, 250'000);
}

TEST_F(TypesWithHost, HaveTheHostsBounds) {
  int compared = 0;
  for_each_type(21, 4000, [&](RandomTypes*, const TypeRecipe& r) {
    MPI_Count size, lb, extent, true_lb, true_extent;
    ASSERT_EQ(h().Type_size_x(r.host, &size), MPI_SUCCESS);
    ASSERT_EQ(h().Type_get_extent_x(r.host, &lb, &extent), MPI_SUCCESS);
    ASSERT_EQ(h().Type_get_true_extent_x(r.host, &true_lb, &true_extent), MPI_SUCCESS);
    EXPECT_EQ(r.made.size(), size);
    if (has(r, is_empty) || has(r, is_other_struct)) return;
    ++compared;
    EXPECT_EQ(r.made.lb(), lb);
    EXPECT_EQ(r.made.extent(), extent);
    if (has(r, is_cut_darray)) return;
    EXPECT_EQ(r.made.true_lb(), true_lb);
    EXPECT_EQ(r.made.true_extent(), true_extent);
  });
  EXPECT_GT(compared, 2000);
}

TEST_F(TypesWithHost, HaveTheHostsArguments) {
  for_each_type(22, 2000, [&](RandomTypes*, const TypeRecipe& r) {
    if (r.inner.empty() && r.combiner != MPI_COMBINER_STRUCT) return;
    MPI_Count n[4];
    int combiner;
    ASSERT_EQ(h().Type_get_envelope_c(r.host, &n[0], &n[1], &n[2], &n[3], &combiner), MPI_SUCCESS);
    const TypeContents& ours = r.made.derived()->contents;
    EXPECT_EQ(ours.combiner, combiner);
    EXPECT_EQ(ours.integers.size(), static_cast<uint64_t>(n[0]));
    EXPECT_EQ(ours.addresses.size(), static_cast<uint64_t>(n[1]));
    EXPECT_EQ(ours.counts.size(), static_cast<uint64_t>(n[2]));
    EXPECT_EQ(ours.types.size(), static_cast<uint64_t>(n[3]));
    if (HasFailure()) return;
    std::vector<int> integers(static_cast<size_t>(n[0]) + 1);
    std::vector<MPI_Aint> addresses(static_cast<size_t>(n[1]) + 1);
    std::vector<MPI_Count> counts(static_cast<size_t>(n[2]) + 1);
    std::vector<MPI_Datatype> types(static_cast<size_t>(n[3]) + 1);
    ASSERT_EQ(h().Type_get_contents_c(r.host, n[0], n[1], n[2], n[3], integers.data(),
                                      addresses.data(), counts.data(), types.data()),
              MPI_SUCCESS);
    for (uint64_t i = 0; i < ours.integers.size(); ++i) EXPECT_EQ(ours.integers[i], integers[i]);
    for (uint64_t i = 0; i < ours.addresses.size(); ++i) EXPECT_EQ(ours.addresses[i], addresses[i]);
    for (uint64_t i = 0; i < ours.counts.size(); ++i) EXPECT_EQ(ours.counts[i], counts[i]);
    for (size_t i = 0; i < r.inner.size(); ++i) {
      const TypeRecipe& inner = *r.inner[i];
      EXPECT_TRUE(inner.combiner != MPI_COMBINER_NAMED || types[i] == inner.leaf);
    }
  });
}

}  // namespace
}  // namespace fgmpi::datatype
