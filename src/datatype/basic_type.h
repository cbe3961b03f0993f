// The predefined ("basic") datatypes: their handles, names, and the operations that are defined
// on them.
#pragma once

#include <mpi.h>

#include <complex>
#include <cstdint>

#include "base/processor.h"
#include "datatype/half.h"
#include "datatype/later_types.h"
#include "host/handle_bits.h"

namespace fgmpi::datatype {

/// The kind of a type's values decides which operations are defined on it (MPI-4.0 section 6.9.2).
enum class BasicKind : uint8_t {
  kOpaque,   ///< none: MPI_WCHAR, MPI_PACKED
  kInteger,  ///< all but MINLOC, MAXLOC
  kFloat,    ///< MAX, MIN, SUM, PROD, and, as in MPICH, LAND, LOR, LXOR
  kComplex,  ///< SUM, PROD
  kLogical,  ///< LAND, LOR, LXOR
  kBytes,    ///< BAND, BOR, BXOR
  kPair,     ///< MINLOC, MAXLOC
};

/// The element of MPI_INTEGER16 and MPI_LOGICAL16.
__extension__ using Integer16 = __int128;

/// The element of MPI_2INT, MPI_FLOAT_INT, ...: a value and its index.
template <class V, class I = V>
struct PairOf {
  V value;
  I index;
};

struct BasicType {
  const char* name = nullptr;
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  BasicKind kind = BasicKind::kOpaque;
  int alignment = 1;  ///< in C or Fortran
};

/// The predefined type with this handle, MPI_FLOAT_INT and its like included; nullptr for any
/// other.
const BasicType* basic_type(MPI_Datatype handle);

class Type;

/// The predefined type whose values an element holds: the type itself where it is predefined, the
/// one of its kind for a type of MPI_Type_create_f90_integer or a similar call. MPI_DATATYPE_NULL
/// for types that programs construct, also for duplicates of predefined ones: no predefined
/// reduction is defined on them (MPI-4.0 section 6.9.2).
MPI_Datatype values_of(const Type& type);

/// The predefined type with the values of a type that MPI_Type_create_f90_integer, _real or
/// _complex has made, by its combiner and its bytes; MPI_DATATYPE_NULL for all other combiners and
/// sizes.
MPI_Datatype type_of_precision(int combiner, int64_t bytes);

/// An index for MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_SHORT_INT and MPI_LONG_DOUBLE_INT:
/// 0 to 4, in this order; kPairTypes or more for all other handles.
inline constexpr uint32_t kPairTypes = 5;
inline uint32_t pair_index(MPI_Datatype handle) {
  return static_cast<uint32_t>(handle) - static_cast<uint32_t>(MPI_FLOAT_INT);
}

/// The combiner of pairs without a name (value_index.h). mpi.h has it from MPICH 4.2 on.
inline constexpr int kCombinerValueIndex = 20;

inline constexpr uint32_t kValueIndexHandles = 1 << 16;
inline constexpr uint32_t kFirstValueIndex =
    host::handle_base(host::HandleKind::kDirect, host::HandleObject::kDatatype) +
    host::kHandleIndexMask + 1 - kValueIndexHandles;

/// Whether a handle is in the range of pairs without a name.
inline bool is_value_index(MPI_Datatype handle) {
  return static_cast<uint32_t>(handle) - kFirstValueIndex < kValueIndexHandles;
}

}  // namespace fgmpi::datatype
