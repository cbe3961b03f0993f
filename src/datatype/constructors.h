// The constructors of datatypes (MPI-4.0 section 5.1): each checks its arguments and finds or makes
// the object.
//
// Errors name the argument: MPI_ERR_ARG for lengths, sizes and distributions that make no type, and
// where a bound or the bytes of an element need more than 63 bits. `large`: a large-count call is
// made, which MPI_Type_get_contents tells.
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/status.h"
#include "datatype/datatype.h"

namespace fgmpi::datatype {

/// An argument that is an array of int or of 64-bit numbers.
class NumberArray {
 public:
  template <class T>
  NumberArray(const T* numbers) : at_(numbers), wide_(sizeof(T) == sizeof(int64_t)) {
    static_assert(std::is_integral_v<T> &&
                  (sizeof(T) == sizeof(int) || sizeof(T) == sizeof(int64_t)));
  }
  explicit operator bool() const { return at_ != nullptr; }
  int64_t operator[](int64_t i) const {
    return wide_ ? static_cast<const int64_t*>(at_)[i] : static_cast<const int*>(at_)[i];
  }

 private:
  const void* at_;
  bool wide_;
};

Status make_contiguous(bool large, int64_t count, const Type& old, Type* out);
/// `stride` in elements.
Status make_vector(bool large, int64_t count, int64_t length, int64_t stride, const Type& old,
                   Type* out);
/// `stride` in bytes.
Status make_hvector(bool large, int64_t count, int64_t length, int64_t stride, const Type& old,
                    Type* out);
/// `displs` in elements.
Status make_indexed(bool large, int64_t count, NumberArray lengths, NumberArray displs,
                    const Type& old, Type* out);
/// `displs` in bytes.
Status make_hindexed(bool large, int64_t count, NumberArray lengths, NumberArray displs,
                     const Type& old, Type* out);
Status make_indexed_block(bool large, int64_t count, int64_t length, NumberArray displs,
                          const Type& old, Type* out);
Status make_hindexed_block(bool large, int64_t count, int64_t length, NumberArray displs,
                           const Type& old, Type* out);
/// `displs` in bytes.
Status make_struct(bool large, int64_t count, NumberArray lengths, NumberArray displs,
                   const std::vector<Type>& types, Type* out);
Status make_resized(bool large, int64_t lb, int64_t extent, const Type& old, Type* out);
Status make_duplicate(const Type& old, Type* out);

/// The arguments of MPI_Type_create_subarray.
struct SubarrayArguments {
  int dims;
  NumberArray sizes, subsizes, starts;
  int order;
};
Status make_subarray(bool large, const SubarrayArguments& arguments, const Type& old, Type* out);

/// The arguments of MPI_Type_create_darray.
struct DarrayArguments {
  int size, rank, dims;
  NumberArray sizes;
  const int *distributions, *arguments, *processes;
  int order;
};
Status make_darray(bool large, const DarrayArguments& arguments, const Type& old, Type* out);

/// Makes a type of a precision. `precision`, `range`: decimal digits and exponent, or
/// MPI_UNDEFINED.
Status make_f90_real(int precision, int range, Type* out);
Status make_f90_complex(int precision, int range, Type* out);
Status make_f90_integer(int range, Type* out);
/// The predefined type of a class and a size. Errors: MPI_ERR_ARG when there is none.
Status match_size(int type_class, int size, MPI_Datatype* out);

}  // namespace fgmpi::datatype
