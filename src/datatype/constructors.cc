// The checks of constructors' arguments, and the contents of what they make.

#include "datatype/constructors.h"

#include <utility>

#include "datatype/basic_type.h"

namespace fgmpi::datatype {
namespace {

using NumberVector = std::vector<int64_t>;

/// Finds or makes the object of the contents. `values`: as DerivedType says.
Status make(int combiner, NumberList integers, NumberList addresses, NumberList counts,
            std::vector<Type> types, Type* out, MPI_Datatype values = MPI_DATATYPE_NULL) {
  TypeContents contents;
  contents.combiner = combiner;
  contents.integers = std::move(integers);
  contents.addresses = std::move(addresses);
  contents.counts = std::move(counts);
  contents.types = std::move(types);
  return find_or_make(std::move(contents), values, out);
}
/// Makes a type whose arguments are counts alone.
Status make_of_counts(bool large, int combiner, NumberList numbers, const Type& old, Type* out) {
  return large ? make(combiner, {}, {}, std::move(numbers), {old}, out)
               : make(combiner, std::move(numbers), {}, {}, {old}, out);
}

Status negative(const char* argument, int64_t value) {
  return error(MPI_ERR_ARG, "%s is %lld; allowed is 0 or more", argument,
               static_cast<long long>(value));
}
Status check_array(const char* argument, NumberArray numbers, int64_t count) {
  if (numbers || count == 0) return {};
  return error(MPI_ERR_ARG, "%s is a null pointer; allowed is an array of %lld numbers", argument,
               static_cast<long long>(count));
}
void append(NumberVector* to, NumberArray numbers, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to->push_back(numbers[i]);
}
/// Appends block lengths, which it checks.
Status append_lengths(NumberVector* to, NumberArray lengths, int64_t count) {
  FGMPI_TRY(check_array("array_of_blocklengths", lengths, count));
  for (int64_t i = 0; i < count; ++i) {
    if (lengths[i] < 0)
      return error(MPI_ERR_ARG, "array_of_blocklengths[%lld] is %lld; allowed is 0 or more",
                   static_cast<long long>(i), static_cast<long long>(lengths[i]));
    to->push_back(lengths[i]);
  }
  return {};
}

/// Makes a type of blocks at listed places. `numbers`: its arguments before the displacements.
Status make_listed(bool large, int combiner, NumberVector numbers, int64_t count,
                   NumberArray displs, std::vector<Type> types, Type* out) {
  FGMPI_TRY(check_array("array_of_displacements", displs, count));
  const bool in_bytes = combiner != MPI_COMBINER_INDEXED && combiner != MPI_COMBINER_INDEXED_BLOCK;
  NumberVector addresses;
  append(in_bytes && !large ? &addresses : &numbers, displs, count);
  NumberList list{std::span<const int64_t>(numbers)};
  return make(combiner, large ? NumberList() : std::move(list),
              NumberList(std::span<const int64_t>(addresses)),
              large ? std::move(list) : NumberList(), std::move(types), out);
}

/// Makes a type of blocks of listed lengths.
Status make_of_lengths(bool large, int combiner, int64_t count, NumberArray lengths,
                       NumberArray displs, std::vector<Type> types, Type* out) {
  NumberVector numbers{count};
  FGMPI_TRY(append_lengths(&numbers, lengths, count));
  return make_listed(large, combiner, std::move(numbers), count, displs, std::move(types), out);
}

/// Makes a type of blocks of one length.
Status make_of_equal_blocks(bool large, int combiner, int64_t count, int64_t length,
                            NumberArray displs, const Type& old, Type* out) {
  if (length < 0) return negative("blocklength", length);
  return make_listed(large, combiner, {count, length}, count, displs, {old}, out);
}

}  // namespace

Status make_contiguous(bool large, int64_t count, const Type& old, Type* out) {
  return make_of_counts(large, MPI_COMBINER_CONTIGUOUS, {count}, old, out);
}

Status make_vector(bool large, int64_t count, int64_t length, int64_t stride, const Type& old,
                   Type* out) {
  if (length < 0) return negative("blocklength", length);
  return make_of_counts(large, MPI_COMBINER_VECTOR, {count, length, stride}, old, out);
}

Status make_hvector(bool large, int64_t count, int64_t length, int64_t stride, const Type& old,
                    Type* out) {
  if (length < 0) return negative("blocklength", length);
  if (large) return make(MPI_COMBINER_HVECTOR, {}, {}, {count, length, stride}, {old}, out);
  return make(MPI_COMBINER_HVECTOR, {count, length}, {stride}, {}, {old}, out);
}

Status make_indexed(bool large, int64_t count, NumberArray lengths, NumberArray displs,
                    const Type& old, Type* out) {
  return make_of_lengths(large, MPI_COMBINER_INDEXED, count, lengths, displs, {old}, out);
}

Status make_hindexed(bool large, int64_t count, NumberArray lengths, NumberArray displs,
                     const Type& old, Type* out) {
  return make_of_lengths(large, MPI_COMBINER_HINDEXED, count, lengths, displs, {old}, out);
}

Status make_struct(bool large, int64_t count, NumberArray lengths, NumberArray displs,
                   const std::vector<Type>& types, Type* out) {
  return make_of_lengths(large, MPI_COMBINER_STRUCT, count, lengths, displs, types, out);
}

Status make_indexed_block(bool large, int64_t count, int64_t length, NumberArray displs,
                          const Type& old, Type* out) {
  return make_of_equal_blocks(large, MPI_COMBINER_INDEXED_BLOCK, count, length, displs, old, out);
}

Status make_hindexed_block(bool large, int64_t count, int64_t length, NumberArray displs,
                           const Type& old, Type* out) {
  return make_of_equal_blocks(large, MPI_COMBINER_HINDEXED_BLOCK, count, length, displs, old, out);
}

Status make_resized(bool large, int64_t lb, int64_t extent, const Type& old, Type* out) {
  NumberList bounds{lb, extent};
  return large ? make(MPI_COMBINER_RESIZED, {}, {}, std::move(bounds), {old}, out)
               : make(MPI_COMBINER_RESIZED, {}, std::move(bounds), {}, {old}, out);
}

Status make_duplicate(const Type& old, Type* out) {
  return make(MPI_COMBINER_DUP, {}, {}, {}, {old}, out);
}

// ---- Arrays -------------------------------------------------------------------------------------

namespace {

Status check_dims(int dims) {
  if (dims > 0) return {};
  return error(MPI_ERR_DIMS, "ndims is %d; allowed is 1 or more", dims);
}
Status check_order(int order) {
  if (order == MPI_ORDER_C || order == MPI_ORDER_FORTRAN) return {};
  return error(MPI_ERR_ARG, "order is %d; allowed are MPI_ORDER_C and MPI_ORDER_FORTRAN", order);
}
Status bad_dimension(const char* argument, int d, int64_t value, int64_t least, int64_t most) {
  return error(MPI_ERR_ARG, "%s[%d] is %lld; allowed is %lld to %lld", argument, d,
               static_cast<long long>(value), static_cast<long long>(least),
               static_cast<long long>(most));
}

}  // namespace

Status make_subarray(bool large, const SubarrayArguments& a, const Type& old, Type* out) {
  FGMPI_TRY(check_dims(a.dims));
  FGMPI_TRY(check_array("array_of_sizes", a.sizes, a.dims));
  FGMPI_TRY(check_array("array_of_subsizes", a.subsizes, a.dims));
  FGMPI_TRY(check_array("array_of_starts", a.starts, a.dims));
  for (int d = 0; d < a.dims; ++d) {
    const int64_t size = a.sizes[d], part = a.subsizes[d];
    if (size < 1)
      return error(MPI_ERR_ARG, "array_of_sizes[%d] is %lld; allowed is 1 or more", d,
                   static_cast<long long>(size));
    if (part < 1 || part > size) return bad_dimension("array_of_subsizes", d, part, 1, size);
    if (a.starts[d] < 0 || a.starts[d] > size - part)
      return bad_dimension("array_of_starts", d, a.starts[d], 0, size - part);
  }
  FGMPI_TRY(check_order(a.order));
  NumberVector integers{a.dims}, numbers;
  for (NumberArray array : {a.sizes, a.subsizes, a.starts})
    append(large ? &numbers : &integers, array, a.dims);
  integers.push_back(a.order);
  return make(MPI_COMBINER_SUBARRAY, NumberList(std::span<const int64_t>(integers)), {},
              NumberList(std::span<const int64_t>(numbers)), {old}, out);
}

namespace {

Status check_distribution(const DarrayArguments& a, int d, int64_t* processes) {
  const int kind = a.distributions[d], argument = a.arguments[d], in_dim = a.processes[d];
  if (a.sizes[d] < 1)
    return error(MPI_ERR_ARG, "array_of_gsizes[%d] is %lld; allowed is 1 or more", d,
                 static_cast<long long>(a.sizes[d]));
  if (in_dim < 1 || in_dim > a.size) return bad_dimension("array_of_psizes", d, in_dim, 1, a.size);
  *processes *= in_dim;
  if (kind == MPI_DISTRIBUTE_NONE) {
    if (in_dim == 1) return {};
    return error(MPI_ERR_ARG, "array_of_psizes[%d] is %d with MPI_DISTRIBUTE_NONE; allowed is 1", d,
                 in_dim);
  }
  if (kind != MPI_DISTRIBUTE_BLOCK && kind != MPI_DISTRIBUTE_CYCLIC)
    return error(MPI_ERR_ARG,
                 "array_of_distribs[%d] is %d; allowed are MPI_DISTRIBUTE_BLOCK, "
                 "MPI_DISTRIBUTE_CYCLIC and MPI_DISTRIBUTE_NONE",
                 d, kind);
  if (argument == MPI_DISTRIBUTE_DFLT_DARG) return {};
  if (argument < 1)
    return error(MPI_ERR_ARG,
                 "array_of_dargs[%d] is %d; allowed are MPI_DISTRIBUTE_DFLT_DARG and 1 or more", d,
                 argument);
  if (kind == MPI_DISTRIBUTE_BLOCK && int64_t{argument} * in_dim < a.sizes[d])
    return error(MPI_ERR_ARG,
                 "array_of_dargs[%d] is %d, so that %d blocks do not cover %lld elements; allowed "
                 "are blocks that do",
                 d, argument, in_dim, static_cast<long long>(a.sizes[d]));
  return {};
}

}  // namespace

Status make_darray(bool large, const DarrayArguments& a, const Type& old, Type* out) {
  if (a.size < 1) return error(MPI_ERR_ARG, "size is %d; allowed is 1 or more", a.size);
  if (a.rank < 0 || a.rank >= a.size)
    return error(MPI_ERR_RANK, "rank is %d; allowed is 0 to %d", a.rank, a.size - 1);
  FGMPI_TRY(check_dims(a.dims));
  FGMPI_TRY(check_array("array_of_gsizes", a.sizes, a.dims));
  FGMPI_TRY(check_array("array_of_distribs", a.distributions, a.dims));
  FGMPI_TRY(check_array("array_of_dargs", a.arguments, a.dims));
  FGMPI_TRY(check_array("array_of_psizes", a.processes, a.dims));
  int64_t processes = 1;
  for (int d = 0; d < a.dims && processes <= a.size; ++d)
    FGMPI_TRY(check_distribution(a, d, &processes));
  if (processes != a.size)
    return error(MPI_ERR_ARG,
                 "array_of_psizes makes a grid of other than size (%d) processes; allowed are "
                 "numbers whose product is size",
                 a.size);
  FGMPI_TRY(check_order(a.order));
  NumberVector integers{a.size, a.rank, a.dims}, counts;
  append(large ? &counts : &integers, a.sizes, a.dims);
  for (const int* array : {a.distributions, a.arguments, a.processes})
    append(&integers, array, a.dims);
  integers.push_back(a.order);
  return make(MPI_COMBINER_DARRAY, NumberList(std::span<const int64_t>(integers)), {},
              NumberList(std::span<const int64_t>(counts)), {old}, out);
}

// ---- Types of a precision -----------------------------------------------------------------------

namespace {

/// What a Fortran kind can hold: significant decimal digits, greatest decimal exponent. The kinds
/// are gfortran's. On x86-64, real(10) is the x87 format in 16 bytes, as C's long double; on 64-bit
/// Arm, it does not exist, and long double is what real(16) is.
struct F90Kind {
  int precision, range;
  MPI_Datatype type;
};
constexpr F90Kind kReals[] = {
    {6, 37, MPI_REAL4}, {15, 307, MPI_REAL8}, {18, 4931, MPI_LONG_DOUBLE}, {33, 4931, MPI_REAL16}};
constexpr F90Kind kComplexes[] = {{6, 37, MPI_COMPLEX8},
                                  {15, 307, MPI_COMPLEX16},
                                  {18, 4931, MPI_C_LONG_DOUBLE_COMPLEX},
                                  {33, 4931, MPI_COMPLEX32}};
constexpr F90Kind kIntegers[] = {{0, 2, MPI_INTEGER1},
                                 {0, 4, MPI_INTEGER2},
                                 {0, 9, MPI_INTEGER4},
                                 {0, 18, MPI_INTEGER8},
                                 {0, 38, MPI_INTEGER16}};

template <size_t n>
Status make_floating(int combiner, const F90Kind (&kinds)[n], int precision, int range, Type* out) {
  if (precision == MPI_UNDEFINED && range == MPI_UNDEFINED)
    return error(MPI_ERR_ARG, "p and r are MPI_UNDEFINED; allowed is that for one of them");
  for (const F90Kind& kind : kinds)
    if ((precision == MPI_UNDEFINED || precision <= kind.precision) &&
        (range == MPI_UNDEFINED || range <= kind.range))
      return make(combiner, {precision, range}, {}, {}, {}, out, kind.type);
  return error(MPI_ERR_ARG, "p is %d and r is %d; allowed are at most %d and %d", precision, range,
               kinds[n - 1].precision, kinds[n - 1].range);
}

}  // namespace

Status make_f90_real(int precision, int range, Type* out) {
  return make_floating(MPI_COMBINER_F90_REAL, kReals, precision, range, out);
}
Status make_f90_complex(int precision, int range, Type* out) {
  return make_floating(MPI_COMBINER_F90_COMPLEX, kComplexes, precision, range, out);
}
Status make_f90_integer(int range, Type* out) {
  for (const F90Kind& kind : kIntegers)
    if (range <= kind.range)
      return make(MPI_COMBINER_F90_INTEGER, {range}, {}, {}, {}, out, kind.type);
  return error(MPI_ERR_ARG, "r is %d; allowed is at most %d", range, std::end(kIntegers)[-1].range);
}

Status match_size(int type_class, int size, MPI_Datatype* out) {
  int combiner;
  switch (type_class) {
    case MPI_TYPECLASS_INTEGER:
      combiner = MPI_COMBINER_F90_INTEGER;
      break;
    case MPI_TYPECLASS_REAL:
      combiner = MPI_COMBINER_F90_REAL;
      break;
    case MPI_TYPECLASS_COMPLEX:
      combiner = MPI_COMBINER_F90_COMPLEX;
      break;
    default:
      return error(MPI_ERR_ARG,
                   "typeclass is %d; allowed are MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_REAL and "
                   "MPI_TYPECLASS_COMPLEX",
                   type_class);
  }
  *out = type_of_precision(combiner, size);
  if (*out != MPI_DATATYPE_NULL) return {};
  return error(MPI_ERR_ARG, "size is %d; allowed are the sizes of the types of typeclass", size);
}

}  // namespace fgmpi::datatype
