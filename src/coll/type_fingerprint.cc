// The number of a type signature, computed from the datatype's contents.

#include "coll/type_fingerprint.h"

#include "base/hash.h"
#include "datatype/basic_type.h"
#include "datatype/signature.h"

namespace fgmpi::coll {
namespace {

using datatype::Signature;

enum class Values : uint64_t { kAny = 0, kSigned, kUnsigned, kFloating, kComplex, kOther };

/// The kind of values that elements of a predefined type have.
Values values_of(MPI_Datatype type) {
  static constexpr MPI_Datatype kAlike[] = {MPI_BYTE, MPI_PACKED};
  static constexpr MPI_Datatype kSignedTypes[] = {
      MPI_SIGNED_CHAR, MPI_SHORT,    MPI_INT,       MPI_LONG,    MPI_LONG_LONG, MPI_INT8_T,
      MPI_INT16_T,     MPI_INT32_T,  MPI_INT64_T,   MPI_INTEGER, MPI_INTEGER1,  MPI_INTEGER2,
      MPI_INTEGER4,    MPI_INTEGER8, MPI_INTEGER16, MPI_AINT,    MPI_OFFSET,    MPI_COUNT};
  static constexpr MPI_Datatype kUnsignedTypes[] = {
      MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT,     MPI_UNSIGNED,
      MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T,
      MPI_UINT16_T,      MPI_UINT32_T,           MPI_UINT64_T};
  static constexpr MPI_Datatype kFloatingTypes[] = {
      MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_REAL,  MPI_DOUBLE_PRECISION,
      MPI_REAL4, MPI_REAL8,  MPI_REAL16,      MPI_REAL2, MPIX_C_FLOAT16};
  static constexpr MPI_Datatype kComplexTypes[] = {MPI_C_FLOAT_COMPLEX,
                                                   MPI_C_DOUBLE_COMPLEX,
                                                   MPI_C_LONG_DOUBLE_COMPLEX,
                                                   MPI_COMPLEX,
                                                   MPI_DOUBLE_COMPLEX,
                                                   MPI_COMPLEX8,
                                                   MPI_COMPLEX16,
                                                   MPI_CXX_FLOAT_COMPLEX,
                                                   MPI_CXX_DOUBLE_COMPLEX,
                                                   MPI_CXX_LONG_DOUBLE_COMPLEX};
  const auto is_in = [type](const auto& list) {
    for (MPI_Datatype one : list)
      if (one == type) return true;
    return false;
  };
  if (!datatype::is_basic(type) || is_in(kAlike))
    return Values::kAny;  // pairs consist of two values
  if (is_in(kSignedTypes)) return Values::kSigned;
  if (is_in(kUnsignedTypes)) return Values::kUnsigned;
  if (is_in(kFloatingTypes)) return Values::kFloating;
  return is_in(kComplexTypes) ? Values::kComplex : Values::kOther;
}

/// A number for a predefined type: 0 only if the type matches every other.
uint64_t number_of(MPI_Datatype type) {
  const Values values = values_of(type);
  if (values == Values::kAny) return 0;
  const auto of_others = values == Values::kOther ? static_cast<uint32_t>(type) : 0;
  return static_cast<uint64_t>(values) << 40 |
         static_cast<uint64_t>(datatype::basic_size(type)) << 32 | of_others;
}

/// A sequence of numbers as a polynomial modulo 2^64: x^n, and its value at x. Two sequences are
/// joined in one step, and n repetitions of one in log n steps.
struct Sequence {
  uint64_t power = 1, value = 0;
};
constexpr uint64_t kX = 0x9e3779b97f4a7c15;  // odd
Sequence joined(const Sequence& a, const Sequence& b) {
  return {a.power * b.power, a.value * b.power + b.value};
}
Sequence repeated(Sequence one, uint64_t times) {
  Sequence all;
  for (; times; times >>= 1, one = joined(one, one))
    if (times & 1) all = joined(all, one);
  return all;
}

class SequenceReader {
 public:
  Sequence read(const Signature& signature) {
    Sequence one;
    if (signature.inner.empty() && signature.type != MPI_DATATYPE_NULL) {
      const uint64_t number = number_of(signature.type);
      any |= number == 0;
      several |= element != 0 && element != number;
      element = number;
      one = {kX, mix(number)};
    }
    for (const Signature& inner : signature.inner) one = joined(one, read(inner));
    return repeated(one, static_cast<uint64_t>(signature.count));
  }
  bool any = false;  ///< true if some element matches every type
  /// True if elements have different types.
  bool several = false;
  uint64_t element = 0;
};

uint32_t short_of(uint64_t number) { return static_cast<uint32_t>(mix(number) >> 32) | 1; }

}  // namespace

uint32_t type_fingerprint(const datatype::Type& type, int64_t count) {
  if (type.basic() || type.size() == 0 || count == 0)
    return count == 0 ? 0 : type_fingerprint(type);
  const Signature signature = datatype::signature_of(type);
  SequenceReader reader;
  const Sequence one = reader.read(signature);
  if (reader.any || reader.element == 0) return 0;
  if (!reader.several) return short_of(reader.element);  // the bytes are compared as well
  return short_of(repeated(one, static_cast<uint64_t>(count)).value);
}

uint32_t type_fingerprint(const datatype::Type& type) {
  if (type.size() == 0) return 0;
  if (type.basic()) {
    const uint64_t number = number_of(type.handle());
    return number == 0 ? 0 : short_of(number);
  }
  const Signature signature = datatype::signature_of(type);
  SequenceReader reader;
  reader.read(signature);
  if (reader.any || reader.element == 0) return 0;
  return reader.several ? 1 : short_of(reader.element);
}

}  // namespace fgmpi::coll
