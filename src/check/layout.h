// What a datatype is made of: its signature and the bytes that it covers, taken from
// MPI_Type_get_contents once and kept until the type is freed.
//
// A signature is the sequence of predefined types. Its hash is a polynomial in a prime field, so
// that the hash of n elements follows from that of one, and a message's can be compared with the
// beginning of a receive's. Thread rule: as Call (call.h); never switches.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"

namespace fgmpi::check {

struct Signature {
  uint64_t hash = 0;
  uint64_t length = 0;  ///< predefined types in it
  bool known = true;    ///< false: too long to be looked at, or of a kind that is not taken apart
  bool packed = false;  ///< MPI_PACKED is in it, which matches every type

  /// Does a message of this signature fit the beginning of this receive's? Unknown ones do.
  bool operator==(const Signature& other) const {
    return !known || !other.known || packed || other.packed ||
           (hash == other.hash && length == other.length);
  }
  /// The same for the same signatures; 0: what fits it must be looked at.
  uint64_t name() const { return known && !packed ? mix(hash, length) >> kSpareBits | 1 : 0; }
  static constexpr int kSpareBits = 3;
};
Signature joined(const Signature& a, const Signature& b);
Signature repeated(Signature one, uint64_t times);

/// A run of bytes.
struct Block {
  int64_t offset, bytes;
};

struct Layout {
  Signature signature;
  std::vector<uint8_t> sequence;  ///< predefined types by number, when not more than kMostSequence
  std::vector<Block> blocks;      ///< in the order of the type, when not more than kMostBlocks
  bool exact = true;              ///< blocks are complete
  int64_t low = 0, high = 0;      ///< all bytes of one element are between
  int64_t extent = 0, size = 0;

  static constexpr size_t kMostSequence = 1024, kMostBlocks = 1024;
  bool contiguous() const { return exact && blocks.size() == 1 && blocks[0].bytes == extent; }
};

/// A predefined object or MPI_DATATYPE_NULL, by its handle alone. MPICH's types of pairs look like
/// those of programs.
inline bool is_predefined(int handle) {
  const auto h = static_cast<uint32_t>(handle);
  return h >> 30 == 1 || (h >= 0x8c000000u && h <= 0x8c000004u) || handle == MPI_DATATYPE_NULL;
}

/// nullptr for what is no type, as far as the calling rank has made it. Valid until forget_layout()
/// of it.
const Layout* layout_of(MPI_Datatype type);
void forget_layout(MPI_Datatype type);

/// Of `count` elements.
Signature signature_of(MPI_Datatype type, int64_t count);
/// Of the first `length` predefined types of `count` elements; unknown where it cannot be told.
Signature beginning_of(MPI_Datatype type, int64_t count, uint64_t length);
/// "4 x MPI_INT", "2 x a type of 3 elements".
std::string words_of(MPI_Datatype type, int64_t count);

}  // namespace fgmpi::check
