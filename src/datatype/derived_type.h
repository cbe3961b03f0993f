// Derived datatypes: immutable objects of the process, found by their content. Ranks that make the
// same type share one; each has a handle of its own (type_handles.h), and every Type object holds a
// reference.
//
//   content   the constructor's arguments, as MPI_Type_get_contents returns them
//   bounds    lb and extent with their markers, alignment (MPI-4.0 section 5.1.7 and 5.1.8)
//   tree      where the bytes are (type_tree.h)
//
// Thread rule: one thread. Nothing here switches. Invariants: two objects never have equal
// contents; an object exists as long as somebody holds a reference.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "datatype/number_list.h"
#include "datatype/short_rows.h"
#include "datatype/type_tree.h"

namespace fgmpi::datatype {

class Type;  // datatype.h

/// The arguments of a constructor, in the order of MPI-4.0 section 5.1.13. What a large-count call
/// was given is in `counts`, where there is any.
struct TypeContents {
  int combiner = MPI_COMBINER_NAMED;
  NumberList integers, addresses, counts;
  std::vector<Type> types;

  /// True where a large-count call made the type.
  bool large() const { return !counts.empty(); }
  /// Count number i, in the order of the constructor's arguments.
  int64_t count(uint64_t i) const { return large() ? counts[i] : integers[i]; }
  /// Displacement number i in bytes. Large-count constructors have displacements among their
  /// counts, behind `before` others.
  int64_t address(uint64_t i, uint64_t before) const {
    return large() ? counts[before + i] : addresses[i];
  }
  bool operator==(const TypeContents& other) const = default;
  uint64_t hash() const;
};

/// The lower or upper bound of a type map.
struct TypeBound {
  enum BoundSource : uint8_t {
    kNone,
    kData,
    kMarked
  };  ///< the type map has nothing; data; a marker of this bound
  int64_t at = 0;
  BoundSource source = kNone;
};

struct TypeBounds {
  TypeBound lower, upper;
  int64_t lb() const { return lower.at; }
  int64_t extent() const { return upper.at - lower.at; }
};

struct DerivedType {
  TypeContents contents;
  TypeTree tree;
  TypeBounds bounds;
  int64_t alignment = 1;  ///< the greatest alignment of its predefined types
  int64_t elements = 0;   ///< basic elements, as elements.h counts them
  uint64_t hash = 0;
  uint32_t references = 0;
  bool contiguous = false;   ///< data of any count is one run of bytes, from tree.low() on
  bool begins_at_0 = false;  ///< tree.low() is 0
  /// Size, extent and bounds need at most 32 bits, so that those of any number of elements that an
  /// int can have need at most 63.
  bool is_small = false;
  ShortRows short_rows;
  /// The predefined type with the values of a type of MPI_Type_create_f90_integer or a similar
  /// call, or that of a pair; else MPI_DATATYPE_NULL.
  MPI_Datatype values = MPI_DATATYPE_NULL;
  /// The only handle of a type of MPI_Type_create_f90_*, once there is one; else MPI_DATATYPE_NULL.
  MPI_Datatype permanent_handle = MPI_DATATYPE_NULL;

  int64_t size() const { return tree.size; }
  /// How often an element has contents.types[i]: 0 where that type has no bytes.
  int64_t times(size_t i) const;
  /// True for pairs with and without a name, whose handles do not come from type_handles.h.
  bool is_pair() const;
  /// True for types that programs cannot free: pairs, and those of MPI_Type_create_f90_*.
  bool permanent() const;
  size_t memory() const;
  /// Compares what the object stores with what its contents say. Returns false, and why, when they
  /// differ.
  bool validate(std::string* reason) const;
};

/// Finds the type with these contents or makes it. `values`: as in DerivedType. Errors: MPI_ERR_ARG
/// when a bound, or the bytes of an element, need more than 63 bits.
Status find_or_make(TypeContents contents, MPI_Datatype values, Type* out);
inline void hold(DerivedType* type) { ++type->references; }
/// Deletes a type that nobody refers to. REQUIRES: type->references == 0.
void delete_type(DerivedType* type);
inline void release(DerivedType* type) {
  if (__builtin_expect(--type->references == 0, 0)) delete_type(type);
}

/// The object of one of the kPairTypes. REQUIRES: pair_index(handle) < kPairTypes.
DerivedType* pair_type(MPI_Datatype handle);

/// Fills what follows from a type's bounds and tree.
void complete_copies(DerivedType* type);

/// How many objects there are beside the pairs, and their bytes.
size_t count_derived_types();
size_t derived_type_memory();

// ---- What find_or_make() computes --------------------------------------------------------------
/// Computes the bounds of a type map from its contents. Errors: MPI_ERR_ARG as in find_or_make().
Status bounds_of(const TypeContents& contents, TypeBounds* out);
/// The alignment of a type: the greatest of the predefined types in it that have data.
int64_t alignment_of(const TypeContents& contents);
int64_t alignment_of(const Type& type);
/// Makes the tree. REQUIRES: the bounds are ok.
void make_tree(const TypeContents& contents, const TypeBounds& bounds, TypeTree* out);

}  // namespace fgmpi::datatype
