// The structure of a datatype: its signature and the bytes that it covers. Both are read from
// MPI_Type_get_contents once and cached until the type is freed.
//
// A signature is the sequence of predefined types. Its hash is a polynomial in a prime field. So
// the hash of n elements follows from that of one, and a message's signature can be compared with
// the beginning of a receive's. Thread rule: as CheckedCall (call.h); never switches.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"
#include "datatype/basic_type.h"
#include "host/handle_bits.h"

namespace fgmpi::check {

struct TypeSignature {
  uint64_t hash = 0;
  uint64_t length = 0;  ///< number of predefined types
  /// False: the signature is too long, or the type is of a kind that is not decoded
  bool known = true;
  bool packed = false;  ///< contains MPI_PACKED, which matches every type

  /// May a message with this signature be received as `other`? Unknown signatures always match.
  bool operator==(const TypeSignature& other) const {
    return !known || !other.known || packed || other.packed ||
           (hash == other.hash && length == other.length);
  }
  /// A number for quick comparison: equal signatures have equal ones. 0: the signature is unknown
  /// or packed, and must be compared by operator==.
  uint64_t name() const { return known && !packed ? mix(hash, length) >> kSpareBits | 1 : 0; }
  static constexpr int kSpareBits = 3;
};
TypeSignature joined(const TypeSignature& a, const TypeSignature& b);
TypeSignature repeated(TypeSignature one, uint64_t times);

/// A contiguous run of bytes.
struct ByteBlock {
  int64_t offset, bytes;
};

struct TypeLayout {
  TypeSignature signature;
  std::vector<uint8_t> sequence;  ///< predefined types by number; only if at most kMostSequence
  std::vector<ByteBlock> blocks;  ///< in the type's order; only if at most kMostBlocks
  bool exact = true;              ///< `blocks` is complete
  bool overlaps = false;          ///< some of `blocks` have bytes in common
  int64_t low = 0, high = 0;      ///< bounds of the bytes of one element
  int64_t extent = 0, size = 0;

  static constexpr size_t kMostSequence = 1024, kMostBlocks = 1024;
  bool contiguous() const { return exact && blocks.size() == 1 && blocks[0].bytes == extent; }
};

/// Is the handle that of a predefined object or MPI_DATATYPE_NULL? The handle alone decides.
/// MPICH's pair types (MPI_FLOAT_INT) are not recognised: their handles look like those of the
/// program's types.
inline bool is_predefined(int handle) {
  return host::handle_kind(handle) == host::HandleKind::kBuiltin ||
         datatype::pair_index(handle) < datatype::kPairTypes || datatype::is_value_index(handle) ||
         handle == MPI_DATATYPE_NULL;
}

/// The classes of predefined types.
enum class ElementClass : uint8_t {
  kSigned = 1,
  kUnsigned,
  kFloat,
  kComplex,
  kChar,
  kLogical,
  kByte,
  kPacked,
  kOther
};

/// A predefined type in an element of a datatype.
struct BasicElement {
  ElementClass of = ElementClass::kOther;
  int64_t bytes = 0, offset = 0;
};
/// Sets the predefined types of an element, in their order. Returns false where they are not all
/// known.
bool basic_elements_of(MPI_Datatype type, std::vector<BasicElement>* elements);

/// Is it a predefined type of floating or complex numbers?
bool is_floating(MPI_Datatype type);
/// Do some of these blocks have bytes in common?
bool has_overlap(std::vector<ByteBlock> blocks);

/// The layout of a type that the calling rank can use; null where the handle is no type. Valid
/// until forget_layout().
const TypeLayout* layout_of(MPI_Datatype type);
void forget_layout(MPI_Datatype type);

/// The signature of `count` elements.
TypeSignature signature_of(MPI_Datatype type, int64_t count);
/// The signature of the first `length` predefined types of `count` elements; unknown where the
/// type's sequence is.
TypeSignature beginning_of(MPI_Datatype type, int64_t count, uint64_t length);
/// "4 x MPI_INT", "2 x a type of 3 elements".
std::string words_of(MPI_Datatype type, int64_t count);

}  // namespace fgmpi::check
